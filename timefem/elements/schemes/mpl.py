"""MPL: the midpoint rule on Livens' equations, Kinon & Betsch (132)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..discrete_gradient import gradient_at
from ..one_step import OneStep


@dataclass(frozen=True)
class MPL(OneStep):
    """Midpoint rule on Livens' equations, Kinon & Betsch (132); order 2. Conserves the angular momentum."""

    name = "mpl"
    has_velocity = True
    needs_inverse_mass = False

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        by_q = by_v = ca.SX.zeros(s.q1.numel())
        if s.is_body:
            by_q = gradient_at(lambda q: s.body.kinetic_of_velocity(q, s.vm, s.parameters), s.qm)
            by_v = gradient_at(lambda v: s.body.kinetic_of_velocity(s.qm, v, s.parameters), s.vm)
        balance = s.inertia((s.p0 - s.p1) * s.per_h + by_q) + s.midpoint_force(s.qm, s.vm)
        kinematics = s.inertia(s.per_h * (s.q1 - s.q0) - s.vm)
        return ca.vertcat(balance, kinematics), s.constraints(s.q1, s.t1), s.inertia(by_v - s.pm)
