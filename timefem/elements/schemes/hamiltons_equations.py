"""Hamilton's equations of a step, with forces at one point."""

from __future__ import annotations

from typing import Any

import casadi as ca

from ..discrete_gradient import gradient_at


def hamiltons_equations(s: Any, q: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
    """`p1 = p0 - h dH/dq(q, p) + h Q`, `q1 = q0 + h dH/dp(q, p)`, and the constraints at the end of the step."""
    by_q = by_p = ca.SX.zeros(s.q1.numel())
    if s.is_body:
        by_q = gradient_at(lambda x: s.body.kinetic_energy(x, p, s.parameters), q)
        by_p = gradient_at(lambda x: s.body.kinetic_energy(q, x, s.parameters), p)
    balance = s.inertia((s.p0 - s.p1) * s.per_h - by_q) + s.midpoint_force(q, s.velocity(q, p))
    return ca.vertcat(balance, s.inertia(s.per_h * (s.q1 - s.q0) - by_p)), s.constraints(s.q1, s.t1)
