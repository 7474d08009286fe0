"""ALGO_C1: Simo & Wong's momentum conserving scheme on the rotation group, in Betsch & Siebert (2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ..discrete_gradient import gradient_at
from ..one_step import OneStep, half, rotation_vector
from .body_axes import BodyAxesScheme

if TYPE_CHECKING:
    from ...mechanics.system import System


@dataclass(frozen=True)
class AlgoC1(OneStep):
    """ALGO_C1 of Simo & Wong, for rigid bodies without joints; order 2.

    With the body's angular velocity W and rotation R: `Theta = h/2 (W0 + W1)`, `R1 = R0 exp(Theta)`, and the spatial
    momentum grows by h times the torque at `R0 exp(Theta/2)`; the centre of mass follows the midpoint rule. Conserves
    the angular momentum, and the energy of free bodies; the rotation stays on the group, in quaternions and directors.

    Unknowns are the increments (displacement, and Rodrigues parameters `2 tan(|Theta|/2)` about the axis) and the
    twists at the end (velocities of the centre of mass, and angular), all in space axes.
    """

    name = "algo-c1"
    constraints_of = "joints"
    extra = (("increments", "increments"), ("twist", "increments"))

    def check(self, system: System) -> None:
        super().check(system)
        for part in system.parts:
            if not part.has_orientation and (part.constraint_names or part.is_body):
                raise InputError(f"{self.name} takes rigid bodies, springs and loads, but no joints and no other "
                                 f"bodies such as {system.label(part)}; use EML() or EMH()")

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        u, end = s.slots["increments", "value"], s.slots["twist", "value"]
        velocities = s.split(s.velocity(s.q0, s.p0))
        start = ca.vertcat(*map(_twist, s.part.frames, s.split(s.q0), velocities))
        q1, middle = s.moved(s.q0, u), s.moved(s.q0, ca.vertcat(*map(half, ca.vertsplit(u, 6))))
        torque = s.projected(middle, s.load(middle, s.spread(middle, (start + end) / 2)))
        if not s.is_body:
            return ca.SX(s.q0.numel() * 2, 1), s.multipliers, ca.SX(u.numel(), 1), torque
        p1 = gradient_at(lambda v: s.body.kinetic_of_velocity(q1, v, s.parameters), s.spread(q1, end))
        back = s.body.frame(s.q0)[1] @ s.body.frame(q1)[1].T  # from R1 W1 to R0 W1
        mean = (start + ca.vertcat(end[:3], back @ end[3:])) / 2
        motion = s.per_h * ca.vertcat(u[:3], rotation_vector(u[3:])) - mean
        balance = s.per_h * (s.projected(s.q0, s.p0) - s.projected(q1, p1))
        return ca.vertcat(s.q1 - q1, s.p1 - p1), s.multipliers, motion, balance


def _twist(body, q, velocity):
    return ca.vertcat(velocity[:3], body.angular_velocity_map(q) @ velocity)


# ---- newmark's method on SO(3): Simo & Vu-Quoc (1988)

@dataclass(frozen=True)
class NewmarkSO3(BodyAxesScheme):
    """Newmark's method with beta = 1/4, gamma = 1/2 on rotation vectors in body axes; order 2.

    Simo & Vu-Quoc, Comput. Methods Appl. Mech. Engrg. 66 (1988).
    """

    name = "newmark-so3"
    extra = (("start", "increments"), ("end", "increments"), ("start pull", "joints"))

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        a0, a1 = s.slots["start", "value"], s.slots["end", "value"]
        q1 = s.turned(s.q0, s.h * s.w0 + s.h**2 / 4 * (a0 + a1))
        w1 = s.w0 + s.h / 2 * (a0 + a1)
        balances = (s.balance(s.q0, s.w0, a0, s.t0, s.slots["start pull", "value"]),
                    s.balance(s.q1, w1, a1, s.t1, s.multipliers))
        state = s.inertia(ca.vertcat(s.q1 - q1, s.p1 - s.momentum(s.q1, w1)))
        return state, s.acceleration(s.q1, w1, a1, s.t1), *balances, s.acceleration(s.q0, s.w0, a0, s.t0)
