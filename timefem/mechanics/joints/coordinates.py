"""Coordinates of joints: angles and displacements as functions of the two frames.

Their numbers do not enter the constraints of the joint; what acts on a coordinate brings them as its own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..numbers.arguments import chosen, cross, dot, joined, least_axis, unit

if TYPE_CHECKING:
    from .frame import Frame


@dataclass(frozen=True, eq=False)
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
