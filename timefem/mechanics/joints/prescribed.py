"""Motion prescribed as a function of time (rheonomic constraints).

The velocities of the bodies follow it, so that its rate must not jump: it may be constant, a `Sine`, a smooth `Ramp`,
a cubic `Table` that covers the time span, or a formula.
"""

import casadi as ca
import numpy as np

from ...errors import InputError
from ..functions import as_time_function, as_vector_function
from .joint import Joint, gap


class _Prescribed(Joint):
    """Checks the functions of time, whose numbers come last in the parameters, and tells kinds apart by their forms."""

    def _set_motion(self, name, functions, **numbers):
        for f in functions:
            if not f.has_rate:
                raise InputError(f"{self._title}: {name}: the rate of a {type(f).__name__} jumps, which takes an "
                                 f"infinite force; use Ramp(..., kind='smooth') or Table(..., kind='cubic')")
        self._functions = functions
        self._set_numbers(**numbers, motion=np.concatenate([f.parameters for f in functions]))

    def _motion(self, t, c):
        """Values of the functions at the time `t`, list of SX."""
        ends = np.cumsum([0, *(len(f.parameters) for f in self._functions)]).tolist()
        numbers = ca.vertsplit(c.motion, ends)
        return [f.motion(t, *ca.vertsplit(n)) for f, n in zip(self._functions, numbers, strict=True)]

    @property
    def kinks(self):
        """Times [s] where the motion is not smooth, for nodes of the mesh."""
        return tuple(sorted({t for f in self._functions for t in f.kinks}))

    @property
    def t_span(self):
        """Times [s] for which the motion is known."""
        return max(f.t_span[0] for f in self._functions), min(f.t_span[1] for f in self._functions)

    @property
    def kind(self):
        return (*super().kind, *(f.form for f in self._functions))


class PrescribedPosition(_Prescribed):
    """A point of a body moves in space as a function of time; 3 constraints.

    Its configuration-level multiplier is the force [N] on the body, in space axes.

    Parameters
    ----------
    body : RigidBody or PointMass
    position : array_like, shape (3,), or callable
        Place in space [m]: three numbers or functions of time (see `time_functions`), or one function of the CasADi
        symbol t [s] that returns three, for instance `lambda t: (casadi.sin(t), 0, 0)`. Each new callable is compiled.
    point : array_like, shape (3,)
        The point in body axes, from the centre of mass [m].
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers, or a function that fails, returns something else, or is not smooth.
    """

    constraint_names = ("position, x", "position, y", "position, z")
    point_mass_dimension = 3

    def __init__(self, body, position, *, point=(0.0, 0.0, 0.0), name=None):
        super().__init__(body, None, name)
        self.point = self._point("a", point)
        self.position = as_vector_function(f"{self._title}: position", position)
        self._set_motion("position", self.position, point=self.point)

    def formula(self, a, b, t, c):
        return [gap(a, b, c.point, ca.vertcat(*self._motion(t, c)))]


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
    angle : float, TimeFunction or callable
        [rad]; a callable takes the CasADi symbol t [s], for instance `lambda t: 0.5 * t**2`, and each new one is
        compiled.
    axis_b : array_like, shape (3,)
        Axis of the rotation in b (in space for the ground), of any length; its sense is that of the angle.
    direction_a, direction_b : array_like, shape (3,)
        Directions at right angles to the axis that coincide at angle zero, in a and b.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers, a direction_b along the axis, or a function that fails, returns something else,
        or is not smooth.
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
        self.angle = as_time_function(f"{self._title}: angle", angle)
        self._set_motion("angle", (self.angle,), d=d, u=u, v=np.cross(axis, u))

    def formula(self, a, b, t, c):
        angle, = self._motion(t, c)
        u, v = b.direction(c.u), b.direction(c.v)
        return [ca.dot(a.direction(c.d), ca.sin(angle) * u - ca.cos(angle) * v)]
