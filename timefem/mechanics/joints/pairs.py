"""Joints of two bodies that meet in points, axes and planes: those that turn and those that slide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ..declared import Direction, Flag, On, Orientation, Point, Real, Vector
from ..numbers.arguments import cross, joined, unit
from ..part import Part
from ..shapes import Stroke
from ..symmetry import ALL, NONE, translations, turns
from .frame import (
    Angle,
    AngleInA,
    Displacement,
    Frame,
    carried,
    constraint_lift,
    lifted_constraints,
    perpendicular,
    turn_about,
    turned_by,
    turning_angle,
)
from .joint import OPTIONS, Joint, across, angle_along, gap, products, tilts

if TYPE_CHECKING:
    import casadi as ca

    from ..symbols import Symbols
    from .frame import Frame


GAP_NAMES = {False: ("gap, x", "gap, y", "gap, z"),
             True: ("gap along d1 of a", "gap along d2 of a", "gap along d3 of a")}


NOWHERE = np.zeros(3)


class _PointJoint(Joint, abstract=True):
    """Holds a point of a at a point of b, and possibly more, by `further` constraints.

    `invariant=True` takes the gap in the axes of body a, d_i.(x_b - x_a), instead of space axes: then the joint
    conserves linear and angular momentum exactly (with k quadrature points), and the first three multipliers are
    components in the axes of a. The other constraints are scalar products anyway.
    """

    point_a = Point("in the axes of a, from its centre of mass, of a link from its origin", of=0)
    point_b = Point("in the axes of b, from its centre of mass, of a link from its origin; in space for the ground",
                    of=1)
    invariant = Flag("take the gap in the axes of body a, as scalar products d_i.(x_b - x_a), which conserves momentum "
                     "exactly; the multiplier is the force in these axes, and body a must be a RigidBody",
                     default=False)
    further = ()

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return GAP_NAMES[self.invariant] + self.further

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [gap(a, b, c.point_a, c.point_b, self.invariant)]

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions() if self.invariant else super().symmetry(s)

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.bodies) == 2 else self._held_to_ground()

    def _held_to_ground(self):
        """`workless_motions` of a joint with the ground."""
        return turns(self.point_b, self.axis_b) if hasattr(self, "axis_b") else NONE


class Spherical(_PointJoint):
    """A point of a at a point of b; 3 constraints.

    Its configuration-level multiplier is the force [N] that b exerts on a, in space axes.

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers.
    """

    point_mass_dimension = 3
    free_rotation = True

    def relative(self, x: Mapping[str, Any]) -> Any:
        return *x["rotation"], NOWHERE, NOWHERE

    def _complete(self):
        if self.invariant and not self.bodies[0].has_orientation:
            raise InputError(f"{self._title}: invariant=True needs the axes of a; swap a and b")

    def _held_to_ground(self):
        return turns(self.point_b)


class _Directed(Joint, abstract=True):
    """A joint with axes, and directions across them that say where its angles are zero."""

    def _complete(self):
        super()._complete()
        for letter in "ab":
            axis, direction = getattr(self, f"axis_{letter}"), getattr(self, f"direction_{letter}")
            if direction is not None and np.linalg.norm(np.cross(unit(axis), unit(direction))) < 1e-6:
                raise InputError(f"{self._title}: direction_{letter} is along the axis, about which it has no angle")

    def numbers(self, c: Any) -> dict[str, Any]:
        """Without the directions: coordinates have numbers of their own."""
        given = super().numbers(c)
        given.pop("direction_a", None), given.pop("direction_b", None)
        return given

    def _directions(self, c):
        """Axes and directions in a and in b, None of those that are not given."""
        return [None if getattr(self, name) is None else self.number(name, c)
                for name in ("axis_a", "axis_b", "direction_a", "direction_b")]


class Turning(_Directed, abstract=True):
    """A joint that leaves the angle about an axis free."""

    axis_a = Direction("the axis in a, of any length")
    axis_b = Direction("the same axis in b (in space for the ground), by whose sense the angle is counted")
    direction_a = Direction("in a, whose direction across the axis stands at that of `direction_b` where the angle is "
                            "zero", default=None, optional=True)
    direction_b = Direction("in b; without both the angle is zero where a is turned against b by the smallest rotation "
                            "that takes axis_a to axis_b: where both have the same axes, if these are equal",
                            default=None, optional=True)
    coordinate_kinds = {"angle": Angle}  # noqa: RUF012

    def numbers(self, c: Any) -> dict[str, Any]:
        """Two directions across the axis of b in its place; the angle has numbers of its own."""
        given = super().numbers(c)
        u, v = across(given.pop("axis_b"))
        return {**given, "u": u, "v": v}

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        return {"angle": turning_angle(*self._directions(c))}

    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [ca.dot(a.direction(c.axis_a), ca.cross(b.direction(c.u), b.direction(c.v)))]

    def _turned(self, angle, rate):
        """`R_b^T R_a` and the relative angular velocity in b."""
        axis_a, axis_b, *_ = self._directions(self)
        return turned_by(self.coordinates[0].numbers, axis_a, axis_b, angle), rate * axis_b


class Revolute(_PointJoint, Turning):
    """Hinge: a point of a at a point of b, and an axis of a along one of b; 5 constraints.

    Its coordinate is the `angle` by which a is turned against b about axis_b [rad].
    """

    further = ("first tilt of the axis", "second tilt of the axis")

    def relative(self, x: Mapping[str, Any]) -> Any:
        return *self._turned(*x["angle"]), NOWHERE, NOWHERE

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        n = a.direction(c.axis_a)
        return [*super().formula(a, b, t, c), *products((n, n), (b.direction(c.u), b.direction(c.v)))]

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [*super().formula(a, b, t, c), *tilts(a.direction(c.axis_a), b.direction(c.u), b.direction(c.v))]


class Universal(_PointJoint, _Directed):
    """Cardan joint: a point of a at a point of b, and an axis of a at right angles to one of b; 4 constraints.

    Its coordinates are `angle_b`, by which the cross is turned about the arm in b, and `angle_a`, by which a is turned
    against the cross about the arm in a [rad]. Without directions both are zero where a is turned against b by the
    smallest rotation that puts the arms at right angles.
    """

    axis_a = Direction("the arm of the cross that turns in a, of any length")
    axis_b = Direction("the arm of the cross that turns in b, of any length")
    direction_a = Direction("in a, across axis_a, where the arm in b stands where `angle_a` is zero", default=None,
                            optional=True)
    direction_b = Direction("in b, across axis_b, where the arm in a stands where `angle_b` is zero", default=None,
                            optional=True)
    further = ("right angle of the axes",)
    coordinate_kinds = {"angle_b": Angle, "angle_a": AngleInA}  # noqa: RUF012

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        a, b, in_a, in_b = self._directions(c)
        u = perpendicular(b, a if in_b is None else in_b)  # where the arm of a stands in b
        w = carried(b, u, a) if in_a is None else perpendicular(a, in_a)  # where the arm of b stands in a
        return {"angle_b": joined(a, u, cross(b, u)), "angle_a": joined(b, w, -cross(a, w))}

    def relative(self, x: Mapping[str, Any]) -> Any:
        a, u = np.split(self.coordinates[0].numbers, 3)[:2]
        b, w = np.split(self.coordinates[1].numbers, 3)[:2]
        at_zero = np.column_stack([u, b, np.cross(u, b)]) @ np.column_stack([a, w, np.cross(a, w)]).T
        cross = turn_about(b, x["angle_b"][0])
        spin = x["angle_b"][1] * b + x["angle_a"][1] * cross @ u
        return cross @ at_zero @ turn_about(a, x["angle_a"][0]), spin, NOWHERE, NOWHERE

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [*super().formula(a, b, t, c), *products([a.direction(c.axis_a)], [b.direction(c.axis_b)])]


TURN_NAMES = ("turn about d3", "turn about d1", "turn about d2")


class Weld(_PointJoint):
    """Rigid connection of a and b; 6 constraints."""

    orientation = Orientation("of a seen from b, as quaternion or matrix: R_a = R_b orientation",
                              default=(1.0, 0.0, 0.0, 0.0))
    further = TURN_NAMES

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [*super().formula(a, b, t, c), *turned(a, b, c.orientation)]

    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [*super().formula(a, b, t, c), *turning(a, b, c.orientation)]

    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [cosine_of_turn(a, b, c.orientation)]

    def relative(self, x: Mapping[str, Any]) -> Any:
        return self.fields["orientation"].matrix(self.orientation), NOWHERE, NOWHERE, NOWHERE


def turned(a, b, turn):
    """Three scalar products that vanish when the axes of a stand at `turn` (its columns one after another) in b.

    d1.e2, d2.e3 and d3.e1 have independent gradients there; d_i axes of a, e_i their places in b.
    """
    d = ca.horzsplit(a.rotation)
    e = [b.direction(column) for column in ca.vertsplit(turn, 3)]
    return products(d, (e[1], e[2], e[0]))


def cosine_of_turn(a, b, turn):
    """Of the angle by which a is turned from `turn` in b."""
    return (ca.trace(b.rotation.T @ a.rotation @ ca.reshape(turn, 3, 3).T) - 1) / 2


def turning(a, b, turn):
    """The angle by which a is turned from `turn` in b, as three components along its axis in b: zero there alone."""
    r = b.rotation.T @ a.rotation @ ca.reshape(turn, 3, 3).T
    cosine = (ca.trace(r) - 1) / 2
    along = (r + r.T) / 2 - cosine * ca.SX.eye(3)  # times 1 - cosine the projection onto the axis
    first, second, third = ca.horzsplit(along)
    axis = ca.if_else(along[0, 0] > ca.fmax(along[1, 1], along[2, 2]), first,
                      ca.if_else(along[1, 1] > along[2, 2], second, third))
    sine = ca.vertcat(r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]) / 2
    return angle_along(ca.vertsplit(sine + (cosine < 0) * OPTIONS.tie * axis), cosine)


# ---- A point of a body held fast in space

class FixedPoint(Part):
    """A point of a body held at a fixed point in space (spherical joint to ground), May & Betsch (67).

    Its configuration-level multiplier gamma is the force [N] that the ground exerts on the body.
    """

    body = On(rotating=True)
    point = Vector("the point in body axes, from the centre of mass, of a link from its origin", "m")
    at = Vector("where it is fixed, in space", "m", (0.0, 0.0, 0.0))
    free_rotation = True
    constraint_names = ("fixed point, x", "fixed point, y", "fixed point, z")
    table = "joints"

    def _checked_bodies(self, bodies):
        if not getattr(bodies[0], "has_orientation", False):
            raise InputError(f"FixedPoint: body must be a RigidBody, not {bodies[0]!r}; a PrescribedPosition holds a "
                             f"point mass")
        return tuple(bodies)

    relative = Spherical.relative

    @property
    def point_a(self) -> np.ndarray:
        return self.point

    @property
    def point_b(self) -> np.ndarray:
        return self.at

    def workless_motions(self) -> np.ndarray:
        return turns(self.at)

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke("joint", ((self.bodies[0], self.point),))]

    def constraints(self, s: Symbols) -> ca.SX:
        return s.own[3:] - Frame.of(self.bodies[0], s.q[0]).point(s.own[:3])

    def constraint_lift(self, s: Symbols) -> ca.SX | None:
        return constraint_lift(self, s)

    def lifted_constraints(self, s: Symbols, e: ca.SX, t: ca.SX) -> ca.SX:
        return lifted_constraints(self, s, e, t, lambda frames, t: s.own[3:] - frames[0].point(s.own[:3]))


# ---- two points at a fixed distance

class RigidDistance(Joint):
    """A massless rod between a point of a and a point of b: (|x_b - x_a|^2 - length^2)/2 = 0; invariant.

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers; for distance zero use `Spherical`.

    Notes
    -----
    The force of b on a is multiplier times (x_b - x_a): a positive multiplier pulls the points together.
    """

    point_a = Point("in the axes of a, from its centre of mass, of a link from its origin", (0.0, 0.0, 0.0), of=0)
    point_b = Point("in the axes of b, or in space", (0.0, 0.0, 0.0), of=1)
    length = Real("distance of the points", "m", above=0, remedy="points that coincide need a Spherical joint")
    constraint_names = ("distance",)
    point_mass_dimension = 1

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke("rod", ((self.bodies[0], self.point_a), ((*self.bodies, None)[1], self.point_b)))]

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions(self.named(s.own).point_b)

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.bodies) == 2 else turns(self.point_b)

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [(ca.sumsqr(gap(a, b, c.point_a, c.point_b)) - c.length**2) / 2]


class _SlidingJoint(Joint, abstract=True):
    """Points and the axis of b; the gap is measured along vectors that are fixed in b."""

    point_a = Point("on the axis or plane, in the axes of a from its centre of mass, of a link from its origin", of=0)
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


class Planar(_SlidingJoint, Turning):
    """A plane of a slides and turns on a plane of b; 3 constraints, all scalar products.

    Its coordinates are the `angle` about axis_b [rad], as that of a `Revolute`, and the displacements `u` and `v` of
    point_a from point_b along two directions of b across axis_b, with which (u, v, axis_b) is right-handed [m]: u along
    `direction_b`, without it along the cross product of axis_b and the axis of b least along it.
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
        return Turning.coordinate_numbers(self, c) | {
            name: joined(c.point_a, c.point_b, along) for name, along in zip("uv", self._in_plane(c), strict=True)}

    def _in_plane(self, c):
        """Unit vectors of b along u and v."""
        *_, m, _, direction = self._directions(c)
        if direction is None:
            return across(m)
        u = perpendicular(m, direction)
        return u, cross(m, u)

    def relative(self, x: Mapping[str, Any]) -> Any:
        along = np.column_stack(self._in_plane(self))
        return *self._turned(*x["angle"]), *(along @ [x["u"][i], x["v"][i]] for i in range(2))

    def _held_to_ground(self):
        return np.hstack([translations(across(self.axis_b)), turns(self.point_b, self.axis_b)])
