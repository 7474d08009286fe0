"""Joints that slide: cylindrical, prismatic, planar. All their constraints are scalar products, hence invariant."""

from ..declared import Direction, Orientation, Point
from .joint import Joint, across, gap, products
from .turning import TURN_NAMES, turned


class _SlidingJoint(Joint):
    """Points and the axis of b; the gap is measured along vectors that are fixed in b."""

    point_a = Point("on the axis or plane, in the axes of a from its centre of mass", of=0)
    point_b = Point("on it, in the axes of b; in space for the ground", of=1)
    axis_b = Direction("the axis or normal in b (in space for the ground), of any length and sense")

    def numbers(self):
        """Two directions across the axis of b in its place."""
        given = super().numbers()
        u, v = across(given.pop("axis_b"))
        return {**given, "u": u, "v": v}


class Cylindrical(_SlidingJoint):
    """Slides along an axis and turns about it; 4 constraints, all scalar products.

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers.
    """

    axis_a = Direction("the axis in a, of any length and sense")
    constraint_names = ("first tilt of the axis", "second tilt of the axis", "first gap across", "second gap across")

    def formula(self, a, b, t, c):
        n, g = a.direction(c.axis_a), gap(a, b, c.point_a, c.point_b)
        u, v = b.direction(c.u), b.direction(c.v)
        return products((n, n, g, g), (u, v, u, v))


class Prismatic(_SlidingJoint):
    """Slides along an axis without turning; 5 constraints, all scalar products."""

    orientation = Orientation("of a seen from b, as quaternion or matrix: R_a = R_b orientation",
                              default=(1.0, 0.0, 0.0, 0.0))
    constraint_names = (*TURN_NAMES, "first gap across", "second gap across")

    def numbers(self):
        given = super().numbers()
        turn = given.pop("orientation")
        return {**given, "orientation": turn}

    def formula(self, a, b, t, c):
        g = gap(a, b, c.point_a, c.point_b)
        return [*turned(a, b, c.orientation), *products((g, g), (b.direction(c.u), b.direction(c.v)))]


class Planar(_SlidingJoint):
    """A plane of a slides and turns on a plane of b; 3 constraints, all scalar products."""

    axis_a = Direction("the normal in a, of any length and sense")
    constraint_names = ("first tilt of the normal", "second tilt of the normal", "gap along the normal")

    def numbers(self):
        return {**super().numbers(), "m": self.fields["axis_b"].numbers(self.axis_b)}

    def formula(self, a, b, t, c):
        n, g = a.direction(c.axis_a), gap(a, b, c.point_a, c.point_b)
        return products((n, n, g), (b.direction(c.u), b.direction(c.v), b.direction(c.m)))
