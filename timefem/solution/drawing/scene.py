"""What pictures, films and exports draw: bodies, joints and springs at given times, as plain arrays."""

from typing import NamedTuple

import numpy as np

from ... import validate
from ...errors import InputError
from ...records import frozen
from ..options import DRAWING
from .plots import curves_of, has_surface

# ---- from where a motion is looked at

AXES = "xyz"


class View(NamedTuple):
    """A direction of looking.

    Attributes
    ----------
    up : int
        The axis of space that points up or down on the page: 0, 1, 2.
    sign : {1, -1}
        Whether it points up.
    elevation, azimuth : float
        Of the viewer along that axis over the plane of the other two, and in it [degrees].
    """

    up: int
    sign: int
    elevation: float
    azimuth: float

    @classmethod
    def of(cls, system, points, view=None, up=None):
        """The view that is asked for, or one that suits a motion.

        Parameters
        ----------
        system : System
            Up is against its gravity unless given; z without gravity.
        points : ndarray, shape (n, 3)
            Centres of bodies, joints and ends of springs [m]. Where they lie in a plane through the axis that points
            up, it is looked at from its normal.
        view : str or (float, float), optional
            "xy", "xz", "yz" or another pair of axes, to the right and up; or elevation and azimuth [degrees].
        up : str, optional
            "x", "y", "z", "-x", "-y" or "-z".
        """
        if isinstance(view, str):
            if len(view) != 2 or set(view) - set(AXES) or len(set(view)) != 2:
                raise InputError("view must be a pair of axes as 'xz', or (elevation, azimuth) [degrees], not "
                                 f"{view!r}")
            if up is not None and up != view[1]:
                raise InputError(f"view={view!r} has {view[1]} up; leave out up={up!r}")
            return cls.along(*map(AXES.index, view))
        if up is None:
            up, sign = _against_gravity(system)
        else:
            validate.choice("up", up, [s + a for s in ("", "-") for a in AXES])
            up, sign = AXES.index(up[-1]), -1 if up[0] == "-" else 1
        if view is not None:
            elevation, azimuth = validate.array("view", view, (2,))
            return cls(up, sign, float(elevation), float(azimuth))
        extent = np.ptp(points, axis=0)
        flat = np.flatnonzero(extent <= DRAWING.flat * extent.max())
        if extent.max() and len(flat) == 1 and flat[0] != up:
            right = 3 - up - flat[0]
            view = cls.along(right, up)
            return view if sign > 0 else view._replace(sign=-1, azimuth=view.azimuth + 180)  # right stays right
        return cls(up, sign, sign * DRAWING.elevation, DRAWING.azimuth)

    @classmethod
    def along(cls, right, up):
        """The view with one axis to the right and another one up."""
        return cls(up, 1, 0.0, -90.0 if right == (up + 1) % 3 else 0.0)

    @property
    def flat(self):
        """Whether one axis cannot be seen."""
        return self.elevation == 0 and self.azimuth % 90 == 0

    @property
    def camera(self):
        """Unit vectors on the page in space: right, up, and towards the viewer, shape (3, 3)."""
        e, a = np.radians([self.elevation, self.azimuth])
        order = [(self.up + 1) % 3, (self.up + 2) % 3, self.up]
        front, right, up = np.zeros((3, 3))
        front[order] = np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)
        right[order] = -np.sin(a), np.cos(a), 0
        up[order] = -np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)
        return np.stack([self.sign * right, self.sign * up, front])


def _against_gravity(system):
    gravity = next((part.acceleration for part in system.parts if hasattr(part, "acceleration")), None)
    if gravity is None or not np.any(gravity):
        return 2, 1
    up = int(np.argmax(np.abs(gravity)))
    return up, -1 if np.ravel(gravity)[up] > 0 else 1


@frozen(eq=False)
class DrawnBody:
    """A body, or a piece of one, at the times of a scene.

    Attributes
    ----------
    name : str
    shape : {"box", "cylinder", "ellipsoid", "surface", "axes", "sphere"}
        Axes for a rigid body of unknown shape, a sphere for a point mass.
    size : ndarray, shape (3,)
        Edge lengths of the box around it, or twice the lengths of the axes [m]. Zero for a sphere, which has no size of
        its own.
    points : ndarray, shape (n, 3)
        Corners in body axes [m]; none for axes and spheres.
    faces : tuple of tuple of int
        Numbers of the corners of each face, counterclockwise from outside.
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
    points: np.ndarray
    faces: tuple
    position: np.ndarray
    velocity: np.ndarray
    rotation: np.ndarray
    angular_velocity: np.ndarray

    def corners(self, n):
        """Corners in space at the time number n, shape (n_points, 3)."""
        return self.position[n] + self.points @ self.rotation[n].T

    def outline(self, n):
        """What bounds it at the time number n: corners, ends of the axes, or the place, shape (k, 3)."""
        if len(self.points):
            return self.corners(n)
        return np.concatenate([self.position[n][None], self.position[n] + (self.rotation[n] * self.size / 2).T])


@frozen(eq=False)
class DrawnLink:
    """A joint, a rod, spring, damper, rope or beam, or the force of a contact from its point on.

    Attributes
    ----------
    name : str
    kind : {"joint", "rod", "spring", "damper", "rope", "force"}
    points, velocities : ndarray, shape (n_times, n, 3)
        Of the joint, n = 1, of both ends, or of all points along it [m, m/s].
    """

    name: str
    kind: str
    points: np.ndarray
    velocities: np.ndarray


@frozen(eq=False)
class Scene:
    """Bodies, links, surfaces of beams at `times`, shape (n_times,) [s], within `low` and `high`, shape (3,) [m].

    `traces` are the places of the points whose paths are drawn, arrays (n_times, 3) [m].
    """

    times: np.ndarray
    bodies: list
    links: list
    curves: list
    traces: list
    low: np.ndarray
    high: np.ndarray
    view: View

    @property
    def length(self):
        """Largest edge of the bounding box [m]."""
        return float((self.high - self.low).max())


def make_scene(solution, times=None, view=None, up=None, traces=True):
    """Bodies, joints, rods, springs, dampers, ropes and forces of rigid contacts of a solution, for drawing.

    Parameters
    ----------
    solution : Solution
    times : array_like, shape (n_times,), optional
        Increasing, inside the solution [s]; default: 200 at equal distances.
    view, up : optional
        See `View.of`.
    traces : optional
        See `traces_of`.

    Raises
    ------
    InputError
        When no element was solved, times do not increase, or no body has a position in space.
    """
    if times is None:
        times = np.linspace(solution.t[0], solution.t[-1], DRAWING.frames)
    times = validate.array("times", np.atleast_1d(times), (None,))
    if not len(times) or np.any(np.diff(times) <= 0):
        raise InputError("times must increase")
    z, system = solution(times), solution.system
    n, pieces = system.n_q, {}
    lines = _lines(system)
    stood_on = [b for part in system.parts for b in part.bodies] + [b for _, line in lines for b, _ in line.points if b]
    places = dict.fromkeys(b for b in stood_on if not b.is_body)
    for body in (*system.bodies, *places):
        pieces[body] = body.drawn_pieces(*system.local_state(body, z))
    hidden = {member for part in system.composites if part.drawn_lines() for member in part.members} | set(places)
    curves = curves_of(system, (times, z[:, :n], solution.rates(times)))
    bodies = [_drawn_body(system.label(body), piece) for body, own in pieces.items() if body not in hidden
              for piece in own]
    drawn = [(part, _drawn_link(system.label(part), line, pieces)) for part, line in lines
             if all(body is None or pieces.get(body) for body, _ in line.points)]
    links = [link for _, link in drawn] + list(_arms(system, drawn, pieces, hidden))
    links += _contact_forces(solution, times, bodies)
    if not bodies and not links and not curves:
        raise InputError("no body of the system has a position in space, so that there is nothing to draw")
    outlines = [np.concatenate([b.outline(k) for k in range(len(times))]) for b in bodies]
    traces = traces_of(solution, traces, times, bodies)
    outlines += [link.points.reshape(-1, 3) for link in links] + traces
    outlines += [c.surface(k).reshape(-1, 3) for c in curves for k in range(len(times))]
    everything = np.concatenate(outlines)
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.05 * (high - low).max() or 1.0  # a single point at rest has no extent
    centres = [link.points.reshape(-1, 3) for link in links] + [c.centre.reshape(-1, 3) for c in curves]
    places = np.concatenate([b.position for b in bodies] + centres)
    return Scene(times, bodies, links, curves, traces, low - margin, high + margin, View.of(system, places, view, up))


def _drawn_body(label, piece):
    name = f"{label}.{piece.name}" if piece.name else label
    motion = piece.position, piece.velocity, piece.rotation, piece.angular_velocity
    if piece.shape is None:
        return DrawnBody(name, "axes" if np.any(piece.size) else "sphere", piece.size, np.zeros((0, 3)), (), *motion)
    return DrawnBody(name, piece.shape.kind, piece.shape.size, piece.shape.points, piece.shape.faces, *motion)


def _lines(system):
    """Part and `Stroke` of all that is drawn as lines or dots."""
    own = {part: part.drawn_lines() for part in system.composites}
    replaced = {member for part, lines in own.items() if lines for member in part.members}
    own = {part: lines for part, lines in own.items() if not has_surface(part)}
    own |= {part: part.drawn_lines() for part in system.parts if part not in replaced}
    return [(part, line) for part, lines in own.items() for line in lines]


def _arms(system, drawn, pieces, hidden):
    """Rods from the centres of rigid bodies of unknown shape to their joints."""
    for part, link in drawn:
        for body in part.bodies if link.kind == "joint" else ():
            own = pieces.get(body)
            if own and body not in hidden and own[0].shape is None and np.any(own[0].size):
                yield DrawnLink(system.label(body), "rod", np.stack([own[0].position, link.points[:, 0]], axis=1),
                                np.stack([own[0].velocity, link.velocities[:, 0]], axis=1))


def _contact_forces(solution, times, bodies, longest=0.25):
    """Forces of rigid contacts at their points, the largest one a share of what is drawn."""
    if not hasattr(solution, "contact_points") or not bodies:
        return
    points, forces = solution.contact_points(times), solution.contact_force_vectors(times)
    size = np.linalg.norm(forces, axis=-1)
    seen = np.isfinite(points).all(axis=(0, 2)) & np.isfinite(size).all(axis=0) & (size > 0).any(axis=0)
    if not seen.any():
        return
    places = np.concatenate([b.position for b in bodies] + [b.outline(0) for b in bodies])
    scale = longest * np.ptp(places, axis=0).max() / size[:, seen].max()
    for c in np.flatnonzero(seen):
        ends = np.stack([points[:, c], points[:, c] + scale * forces[:, c]], axis=1)
        yield DrawnLink(solution.contact_names[c], "force", ends, np.zeros(ends.shape))


def _drawn_link(name, line, pieces):
    n = len(next(own for own in pieces.values() if own)[0].position)
    points, velocities = zip(*(_material_point(pieces, body, np.asarray(x, float), n) for body, x in line.points),
                             strict=True)
    return DrawnLink(name, line.kind, np.stack(points, axis=1), np.stack(velocities, axis=1))


def _material_point(pieces, body, x, n):
    """Place and velocity of a point given in body axes, or of a point of the ground: two arrays (n_times, 3)."""
    if body is None:
        places = np.broadcast_to(x, (n, 3))
        return places, np.zeros(places.shape)
    frame = pieces[body][0]
    arm = frame.rotation @ x
    return frame.position + arm, frame.velocity + np.cross(frame.angular_velocity, arm)


# ---- paths that points draw in pictures, films and pages

def traces_of(solution, traces, times, bodies):
    """Places of the points whose paths are drawn, list of arrays (n_times, 3).

    Parameters
    ----------
    solution : Solution
    traces : bool, or a point, or a sequence of points
        True for the centres of all bodies. A point is a body, a place of a beam or rope (`beam.at(s)`, `rope.end`), a
        link of a tree (`tree.link(name, point)`), a name of these, or a pair of one and a point in its axes [m].
    times : ndarray, shape (n_times,)
    bodies : list of DrawnBody
        At these times.
    """
    if isinstance(traces, bool | np.bool_):
        return [body.position for body in bodies] if traces else []
    given = list(traces) if isinstance(traces, list | tuple) and not _is_pair(traces) else [traces]
    return [_path(solution, point, times) for point in given]


def _is_pair(given):
    return isinstance(given, list | tuple) and len(given) == 2 and isinstance(given[1], list | tuple | np.ndarray) \
        and len(given[1]) == 3 and np.isrealobj(given[1])


def _path(solution, point, times):
    body, place = point if _is_pair(point) else (point, None)
    if not isinstance(body, str) and not hasattr(body, "is_body"):
        raise InputError("traces: give True, False, or what has a place in space: a body, beam.at(s), "
                         f"tree.link(name), or a pair of one and a point in its axes [m]; not {body!r}")
    path = solution.position(body, times)
    if place is not None:
        place = validate.array("traces: point", place, (3,))
        path = path + solution.rotation_matrix(body, times) @ place
    return path
