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
        return hamiltons_equations(s, s.qm, s.pm)


# ---- hamilton's equations of a step, with forces at one point

def hamiltons_equations(s: Any, q: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
    """`p1 = p0 - h dH/dq(q, p) + h Q`, `q1 = q0 + h dH/dp(q, p)`, and the constraints at the end of the step."""
    by_q = by_p = ca.SX.zeros(s.q1.numel())
    if s.is_body:
        by_q = gradient_at(lambda x: s.body.kinetic_energy(x, p, s.parameters), q)
        by_p = gradient_at(lambda x: s.body.kinetic_energy(q, x, s.parameters), p)
    balance = s.inertia((s.p0 - s.p1) * s.per_h - by_q) + s.midpoint_force(q, s.velocity(q, p))
    return ca.vertcat(balance, s.inertia(s.per_h * (s.q1 - s.q0) - by_p)), s.constraints(s.q1, s.t1)
