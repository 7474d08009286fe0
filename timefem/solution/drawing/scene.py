"""What animations and exports draw: bodies, joints and springs at given times, as plain arrays."""

from dataclasses import dataclass

import numpy as np

from ... import validate
from ...errors import InputError
from ...mechanics import FixedPoint, PrescribedPosition
from ...mechanics.forces.between import PointForce
from ...mechanics.joints import RigidDistance
from ...mechanics.joints.joint import Joint
from .boxes import box_size

N_FRAMES = 200  # of a motion whose times are not given


@dataclass(frozen=True, eq=False)
class DrawnBody:
    """A body at the times of a scene.

    Attributes
    ----------
    name : str
    shape : {"box", "axes", "sphere"}
        A box for a rigid body with a `size`, its axes for one without, a sphere for a point mass.
    size : ndarray, shape (3,)
        Edge lengths of the box, or twice the lengths of the axes [m]: of the cuboid with the body's inertia. Zero for a
        sphere, which has no size of its own.
    position, velocity : ndarray, shape (n_times, 3)
        Centre of mass [m, m/s].
    rotation : ndarray, shape (n_times, 3, 3)
        Body to space; the identity for a point mass.
    angular_velocity : ndarray, shape (n_times, 3)
        In space axes [rad/s].
    """

    name: str
    shape: str
    size: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    rotation: np.ndarray
    angular_velocity: np.ndarray


@dataclass(frozen=True, eq=False)
class DrawnLink:
    """A joint, or a rod, spring or damper.

    Attributes
    ----------
    name : str
    kind : {"joint", "rod", "spring"}
    points, velocities : ndarray, shape (n_times, 1, 3) or (n_times, 2, 3)
        Of the joint, or of both ends [m, m/s].
    """

    name: str
    kind: str
    points: np.ndarray
    velocities: np.ndarray


@dataclass(frozen=True, eq=False)
class Scene:
    """Bodies and links at `times`, shape (n_times,) [s]; `low` and `high`, shape (3,), bound all of it [m]."""

    times: np.ndarray
    bodies: list
    links: list
    low: np.ndarray
    high: np.ndarray

    @property
    def length(self):
        """Largest edge of the bounding box [m]."""
        return float((self.high - self.low).max())


def make_scene(solution, times=None):
    """Bodies, joints, rods, springs and dampers of a solution, for drawing.

    Parameters
    ----------
    solution : Solution
    times : array_like, shape (n_times,), optional
        Increasing, inside the solution [s]; default: 200 of equal distance.

    Raises
    ------
    InputError
        When no element was solved, times do not increase, or no body has a position in space.
    """
    if times is None:
        times = np.linspace(solution.t[0], solution.t[-1], N_FRAMES)
    times = validate.array("times", np.atleast_1d(times), (None,))
    if not len(times) or np.any(np.diff(times) <= 0):
        raise InputError("times must increase")
    z = solution(times)
    n = solution.system.n_q
    drawn = {}
    for body in solution.system.bodies:
        if hasattr(body, "position"):
            part = solution.system.coordinates(body)
            drawn[body] = _draw_body(solution.system.label(body), body, z[:, part], z[:, n:][:, part])
    if not drawn:
        raise InputError("no body of the system has a position in space, so that there is nothing to draw")
    links = [link for part in solution.system.parts if (link := _draw_link(solution.system, part, drawn))]
    reach = [np.abs(b.rotation) @ b.size / 2 for b in drawn.values()]
    low = [(b.position - r).min(axis=0) for b, r in zip(drawn.values(), reach, strict=True)]
    high = [(b.position + r).max(axis=0) for b, r in zip(drawn.values(), reach, strict=True)]
    low += [link.points.min(axis=(0, 1)) for link in links]
    high += [link.points.max(axis=(0, 1)) for link in links]
    low, high = np.min(low, axis=0), np.max(high, axis=0)
    margin = 0.05 * (high - low).max() or 1.0  # a single point at rest has no extent
    return Scene(times, list(drawn.values()), links, low - margin, high + margin)


def _draw_body(name, body, q, p):
    position, velocity = body.position(q), body.velocity(q, p)
    if not (hasattr(body, "rotation_matrix") and hasattr(body, "inertia")):
        still = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        return DrawnBody(name, "sphere", np.zeros(3), position, velocity, still, np.zeros_like(position))
    shape = "axes" if body.size is None else "box"
    return DrawnBody(name, shape, box_size(body), position, velocity, body.rotation_matrix(q),
                     body.angular_velocity(q, p, "space"))


def _draw_link(system, part, drawn):
    """Points of a part in space; None for a part that is not drawn."""
    if isinstance(part, FixedPoint | PrescribedPosition):
        ends, kind = [(part.bodies[0], part.point)], "joint"
    elif isinstance(part, PointForce | RigidDistance):
        ends = [(part.bodies[0], part.point_a), (part.bodies[1] if len(part.bodies) > 1 else None, part.point_b)]
        kind = "rod" if isinstance(part, RigidDistance) else "spring"
    elif isinstance(part, Joint) and hasattr(part, "point_a"):
        ends, kind = [(part.bodies[0], part.point_a)], "joint"
    else:
        return None
    if any(body is not None and body not in drawn for body, _ in ends):
        return None
    points, velocities = zip(*(_material_point(drawn, body, x) for body, x in ends), strict=True)
    return DrawnLink(system.label(part), kind, np.stack(points, axis=1), np.stack(velocities, axis=1))


def _material_point(drawn, body, x):
    """Place and velocity of a point given in body axes, or of a point of the ground: two arrays (n_times, 3)."""
    if body is None:
        places = np.broadcast_to(x, next(iter(drawn.values())).position.shape)
        return places, np.zeros(places.shape)
    arm = drawn[body].rotation @ x
    return drawn[body].position + arm, drawn[body].velocity + np.cross(drawn[body].angular_velocity, arm)
