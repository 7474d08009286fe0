"""Joints that slide: cylindrical, prismatic, planar. All their constraints are scalar products, hence invariant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declared import Direction, Orientation, Point
from ..numbers.arguments import joined
from ..symmetry import ALL, translations, turns
from .coordinates import Angle, Displacement, turned_by, turning_angle
from .joint import Joint, across, gap, products, tilts
from .turning import TURN_NAMES, Turning, cosine_of_turn, turned, turning

if TYPE_CHECKING:
    import casadi as ca

    from .frame import Frame


class _SlidingJoint(Joint, abstract=True):
    """Points and the axis of b; the gap is measured along vectors that are fixed in b."""

    point_a = Point("on the axis or plane, in the axes of a from its centre of mass", of=0)
    point_b = Point("on it, in the axes of b; in space for the ground", of=1)
    axis_b = Direction("the axis or normal in b (in space for the ground), of any length and sense")

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.bodies) == 2 else self._held_to_ground()

    def numbers(self, c: Any) -> dict[str, Any]:
        """Two directions across the axis of b in its place."""
        given = super().numbers(c)
        if "axis_b" in given:
            given["u"], given["v"] = across(given.pop("axis_b"))
        return given

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        return {**super().coordinate_numbers(c), "displacement": joined(c.point_a, c.point_b, self.number("axis_b", c))}


class Cylindrical(_SlidingJoint, Turning):
    """Slides along an axis and turns about it; 4 constraints, all scalar products.

    Its coordinates are the `angle` by which a is turned against b about axis_b [rad], and the `displacement` of point_a
    from point_b along axis_b [m].

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers.
    """

    constraint_names = ("first tilt of the axis", "second tilt of the axis", "first gap across", "second gap across")
    coordinate_kinds = {"angle": Angle, "displacement": Displacement}  # noqa: RUF012

    def relative(self, x: Mapping[str, Any]) -> Any:
        axis = self._directions(self)[1]
        return *self._turned(*x["angle"]), *(value * axis for value in x["displacement"])

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        n, g = a.direction(c.axis_a), gap(a, b, c.point_a, c.point_b)
        u, v = b.direction(c.u), b.direction(c.v)
        return products((n, n, g, g), (u, v, u, v))

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [*tilts(a.direction(c.axis_a), b.direction(c.u), b.direction(c.v)), *self.formula(a, b, t, c)[2:]]

    def _held_to_ground(self):
        return np.hstack([translations(self.axis_b), turns(self.point_b, self.axis_b)])


class Prismatic(_SlidingJoint):
    """Slides along an axis without turning; 5 constraints, all scalar products.

    Its coordinate is the `displacement` of point_a from point_b along axis_b [m].
    """

    orientation = Orientation("of a seen from b, as quaternion or matrix: R_a = R_b orientation",
                              default=(1.0, 0.0, 0.0, 0.0))
    constraint_names = (*TURN_NAMES, "first gap across", "second gap across")
    coordinate_kinds = {"displacement": Displacement}  # noqa: RUF012

    def relative(self, x: Mapping[str, Any]) -> Any:
        turn, axis = self.fields["orientation"].matrix(self.orientation), self.number("axis_b", self)
        return turn, np.zeros(3), *(value * axis for value in x["displacement"])

    def numbers(self, c: Any) -> dict[str, Any]:
        given = super().numbers(c)
        turn = given.pop("orientation")
        return {**given, "orientation": turn}

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        g = gap(a, b, c.point_a, c.point_b)
        return [*turned(a, b, c.orientation), *products((g, g), (b.direction(c.u), b.direction(c.v)))]

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [*turning(a, b, c.orientation), *self.formula(a, b, t, c)[3:]]

    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [cosine_of_turn(a, b, c.orientation)]

    def _held_to_ground(self):
        return translations(self.axis_b)


class Planar(_SlidingJoint):
    """A plane of a slides and turns on a plane of b; 3 constraints, all scalar products.

    Its coordinates are the `angle` about axis_b [rad], as that of a `Revolute`, and the displacements `u` and `v` of
    point_a from point_b along two directions of b across axis_b, with which (u, v, axis_b) is right-handed [m].
    """

    axis_a = Direction("the normal in a, of any length and sense")
    constraint_names = ("first tilt of the normal", "second tilt of the normal", "gap along the normal")
    coordinate_kinds = {"angle": Angle, "u": Displacement, "v": Displacement}  # noqa: RUF012

    def numbers(self, c: Any) -> dict[str, Any]:
        return {**super().numbers(c), "m": self.number("axis_b", c)}

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        n, g = a.direction(c.axis_a), gap(a, b, c.point_a, c.point_b)
        return products((n, n, g), (b.direction(c.u), b.direction(c.v), b.direction(c.m)))

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [*tilts(a.direction(c.axis_a), b.direction(c.u), b.direction(c.v)), *self.formula(a, b, t, c)[2:]]

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        n, m = self.number("axis_a", c), self.number("axis_b", c)
        return {"angle": turning_angle(n, m)} | {
            name: joined(c.point_a, c.point_b, axis) for name, axis in zip("uv", across(m), strict=True)}

    def relative(self, x: Mapping[str, Any]) -> Any:
        n, m = self.number("axis_a", self), self.number("axis_b", self)
        directions = across(m)
        return (turned_by(self.coordinates[0].numbers, n, m, x["angle"][0]), x["angle"][1] * m,
                *(sum(x[name][i] * along for name, along in zip("uv", directions, strict=True)) for i in range(2)))

    def _held_to_ground(self):
        return np.hstack([translations(across(self.axis_b)), turns(self.point_b, self.axis_b)])
