"""Motors with gears."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...errors import InputError
from ..body_frame import is_on_tree
from ..declared import Function, Real, Term
from ..joints.bound import Follower
from ..joints.frame import frames_of
from ..joints.on_joint import JointPart
from ..part import Part
from .actuators import Actuator

if TYPE_CHECKING:
    from ..symbols import Symbols


class Rotor(Follower):
    """The rotor of a motor: its angle phi, `T = 1/2 J (dphi/dt)^2`, which starts at gear times the coordinate."""

    def __init__(self, motor):
        super().__init__(motor.bound, "rotor")
        self.owner, self.motor = motor, motor
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"inertia": c.motor.rotor_inertia}

    def __repr__(self):
        return f"Rotor({self.owner!r})"

    @property
    def kind(self):
        return (Rotor,)

    @property
    def mass_scale(self):
        return self.own_parameters

    def kinetic_energy(self, q, p, c):
        return p[0] ** 2 / (2 * c[0])

    def kinetic_of_velocity(self, q, v, c):
        return c[0] * v[0] ** 2 / 2

    def start(self, states, own):
        value, rate = self.bound.local(states, own)
        return np.array([self.motor.gear * value]), np.array([self.own_parameters[0] * self.motor.gear * rate])


class Gear(Part):
    """Holds the rotor of a motor at gear times the coordinate: `x - phi / gear = 0`, over any number of turns.

    Its multiplier is the torque [N m] or force [N] that the rotor exerts along the coordinate.
    """

    constraint_names = ("gear",)
    table = "joints"
    helper = True

    def __init__(self, motor):
        self.bound, self.owner, self.place = motor.bound, motor, "gear"
        self.bodies, self.motor = motor.bodies, motor
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"axes": self.bound.numbers(c.bound), "gear": c.motor.gear}

    def __repr__(self):
        return f"Gear({self.owner!r})"

    @property
    def kind(self):
        return (Gear, self.bound.form, *(body.kind for body in self.bodies))

    def start_by_numbers(self, q, p):
        """Derivatives of angle and rate of the rotor at the start by `own_parameters`, shape (2, n_own), of states of
        the bodies of the coordinate."""
        c = ca.SX.sym("c", len(self.own_parameters))
        start = c[-1] * ca.vertcat(*self.bound.value_and_rate(q, p, c[:-1]))
        return np.array(ca.Function("start", [c], [ca.densify(ca.jacobian(start, c))])(self.own_parameters))

    def workless_motions(self):
        return self.motor.workless_motions()

    def constraints(self, s):
        numbers, gear = s.own[:-1], s.own[-1]
        frames = frames_of(self.bound.bodies, s.q[:-1])
        return -self.bound.coordinate.gap(*frames, numbers, s.q[-1][0] / gear)


class Motor(JointPart, Actuator):
    """A motor that drives a coordinate x of a joint through a gear: its rotor turns by phi = gear x.

    On the rotor act the torque tau(t) + u, with the control u of problems that determine it, and -c dphi/dt of its
    bearings. The rotor has the energy `1/2 J (dphi/dt)^2`, by one coordinate and one constraint more; its gyroscopic
    effects on the bodies are left out. Without inertia the torque acts on the joint at once. On a joint inside of a
    tree the inertia J gear^2 is added to the `armature` of that joint, by the system, and there is no constraint.
    """

    unit, n_controls = "N m", 1
    gear = Real("turns of the rotor per turn of the joint, or radians per metre", "", 1.0)
    rotor_inertia = Term("J, about the axis of the rotor", "kg m^2", 0.0, least=0)
    damping = Real("c, of the bearings of the rotor", "N m s/rad", 0.0, least=0)
    torque = Function("tau, a given torque", "N m", 0.0)

    def _complete(self):
        super()._complete()
        if self.gear == 0:
            raise InputError(f"{self._title}: gear must not be zero")
        self.helpers = ()
        if self.rotor_inertia and not self.on_tree:
            rotor = Rotor(self)
            self.bodies = (*self.bound.bodies, rotor)
            self.helpers = rotor, Gear(self)

    @property
    def on_tree(self) -> bool:
        """Whether it drives a joint inside of a tree, with one coordinate."""
        return is_on_tree(self.joint) and self.joint.n_q == 1

    @property
    def members(self) -> tuple[Part, ...]:
        return (*self.helpers, self)

    @property
    def _form(self):
        return (*super()._form, bool(self.helpers))

    def _on_rotor(self, s, torque):
        """Generalized force of a torque on the rotor."""
        if self.helpers:
            return ca.vertcat(ca.SX(sum(b.n_q for b in self.bodies[:-1]), 1), torque)
        return self.along(s, self.named(s.own).gear * torque)

    def force(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        given, = self.values_at("torque", s.t, c)
        speed = s.velocity[-1][0] if self.helpers else c.gear * self.rate_of(s)
        return self._on_rotor(s, given - c.damping * speed)

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        return self._on_rotor(s, u)
