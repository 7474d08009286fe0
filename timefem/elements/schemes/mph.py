"""MPH: the midpoint rule on Hamilton's equations, Kinon & Betsch (133)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..discrete_gradient import gradient_at
from ..one_step import OneStep


@dataclass(frozen=True)
class MPH(OneStep):
    """Midpoint rule on Hamilton's equations, Kinon & Betsch (133); order 2. Conserves the angular momentum.

    For bodies in quaternions it depends on how the inverse of the mass matrix is written: `inverse_mass="polynomial"`
    is (139) as printed; with the exact inverse the scheme is equal to MPL.
    """

    name = "mph"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        by_q = by_p = ca.SX.zeros(s.q1.numel())
        if s.is_body:
            by_q = gradient_at(lambda q: s.body.kinetic_energy(q, s.pm, s.parameters), s.qm)
            by_p = gradient_at(lambda p: s.body.kinetic_energy(s.qm, p, s.parameters), s.pm)
        balance = s.inertia((s.p0 - s.p1) * s.per_h - by_q) + s.midpoint_force(s.qm, s.velocity(s.qm, s.pm))
        return ca.vertcat(balance, s.inertia(s.per_h * (s.q1 - s.q0) - by_p)), s.constraints(s.q1, s.t1)
