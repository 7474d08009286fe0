"""Motion prescribed as a function of time (rheonomic constraints)."""

import numpy as np

from ...errors import InputError
from .formula import Same, call, check_symbols
from .joint import Joint, gap


class _Prescribed(Joint):
    """Checks the function of time, and tells kinds apart by it."""

    def _set_motion(self, name, function, n):
        import casadi as ca

        self._motion, self._motion_title, self._n = function, f"{self._title}: {name}", n
        t = ca.SX.sym("t")
        check_symbols(self._motion_title, self._value(t), t)

    def _value(self, t):
        return call(self._motion_title, self._motion, self._n, t)

    @property
    def kind(self):
        return (*super().kind, Same(self._motion))


class PrescribedPosition(_Prescribed):
    """A point of a body moves in space as a function of time; 3 constraints.

    Its configuration-level multiplier is the force [N] on the body, in space axes.

    Parameters
    ----------
    body : RigidBody or PointMass
    position : callable
        `position(t)`, place in space [m] as three CasADi expressions of the symbol t [s], for instance
        `lambda t: (casadi.sin(t), 0, 0)`. Each new function is compiled.
    point : array_like, shape (3,)
        The point in body axes, from the centre of mass [m].
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers, or a function that fails or returns something else.
    """

    constraint_names = ("position, x", "position, y", "position, z")
    point_mass_dimension = 3

    def __init__(self, body, position, *, point=(0.0, 0.0, 0.0), name=None):
        super().__init__(body, None, name)
        self.point = self._point("a", point)
        self.position = position
        self._set_motion("position", position, 3)
        self._set_numbers(point=self.point)

    def formula(self, a, b, t, c):
        return [gap(a, b, c.point, self._value(t))]


class PrescribedAngle(_Prescribed):
    """Body a is turned against b about an axis by an angle that is a function of time; 1 constraint.

    It only prescribes the angle: a `Revolute` or `Cylindrical` joint has to hold the axis. With direction_a = d in a,
    direction_b = u and v = axis x u in b the constraint reads d.(sin(angle) u - cos(angle) v) = 0, a scalar product
    (invariant) that holds for any number of turns. Its configuration-level multiplier is the driving torque on a
    about the axis [N m].

    Parameters
    ----------
    a : RigidBody
    b : RigidBody, optional
        None is the ground.
    angle : callable
        `angle(t)` [rad], a CasADi expression of the symbol t [s], for instance `lambda t: 0.5 * t**2`. Each new
        function is compiled.
    axis_b : array_like, shape (3,)
        Axis of the rotation in b (in space for the ground), of any length; its sense is that of the angle.
    direction_a, direction_b : array_like, shape (3,)
        Directions at right angles to the axis that coincide at angle zero, in a and b.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers, a direction_b along the axis, or a function that fails or returns something else.
    """

    constraint_names = ("angle",)

    def __init__(self, a, b=None, *, angle, axis_b, direction_a, direction_b, name=None):
        super().__init__(a, b, name)
        self.axis_b, axis = self._direction("axis_b", axis_b)
        self.direction_a, d = self._direction("direction_a", direction_a)
        self.direction_b, u = self._direction("direction_b", direction_b)
        if abs(axis @ u) > 1e-8:
            degrees = np.degrees(np.arccos(np.clip(axis @ u, -1, 1)))
            raise InputError(f"{self._title}: direction_b must be at right angles to axis_b, but stands at "
                             f"{degrees:.6g} degrees; take away its part along the axis")
        self.angle = angle
        self._set_motion("angle", angle, 1)
        self._set_numbers(d=d, u=u, v=np.cross(axis, u))

    def formula(self, a, b, t, c):
        import casadi as ca

        angle = self._value(t)
        u, v = b.direction(c.u), b.direction(c.v)
        return [ca.dot(a.direction(c.d), ca.sin(angle) * u - ca.cos(angle) * v)]
