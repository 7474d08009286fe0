"""Joints that hold a point: spherical, revolute, universal, weld."""

import casadi as ca

from ...errors import InputError
from ..bodies.rigid import RigidBodyBase
from .joint import Joint, across, gap, products

GAP_NAMES = {False: ("gap, x", "gap, y", "gap, z"),
             True: ("gap along d1 of a", "gap along d2 of a", "gap along d3 of a")}


class _PointJoint(Joint):
    """Holds a point of a at a point of b, and possibly more.

    `invariant=True` takes the gap in the axes of body a, d_i.(x_b - x_a), instead of space axes: then the joint
    conserves linear and angular momentum exactly (with k quadrature points), and the first three multipliers are
    components in the axes of a. The other constraints are scalar products anyway.
    """

    def __init__(self, a, b, point_a, point_b, invariant, name, names=()):
        super().__init__(a, b, name)
        self.point_a, self.point_b = self._point("a", point_a), self._point("b", point_b)
        self.invariant = self._flag("invariant", invariant)
        self.constraint_names = GAP_NAMES[self.invariant] + names

    def formula(self, a, b, t, c):
        return [gap(a, b, c.point_a, c.point_b, self.invariant)]


class Spherical(_PointJoint):
    """A point of a at a point of b; 3 constraints.

    Its configuration-level multiplier is the force [N] that b exerts on a, in space axes.

    Parameters
    ----------
    a : RigidBody or PointMass
    b : RigidBody or PointMass, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        The points [m], from the centre of mass in the axes of each body; in space for the ground.
    invariant : bool
        Take the gap in the axes of body a, as scalar products d_i.(x_b - x_a), which conserves momentum exactly; the
        multiplier is the force in these axes. Body a must be a RigidBody then.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers.
    """

    point_mass_dimension = 3

    def __init__(self, a, b=None, *, point_a, point_b, invariant=False, name=None):
        super().__init__(a, b, point_a, point_b, invariant, name)
        if self.invariant and not isinstance(a, RigidBodyBase):
            raise InputError(f"{self._title}: invariant=True needs the axes of a; swap a and b")
        self._set_numbers(point_a=self.point_a, point_b=self.point_b)


class Revolute(_PointJoint):
    """Hinge: a point and an axis of a at those of b; 5 constraints.

    Parameters
    ----------
    a : RigidBody
    b : RigidBody, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Points on the hinge [m], as for `Spherical`.
    axis_a, axis_b : array_like, shape (3,)
        The axis in each body, of any length; an axis is a line, so that its sense does not count.
    invariant : bool
        As for `Spherical`.
    name : str, optional
    """

    def __init__(self, a, b=None, *, point_a, point_b, axis_a, axis_b, invariant=False, name=None):
        super().__init__(a, b, point_a, point_b, invariant, name, ("first tilt of the axis", "second tilt of the axis"))
        self.axis_a, n = self._direction("axis_a", axis_a)
        self.axis_b, m = self._direction("axis_b", axis_b)
        u, v = across(m)
        self._set_numbers(point_a=self.point_a, point_b=self.point_b, n=n, u=u, v=v)

    def formula(self, a, b, t, c):
        n = a.direction(c.n)
        return [*super().formula(a, b, t, c), *products((n, n), (b.direction(c.u), b.direction(c.v)))]


class Universal(_PointJoint):
    """Cardan joint: a point of a at a point of b, and an axis of a at right angles to one of b; 4 constraints.

    Parameters
    ----------
    a : RigidBody
    b : RigidBody, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Centre of the cross [m], as for `Spherical`.
    axis_a, axis_b : array_like, shape (3,)
        The arms of the cross that turn in a and in b, of any length.
    invariant : bool
        As for `Spherical`.
    name : str, optional
    """

    def __init__(self, a, b=None, *, point_a, point_b, axis_a, axis_b, invariant=False, name=None):
        super().__init__(a, b, point_a, point_b, invariant, name, ("right angle of the axes",))
        self.axis_a, n = self._direction("axis_a", axis_a)
        self.axis_b, m = self._direction("axis_b", axis_b)
        self._set_numbers(point_a=self.point_a, point_b=self.point_b, n=n, m=m)

    def formula(self, a, b, t, c):
        return [*super().formula(a, b, t, c), *products([a.direction(c.n)], [b.direction(c.m)])]


class Weld(_PointJoint):
    """Rigid connection of a and b; 6 constraints.

    Parameters
    ----------
    a : RigidBody
    b : RigidBody, optional
        None is the ground.
    point_a, point_b : array_like, shape (3,)
        Points that coincide [m], as for `Spherical`.
    orientation : array_like, shape (4,) or (3, 3)
        Orientation of a seen from b, as quaternion or matrix: R_a = R_b orientation.
    invariant : bool
        As for `Spherical`.
    name : str, optional
    """

    def __init__(self, a, b=None, *, point_a, point_b, orientation=(1.0, 0.0, 0.0, 0.0), invariant=False, name=None):
        super().__init__(a, b, point_a, point_b, invariant, name, TURN_NAMES)
        self.orientation, turn = self._turn(orientation)
        self._set_numbers(point_a=self.point_a, point_b=self.point_b, turn=turn.T)

    def formula(self, a, b, t, c):
        return [*super().formula(a, b, t, c), *turned(a, b, c.turn)]


TURN_NAMES = ("turn about d3", "turn about d1", "turn about d2")


def turned(a, b, turn):
    """Three scalar products that vanish when the axes of a stand at `turn` (its columns one after another) in b.

    d1.e2, d2.e3 and d3.e1 have independent gradients there; d_i axes of a, e_i their places in b.
    """
    d = ca.horzsplit(a.rotation)
    e = [b.direction(column) for column in ca.vertsplit(turn, 3)]
    return products(d, (e[1], e[2], e[0]))
