"""Actuators, whose forces are to be found, and costs of their use."""

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ..formula import Same, call
from ..part import Body, Part
from .between import ForcePart


class Actuator(ForcePart):
    """A force or torque whose components are controls: Q = B(q) u(t).

    Without a problem that determines them (`InverseDynamics`, `OptimalControl`) the controls are zero.
    """

    @property
    def controls(self):
        return (self,)


class ControlForce(Actuator):
    """Force at a point of a body, with components u along given directions [N].

    Parameters
    ----------
    body : RigidBody or PointMass
    directions : array_like, shape (n, 3)
        Of unit length or not, in the axes `frame`; the three axes unless given.
    point : array_like, shape (3,)
        Where it acts, in body axes from the centre of mass [m].
    frame : {"space", "body"}
    name : str, optional
    """

    def __init__(self, body, directions=((1, 0, 0), (0, 1, 0), (0, 0, 1)), point=(0.0, 0.0, 0.0), frame="space",
                 name=None):
        super().__init__((body,), name)
        self.directions = validate.array(f"{self._title}: directions", directions, (None, 3))
        self.point = self._vector("point", point)
        self.frame = validate.choice(f"{self._title}: frame", frame, ("space", "body"))
        self.n_controls = len(self.directions)
        self.own_parameters = np.concatenate([self.point, self.directions.ravel()])

    @property
    def _form(self):
        return self.n_controls, self.frame

    def control_force(self, s, u):
        position, rotation = self.bodies[0].frame(s.q[0])
        vector = ca.reshape(s.own[3:], 3, self.n_controls) @ u
        place = position + rotation @ s.own[:3]
        return ca.jtimes(place, s.q[0], vector if self.frame == "space" else rotation @ vector, True)


class ControlTorque(Actuator):
    """Torque on a body, with components u about given axes [N m]; the opposite torque acts on `reaction`.

    Parameters
    ----------
    body : RigidBody
    axes : array_like, shape (n, 3)
        In the axes `frame`; the three axes unless given.
    frame : {"body", "space"}
        Axes of `body`, or of space.
    reaction : RigidBody, optional
        None is the ground.
    name : str, optional
    """

    def __init__(self, body, axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)), frame="body", reaction=None, name=None):
        super().__init__((body, reaction), name, rotation=True)
        self.axes = validate.array(f"{self._title}: axes", axes, (None, 3))
        self.frame = validate.choice(f"{self._title}: frame", frame, ("space", "body"))
        self.n_controls = len(self.axes)
        self.own_parameters = self.axes.ravel().copy()

    @property
    def _form(self):
        return self.n_controls, self.frame

    def control_force(self, s, u):
        torque = ca.reshape(s.own, 3, self.n_controls) @ u
        if self.frame == "body":
            torque = self.bodies[0].frame(s.q[0])[1] @ torque
        sign = (1, -1)
        return ca.vertcat(*(k * b.angular_velocity_map(q).T @ torque for k, b, q in zip(sign, self.bodies, s.q)))


class GeneralizedControl(Actuator):
    """Generalized force Q = B(q) u of a `GeneralizedBody` (or any body), by a constant matrix or a formula.

    Parameters
    ----------
    body : Body
    matrix : array_like, shape (n_q, n), or callable
        B, or `B(q)` in CasADi symbols.
    n_controls : int, optional
        n, when B is a formula.
    name : str, optional
    """

    def __init__(self, body, matrix, n_controls=None, name=None):
        if not isinstance(body, Body):
            raise InputError(f"GeneralizedControl: body must be a body, not {body!r}")
        self.bodies, self.name = (body,), name
        self.matrix = matrix if callable(matrix) else validate.array(f"{self._title}: matrix", matrix, (body.n_q, None))
        if callable(matrix):
            self.n_controls = validate.integer(f"{self._title}: n_controls", n_controls, minimum=1)
        else:
            self.n_controls = self.matrix.shape[1]
            self.own_parameters = self.matrix.ravel(order="F").copy()

    @property
    def _form(self):
        return self.n_controls, Same(self.matrix) if callable(self.matrix) else None

    def control_force(self, s, u):
        if callable(self.matrix):
            return ca.SX(self.matrix(s.q[0])) @ u
        return ca.reshape(s.own, self.bodies[0].n_q, self.n_controls) @ u


class Cost(Part):
    """Integrand of the cost of an optimal control problem: a formula of controls, coordinates and velocities.

    Parameters
    ----------
    formula : callable
        `formula(u, q, v, t)` -> CasADi scalar; u, q, v are vectors of all components of `actuators` and `bodies`.
    actuators : sequence of Actuator
    bodies : sequence of Body
    name : str, optional
    """

    def __init__(self, formula, actuators=(), bodies=(), name=None):
        self.controls, self.bodies, self.name = tuple(actuators), tuple(bodies), name
        for actuator in self.controls:
            if not isinstance(actuator, Actuator):
                raise InputError(f"Cost: {actuator!r} is no actuator")
        self.formula = formula

    @property
    def kind(self):
        return (Cost, Same(self.formula), tuple(a.n_controls for a in self.controls), *(b.kind for b in self.bodies))

    def cost(self, s, u):
        velocity = ca.vertcat(*s.velocity) if self.bodies else ca.SX(0, 1)
        return call("Cost", self.formula, 1, u, ca.vertcat(*s.q) if self.bodies else ca.SX(0, 1), velocity, s.t)


class Effort(Cost):
    """Half the weighted sum of the squared controls of one actuator, 1/2 sum_i w_i u_i^2.

    Parameters
    ----------
    actuator : Actuator
    weights : float or array_like, shape (n_controls,)
    """

    def __init__(self, actuator, weights=1.0, name=None):
        super().__init__(None, (actuator,), (), name)
        weights = np.full(actuator.n_controls, weights) if np.ndim(weights) == 0 else weights
        self.own_parameters = validate.array("Effort: weights", weights, (actuator.n_controls,))
        if np.any(self.own_parameters <= 0):
            raise InputError(f"Effort: weights must be positive, not {self.own_parameters.tolist()}")

    @property
    def kind(self):
        return (Effort, len(self.own_parameters))

    def cost(self, s, u):
        return ca.dot(s.own, u**2) / 2


def control_name(system, i):
    """For messages: number and actuator of the i-th of all controls of a system."""
    for part in system.parts:
        if i < part.n_controls:
            return f"control {i} of {system.label(part)}"
        i -= part.n_controls
    raise IndexError(i)
