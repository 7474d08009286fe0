"""Applied forces and torques, constant or as functions of time."""

import casadi as ca
import numpy as np

from ... import validate
from ..functions import as_time_function, as_vector_function
from .between import ForcePart


class _Load(ForcePart):
    """A vector of three functions of time times one more, in space or body axes."""

    def __init__(self, body, value, time, frame, name, rotation):
        super().__init__((body,), name, rotation)
        self.value = as_vector_function(f"{self._title}: value", value)
        self.time = as_time_function(f"{self._title}: time", time)
        self.frame = validate.choice(f"{self._title}: frame", frame, ("space", "body"))
        self._functions = (*self.value, self.time)

    @property
    def kinks(self):
        """Times [s] where the load is not smooth, for nodes of the mesh."""
        return tuple(sorted({t for f in self._functions for t in f.kinks}))

    @property
    def _form(self):
        return self.frame, *(f.form for f in self._functions)

    @property
    def _numbers(self):
        return np.concatenate([f.parameters for f in self._functions])

    def _in_space(self, s, c):
        """The vector in space axes, from the parameters `c` of its functions."""
        numbers = ca.vertsplit(c)
        values = []
        for f in self._functions:
            n = len(f.parameters)
            values.append(f.formula(s.t, *numbers[:n]))
            numbers = numbers[n:]
        vector = ca.vertcat(*values[:3]) * values[3]
        return vector if self.frame == "space" else self.bodies[0].frame(s.q[0])[1] @ vector


class Force(_Load):
    """Force at a point of a body: dead (axes fixed in space) or follower (axes fixed in the body).

    Generalized force Q = (d x_P / d q)^T F, so that Q.qdot = F.v_P.

    Parameters
    ----------
    body : RigidBody or PointMass
    value : array_like, shape (3,), or callable
        Components [N]: numbers or functions of time (see `time_functions`), or one function of the CasADi symbol t
        that returns three.
    point : array_like, shape (3,)
        Where it acts, in body axes from the centre of mass [m].
    time : float, TimeFunction or callable
        Factor of all components.
    frame : {"space", "body"}
        Axes of `value`: "body" is a follower force.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers, or functions that fail on CasADi symbols.
    """

    def __init__(self, body, value, point=(0.0, 0.0, 0.0), time=1.0, frame="space", name=None):
        super().__init__(body, value, time, frame, name, rotation=False)
        self.point = self._vector("point", point)
        self.own_parameters = np.concatenate([self.point, self._numbers])

    def force(self, s):
        return ca.jtimes(self._place(s, 0, s.own[:3]), s.q[0], self._in_space(s, s.own[3:]), True)


class Torque(_Load):
    """Torque m on a body, in axes fixed in space or in the body.

    Generalized force Q with Q.qdot = m.omega: 2 E(q)^T m in quaternions, 1/2 m x d_i on directors.

    Parameters
    ----------
    body : RigidBody
    value : array_like, shape (3,), or callable
        Components [N m], as for `Force`.
    time : float, TimeFunction or callable
        Factor of all components.
    frame : {"space", "body"}
        Axes of `value`.
    name : str, optional

    Raises
    ------
    InputError
        As for `Force`.
    """

    def __init__(self, body, value, time=1.0, frame="space", name=None):
        super().__init__(body, value, time, frame, name, rotation=True)
        self.own_parameters = self._numbers

    def force(self, s):
        return self.bodies[0].angular_velocity_map(s.q[0]).T @ self._in_space(s, s.own)
