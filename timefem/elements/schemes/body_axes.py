"""Schemes on velocities in body axes, which are additive: what those of Zupan and of Simo and Vu-Quoc share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from ...errors import InputError
from ...mechanics.bodies.quaternions import exponential, product
from ...mechanics.bodies.rigid import QuaternionBody
from ..one_step import OneStep, StepSymbols

if TYPE_CHECKING:
    from ...mechanics.system import System


class BodyAxesSymbols(StepSymbols):
    """Symbols of one part in one step; a twist is the velocity of each body and its angular velocity in body axes.

    Attributes
    ----------
    w0 : SX
        Twists at the start.
    """

    def __init__(self, part, element, sizes):
        super().__init__(part, element, sizes)
        rates = self.split(self.velocity(self.q0, self.p0))
        self.w0 = ca.vertcat(*(b.invariant_velocity(q, v) for b, q, v in self._of_bodies(self.split(self.q0), rates)))

    def _of_bodies(self, *values):
        return zip(self.part.frames, *values, strict=True)

    def turned(self, q, u):
        """Coordinates after the displacement and the rotation vector u, in body axes: q o exp(u/2)."""
        return ca.vertcat(*(ca.vertcat(x[:3] + d[:3], product(x[3:], exponential(d[3:] / 2))) if _turns(b) else x + d
                            for b, x, d in self._of_bodies(self.split(q), self._increments(u))))

    def rate(self, q, w):
        """qdot = (v, 1/2 q o Omega)."""
        return ca.vertcat(*(ca.vertcat(d[:3], product(x[3:], ca.vertcat(0, d[3:])) / 2) if _turns(b) else d
                            for b, x, d in self._of_bodies(self.split(q), self._increments(w))))

    def commutator(self, a, b):
        """a x b of the angular velocities in two twists, zero for the velocities."""
        return ca.vertcat(*(ca.vertcat(ca.SX(3, 1), ca.cross(x[3:], y[3:])) if _turns(body) else ca.SX(x.numel(), 1)
                            for body, x, y in self._of_bodies(self._increments(a), self._increments(b))))

    def momentum(self, q, w):
        """Momenta p = (m v, 2 q o (J Omega)) of a body, zero for other parts."""
        if not self.is_body:
            return ca.SX.zeros(q.numel())
        momentum = self._mass() @ w
        if not _turns(self.body):
            return momentum
        return ca.vertcat(momentum[:3], 2 * product(q[3:], ca.vertcat(0, momentum[3:])))

    def balance(self, q, w, a, t, pull):
        """m v' - F and J Omega' + Omega x J Omega - M, (21), with -G^T pull of joints in F; a part gives its share.

        Strains count with what a scheme carries besides them, `carried_strains`.
        """
        if self.is_body:
            mass = self._mass()
            gyroscopic = ca.vertcat(ca.SX(3, 1), ca.cross(w[3:], (mass @ w)[3:])) if _turns(self.body) else 0
            return mass @ a + gyroscopic
        x = ca.SX.sym("q", q.numel())
        potential = ca.SX(self._terms("energy", x, t=t) if self.carried_strains is None else self._stored_energy(x))
        if pull.numel():
            potential += ca.dot(pull, self._terms("constraints", x, t=t))
        force = self._applied(q, self.rate(q, w), t) - ca.substitute(ca.gradient(potential, x), x, q)
        return -ca.vertcat(*(ca.vertcat(f[:3], b.invariant_momentum(x, f)[4:] / 2) if _turns(b) else f
                             for b, x, f in self._of_bodies(self.split(q), self.split(force))))

    def carried(self, q3, q1):
        """Row of the strains that are carried: at the end they are those at q1, whatever the coordinates q3 are."""
        if self.carried_strains is None:
            return ca.SX(0, 1)
        return self.slots["strains", "right"] + self.strains(q3) - self.carried_strains - self.strains(q1)

    @property
    def carried_strains(self):
        """Strains at the start less those of the coordinates there, SX; None of parts and schemes without."""
        carried = self.slots.get(("strains", "left"), ca.SX(0, 1))
        return carried if carried.numel() else None

    def strains(self, q):
        """Strains e(q) of the part, SX."""
        return self._terms("strains", q)

    def _stored_energy(self, q):
        at = self.at_point.at(self.split(q), self.at_point.p)
        return self.part.stored_energy(at, self.strains(q) + self.carried_strains)

    def acceleration(self, q, w, a, t):
        """Second time derivative of the constraints of a joint."""
        if not self.multipliers.numel():
            return ca.SX(0, 1)
        x, u, time = ca.SX.sym("q", q.numel()), ca.SX.sym("w", w.numel()), ca.SX.sym("t")
        phi, rate = self._terms("constraints", x, t=time), self.rate(x, u)
        velocity = ca.jtimes(phi, x, rate) + ca.jacobian(phi, time)
        value = ca.jtimes(velocity, x, rate) + ca.jacobian(velocity, u) @ a + ca.jacobian(velocity, time)
        return ca.substitute([value], [x, u, time], [q, w, ca.SX(t)])[0]

    def _mass(self):
        """Mass matrix in body axes, constant."""
        w = ca.SX.sym("w", self.body.n_increments)
        return ca.hessian(self.body.kinetic_of_invariants(w, self.parameters), w)[0]


@dataclass(frozen=True)
class BodyAxesScheme(OneStep):
    """Base of the schemes that turn quaternions by exponentials, so that |q| = 1 holds without a multiplier.

    Joints hold on the level of accelerations, at each stage: what they keep from moving stays exactly where it is, and
    the others drift by the error of the method.
    """

    symbols = BodyAxesSymbols
    constraints_of = "joints"
    joints_drift = True

    def check(self, system: System) -> None:
        for body in system.bodies:
            fault = f"{self.name} takes rigid bodies in quaternions and point masses, not {system.label(body)}"
            if body.velocity_by_solve:
                raise InputError(f"{fault}, whose mass matrix varies with its joints; {body.no_inverse[1]}, or state "
                                 "the robot in bodies and joints")
            if not isinstance(body, QuaternionBody) and body.n_increments != body.n_q:
                raise InputError(f"{fault}; use rotation='quaternion', or another element")


def _turns(body):
    return isinstance(body, QuaternionBody)
