"""What joints see of a body, and coordinates of joints: angles and displacements as functions of the two frames.

The numbers of these do not enter the constraints of the joint; what acts on a coordinate brings them as its own.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...records import frozen
from ..numbers.arguments import chosen, cross, dot, joined, least_axis, unit

UNTURNED = ca.vec(ca.densify(ca.SX.eye(3)))  # the rotation matrix of what is not turned


class Frame(NamedTuple):
    """What a joint sees of a body or of the ground, in CasADi symbols.

    Attributes
    ----------
    position : SX, shape (3,)
        Centre of mass [m]; the origin for the ground.
    rotation : SX, shape (3, 3)
        Rotation matrix, body to space; the identity for the ground and for point masses.
    q : SX, shape (n_q,)
        Coordinates as they are; bodies of other classes, without a frame, have only these.
    """

    position: Any
    rotation: Any
    q: Any
    _methods = "point", "direction"

    @classmethod
    def of(cls, body, q):
        position, rotation = body.frame(q) if body.has_position else (None, None)
        return cls(position, rotation, q)

    @classmethod
    def ground(cls):
        return cls(ca.SX.zeros(3), ca.SX.eye(3), ca.SX(0, 1))

    def point(self, x):
        """Place in space of a point given in body axes, shape (3,)."""
        return self.position + self.rotation @ x

    def direction(self, a):
        """A vector given in body axes, in space axes, shape (3,)."""
        return self.rotation @ a


def frames_of(bodies, q):
    """Frames of bodies a and b at their coordinates; where there is one body only, b is the ground."""
    frames = [Frame.of(body, x) for body, x in zip(bodies, q, strict=True)]
    return frames + [Frame.ground()] * (2 - len(frames))


def constraint_lift(part, s):
    """`Part.constraint_lift` of what sees frames only: what these are made of; None where no body gains by it.

    Of two bodies whose rotation is a quaternion also the relative one, conj(q_b) q_a.
    """
    lifts = [body.frame_lift(q, p) for body, q, p in zip(part.bodies, s.q, s.p, strict=True)]
    if all(lift is None for lift in lifts):
        return None
    return ca.vertcat(*(ca.vertcat(q, p) if lift is None else lift
                        for lift, q, p in zip(lifts, s.q, s.p, strict=True)), _relative(part.bodies, s.q))


def lifted_constraints(part, s, e, t, rows):
    """`Part.lifted_constraints` of what sees frames only: `rows(frames, t)` and their rates.

    Rows that are scalar products of directions in two bodies are taken in the axes of the second one: functions of the
    relative quaternion alone, of half the size, which turns of space leave as they are.

    Parameters
    ----------
    part : Part
    s : Symbols
    e, t : SX
        The `constraint_lift`, and the time.
    rows : callable
        Constraints, SX (m,), of the frames of the bodies, `Frame`, and the time.
    """
    frames, places, rates, spins, start = [], [], [], [], 0
    for body, c in zip(part.bodies, s.bodies, strict=True):
        lift = body.frame_lift(*(ca.SX.sym("x", body.n_q) for _ in range(2)))
        stop = start + (2 * body.n_q if lift is None else lift.numel())
        *frame, velocity, turning = body.frame_of_lift(e[start:stop], c)
        frames.append(Frame(ca.SX.sym("x", 3), ca.SX.sym("R", 3, 3), None))
        places += [frame[0], ca.vec(frame[1])]
        rates += [velocity, ca.vec(turning)]
        if body.quaternion_place is not None:
            spins.append(body.frame_of_lift(ca.vertcat(e[start:start + 3], UNTURNED, e[start + 12:stop]), c)[3])
        start = stop
    time, seen = ca.SX.sym("t"), ca.vertcat(*(x for f in frames for x in (f.position, ca.vec(f.rotation))))
    phi = rows(frames, time)
    symbols, given, rates = ca.vertcat(seen, time), ca.vertcat(*places, t), ca.vertcat(*rates)
    found = _with_rates(phi, seen, time, rates, symbols, given)
    if start < e.numel():
        rotation = part.bodies[0].frame(ca.vertcat(ca.SX.zeros(3), e[start:]))[1]
        turning = rotation @ spins[0] - spins[1] @ rotation
        nowhere = ca.SX.zeros(3)
        given = ca.vertcat(nowhere, ca.vec(rotation), nowhere, UNTURNED, t)
        rates = ca.vertcat(nowhere, ca.vec(turning), nowhere, ca.SX.zeros(9))
        relative = _with_rates(phi, seen, time, rates, symbols, given)
        across = [i for i in range(phi.numel()) if _is_of_products(phi[i], *frames)]
        across += [i + phi.numel() for i in across]
        found[across] = relative[across]
    return found


def _with_rates(phi, seen, time, rates, symbols, given):
    rate = ca.jtimes(phi, seen, rates) + ca.jacobian(phi, time)
    return ca.substitute(ca.vertcat(phi, rate), symbols, ca.densify(given))


def _relative(bodies, q):
    """conj(q_b) q_a of the quaternions of two bodies, SX (4,); without them SX (0,)."""
    if len(bodies) != 2 or any(body.quaternion_place is None for body in bodies):
        return ca.SX(0, 1)
    given = [x[body.quaternion_place] for body, x in zip(bodies, q, strict=True)]
    (a, v), (b, w) = ((x[0], x[1:]) for x in given)
    return ca.vertcat(a * b + ca.dot(v, w), b * v - a * w - ca.cross(w, v))


def _is_of_products(row, a, b):
    """Whether an expression is a sum of scalar products of directions in a and b, as its second derivatives show."""
    first, second = ca.vec(a.rotation), ca.vec(b.rotation)
    slope = ca.jacobian(row, first)
    mixed = ca.jacobian(slope, second)
    rest = ca.substitute(ca.vertcat(slope.T, ca.jacobian(row, second).T), ca.vertcat(first, second), ca.SX.zeros(18))
    if ca.depends_on(row, ca.vertcat(a.position, b.position)) or not rest.is_zero() \
            or ca.depends_on(mixed, ca.vertcat(first, second)) or not mixed.nnz():
        return False
    blocks = [mixed[i::3, i::3] for i in range(3)]
    same = all(ca.is_equal(x, y, 20) for block in blocks[1:] for x, y in
               zip(block.nonzeros(), blocks[0].nonzeros(), strict=True))
    return same and mixed.nnz() == sum(block.nnz() for block in blocks)


@frozen(eq=False)
class JointCoordinate:
    """A coordinate x(q) of a joint: how body a stands against body b, or against the ground.

    Attributes
    ----------
    name : str
        "angle", "displacement", ..., by which a joint with several tells them apart.
    numbers : ndarray
        Of the formula, as many for all coordinates of a class.
    unit, force_unit : str
        Of x, and of the force that does the work `Q dx`.
    turns : bool
        Whether x is an angle, known up to whole turns.
    """

    name: str
    numbers: np.ndarray
    unit = force_unit = ""
    turns = False

    @property
    def form(self) -> Hashable:
        """What tells its formula from others, hashable."""
        return type(self)

    def value(self, a: Frame, b: Frame, c: Any) -> ca.SX:
        """x from the frames a and b and the symbols c of the numbers, SX; an angle in (-pi, pi]."""
        raise NotImplementedError

    def deviation(self, a: Frame, b: Frame, c: Any, target: Any) -> ca.SX:
        """x - target."""
        return self.value(a, b, c) - target

    def gap(self, a: Frame, b: Frame, c: Any, target: Any) -> ca.SX:
        """What vanishes where x is the `target`, SX, with derivative one there."""
        return self.value(a, b, c) - target


class Displacement(JointCoordinate):
    """`n.(x_a - x_b)`: of a point of a from a point of b, along a direction n of b."""

    unit, force_unit = "m", "N"

    def value(self, a, b, c):
        return ca.dot(b.direction(c[6:]), a.point(c[:3]) - b.point(c[3:6]))


class OwnCoordinate(JointCoordinate):
    """`factor q_i + offset` of the coordinates q of body a itself, such as a joint inside of a tree; without turns."""

    @classmethod
    def of(cls, place: int, factor: float = 1.0, offset: float = 0.0, name: str = "angle",
           unit: str = "rad") -> OwnCoordinate:
        found = cls(name, np.array([factor, offset]))
        vars(found).update(place=place, unit=unit, force_unit={"rad": "N m", "m": "N"}[unit])
        return found

    @property
    def form(self) -> Hashable:
        return OwnCoordinate, self.place

    def value(self, a: Frame, b: Frame, c: Any) -> ca.SX:
        return c[0] * a.q[self.place] + c[1]


class Angle(JointCoordinate):
    """Angle of a direction d of one body from u to v, at right angles in the other: `atan2(d.v, d.u)`."""

    unit, force_unit, turns = "rad", "N m", True

    def _seen(self, a, b, c):
        """Cosine and sine."""
        d = a.direction(c[:3])
        return ca.dot(d, b.direction(c[3:6])), ca.dot(d, b.direction(c[6:]))

    def value(self, a, b, c):
        cosine, sine = self._seen(a, b, c)
        return ca.atan2(sine, cosine)

    def deviation(self, a, b, c, target):
        """The angle from a target, in (-pi, pi]."""
        cosine, sine = self._seen(a, b, c)
        x, y = ca.cos(target), ca.sin(target)
        return ca.atan2(sine * x - cosine * y, cosine * x + sine * y)

    def gap(self, a, b, c, target):
        cosine, sine = self._seen(a, b, c)
        return sine * ca.cos(target) - cosine * ca.sin(target)


class Twist(Angle):
    """Twist about an axis of a of the rotation `S^T R_b^T R_a` from a reference S, whatever else it turns."""

    def _seen(self, a, b, c):
        """Cosine and sine, times a factor that drops out."""
        axis, r = c[:3], ca.reshape(c[3:], 3, 3).T @ b.rotation.T @ a.rotation
        sine = ca.dot(axis, ca.vertcat(r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]))
        return ca.trace(r) - ca.bilin(r, axis, axis), sine


class AngleInA(Angle):
    """The same with the direction d in b, and u, v in a."""

    def _seen(self, a, b, c):
        return super()._seen(b, a, c)


def nearest(angle, to):
    """The same angle with the turns that bring it within half a turn of another."""
    return angle + 2 * np.pi * np.round((to - angle) / (2 * np.pi))


def carried(direction, axis_a, axis_b):
    """A direction of a in b, when a is turned by the smallest rotation that takes axis_a to axis_b; shapes (3,)."""
    normal, cosine = cross(axis_a, axis_b), dot(axis_a, axis_b)
    regular = cosine > -1 + 1e-12
    turned = direction + cross(normal, direction) + cross(normal, cross(normal, direction)) / chosen(
        regular, 1 + cosine, 1.0)
    u = perpendicular(axis_a)  # opposite axes: half a turn about any axis across
    return chosen(regular, turned, 2 * u * dot(u, direction) - direction)


def perpendicular(axis, near=None):
    """A unit vector at right angles to a unit vector: along `near` as far as it can be."""
    start = least_axis(axis)
    found = start - axis * dot(axis, start)
    if near is not None:
        across = near - axis * dot(axis, near)
        found = chosen(dot(across, across) > 1e-12, across, found)
    return unit(found)


def turning_angle(axis_a, axis_b, direction_a=None, direction_b=None):
    """Numbers of the `Angle` of a about an axis of both, zero where direction_a stands at direction_b.

    One direction that is not given is what the other becomes when a is turned by the smallest rotation that takes
    axis_a to axis_b; without both the angle is that of a from there.
    """
    if direction_a is None:
        direction_a = perpendicular(axis_a) if direction_b is None else carried(direction_b, axis_b, axis_a)
    d = perpendicular(axis_a, direction_a)
    u = perpendicular(axis_b, carried(d, axis_a, axis_b) if direction_b is None else direction_b)
    return joined(d, u, cross(axis_b, u))


def turn_about(axis, angle):
    """Rotation matrix (3, 3) about a unit vector."""
    cross = np.cross(axis, np.eye(3)).T  # cross @ x = axis x x
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def turned_by(numbers, axis_a, axis_b, value):
    """`R_b^T R_a` of a turned by the value of an `Angle` with these numbers about an axis of both."""
    d, u, _ = np.split(numbers, 3)
    at_zero = np.column_stack([u, np.cross(axis_b, u), axis_b]) @ np.column_stack([d, np.cross(axis_a, d), axis_a]).T
    return turn_about(axis_b, value) @ at_zero
