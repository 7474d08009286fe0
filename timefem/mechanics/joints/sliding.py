"""Joints that slide: cylindrical, prismatic, planar. All their constraints are scalar products, hence invariant."""

from .joint import Joint, across, gap, products
from .turning import TURN_NAMES, turned


class _SlidingJoint(Joint):
    """Points and the axis of b; the gap is measured along vectors that are fixed in b."""

    def __init__(self, a, b, point_a, point_b, axis_b, name):
        super().__init__(a, b, name)
        self.point_a, self.point_b = self._point("a", point_a), self._point("b", point_b)
        self.axis_b, self._m = self._direction("axis_b", axis_b)


class Cylindrical(_SlidingJoint):
    """Slides along an axis and turns about it; 4 constraints, all scalar products.

    Parameters
    ----------
    a : RigidBody
    b : RigidBody, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Points on the axis [m], from the centre of mass in the axes of each body; in space for the ground.
    axis_a, axis_b : array_like, shape (3,)
        The axis in each body, of any length and sense.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers.
    """

    constraint_names = ("first tilt of the axis", "second tilt of the axis", "first gap across", "second gap across")

    def __init__(self, a, b=None, *, point_a, point_b, axis_a, axis_b, name=None):
        super().__init__(a, b, point_a, point_b, axis_b, name)
        self.axis_a, n = self._direction("axis_a", axis_a)
        u, v = across(self._m)
        self._set_numbers(point_a=self.point_a, point_b=self.point_b, n=n, u=u, v=v)

    def formula(self, a, b, t, c):
        n, g = a.direction(c.n), gap(a, b, c.point_a, c.point_b)
        u, v = b.direction(c.u), b.direction(c.v)
        return products((n, n, g, g), (u, v, u, v))


class Prismatic(_SlidingJoint):
    """Slides along an axis without turning; 5 constraints, all scalar products.

    Parameters
    ----------
    a : RigidBody
    b : RigidBody, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Points on the axis [m], as for `Cylindrical`.
    axis_b : array_like, shape (3,)
        The axis, in the axes of b (in space for the ground), of any length and sense.
    orientation : array_like, shape (4,) or (3, 3)
        Orientation of a seen from b, as quaternion or matrix: R_a = R_b orientation.
    name : str, optional
    """

    constraint_names = (*TURN_NAMES, "first gap across", "second gap across")

    def __init__(self, a, b=None, *, point_a, point_b, axis_b, orientation=(1.0, 0.0, 0.0, 0.0), name=None):
        super().__init__(a, b, point_a, point_b, axis_b, name)
        self.orientation, turn = self._turn(orientation)
        u, v = across(self._m)
        self._set_numbers(point_a=self.point_a, point_b=self.point_b, u=u, v=v, turn=turn.T)

    def formula(self, a, b, t, c):
        g = gap(a, b, c.point_a, c.point_b)
        return [*turned(a, b, c.turn), *products((g, g), (b.direction(c.u), b.direction(c.v)))]


class Planar(_SlidingJoint):
    """A plane of a slides and turns on a plane of b; 3 constraints, all scalar products.

    Parameters
    ----------
    a : RigidBody
    b : RigidBody, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Points of the plane [m], as for `Cylindrical`.
    axis_a, axis_b : array_like, shape (3,)
        Normals of the plane in each body, of any length and sense.
    name : str, optional
    """

    constraint_names = ("first tilt of the normal", "second tilt of the normal", "gap along the normal")

    def __init__(self, a, b=None, *, point_a, point_b, axis_a, axis_b, name=None):
        super().__init__(a, b, point_a, point_b, axis_b, name)
        self.axis_a, n = self._direction("axis_a", axis_a)
        u, v = across(self._m)
        self._set_numbers(point_a=self.point_a, point_b=self.point_b, n=n, u=u, v=v, m=self._m)

    def formula(self, a, b, t, c):
        n, g = a.direction(c.n), gap(a, b, c.point_a, c.point_b)
        return products((n, n, g), (b.direction(c.u), b.direction(c.v), b.direction(c.m)))
