"""Joints that hold a point: spherical, revolute, universal, weld."""

import casadi as ca

from ...errors import InputError
from ..declared import Direction, Flag, Orientation, Point
from .joint import Joint, across, gap, products

GAP_NAMES = {False: ("gap, x", "gap, y", "gap, z"),
             True: ("gap along d1 of a", "gap along d2 of a", "gap along d3 of a")}


class _PointJoint(Joint):
    """Holds a point of a at a point of b, and possibly more, by `further` constraints.

    `invariant=True` takes the gap in the axes of body a, d_i.(x_b - x_a), instead of space axes: then the joint
    conserves linear and angular momentum exactly (with k quadrature points), and the first three multipliers are
    components in the axes of a. The other constraints are scalar products anyway.
    """

    point_a = Point("in the axes of a, from its centre of mass", of=0)
    point_b = Point("in the axes of b, from its centre of mass; in space for the ground", of=1)
    invariant = Flag("take the gap in the axes of body a, as scalar products d_i.(x_b - x_a), which conserves momentum "
                     "exactly; the multiplier is the force in these axes, and body a must be a RigidBody",
                     default=False)
    further = ()

    @property
    def constraint_names(self):
        return GAP_NAMES[self.invariant] + self.further

    def formula(self, a, b, t, c):
        return [gap(a, b, c.point_a, c.point_b, self.invariant)]


class Spherical(_PointJoint):
    """A point of a at a point of b; 3 constraints.

    Its configuration-level multiplier is the force [N] that b exerts on a, in space axes.

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers.
    """

    point_mass_dimension = 3

    def _complete(self):
        if self.invariant and not self.bodies[0].has_orientation:
            raise InputError(f"{self._title}: invariant=True needs the axes of a; swap a and b")


class Revolute(_PointJoint):
    """Hinge: a point of a at a point of b, and an axis of a along one of b; 5 constraints."""

    axis_a = Direction("axis of the hinge in a, of any length and sense")
    axis_b = Direction("the same axis in b; in space for the ground")
    further = ("first tilt of the axis", "second tilt of the axis")

    def numbers(self):
        given = super().numbers()
        u, v = across(given.pop("axis_b"))
        return {**given, "u": u, "v": v}

    def formula(self, a, b, t, c):
        n = a.direction(c.axis_a)
        return [*super().formula(a, b, t, c), *products((n, n), (b.direction(c.u), b.direction(c.v)))]


class Universal(_PointJoint):
    """Cardan joint: a point of a at a point of b, and an axis of a at right angles to one of b; 4 constraints."""

    axis_a = Direction("the arm of the cross that turns in a, of any length")
    axis_b = Direction("the arm of the cross that turns in b, of any length")
    further = ("right angle of the axes",)

    def formula(self, a, b, t, c):
        return [*super().formula(a, b, t, c), *products([a.direction(c.axis_a)], [b.direction(c.axis_b)])]


TURN_NAMES = ("turn about d3", "turn about d1", "turn about d2")


class Weld(_PointJoint):
    """Rigid connection of a and b; 6 constraints."""

    orientation = Orientation("of a seen from b, as quaternion or matrix: R_a = R_b orientation",
                              default=(1.0, 0.0, 0.0, 0.0))
    further = TURN_NAMES

    def formula(self, a, b, t, c):
        return [*super().formula(a, b, t, c), *turned(a, b, c.orientation)]



def turned(a, b, turn):
    """Three scalar products that vanish when the axes of a stand at `turn` (its columns one after another) in b.

    d1.e2, d2.e3 and d3.e1 have independent gradients there; d_i axes of a, e_i their places in b.
    """
    d = ca.horzsplit(a.rotation)
    e = [b.direction(column) for column in ca.vertsplit(turn, 3)]
    return products(d, (e[1], e[2], e[0]))
