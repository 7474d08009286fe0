"""DLA: the discrete Lagrange-d'Alembert scheme, Cortes & Martinez (2001), in Gebhardt & Romero Sect. 6.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..nonholonomic_terms import transposed_form, velocity_form
from .quat_vi import QuatVI


@dataclass(frozen=True)
class DLA(QuatVI):
    """Discrete Lagrange-d'Alembert scheme by the midpoint rule, as a map of (q, p); order 2.

    The variational integrator `QuatVI` with forces of nonholonomic constraints at the nodes, A(q0)^T mu and
    A(q1)^T mu1, and the constraint between them, A(qm) (q1 - q0)/h + a = 0. The multipliers of the end make its momenta
    consistent, and do not change the motion.
    """

    name = "dla"
    extra = (*QuatVI.extra, ("nonholonomic", "nonholonomic"), ("end_nonholonomic", "nonholonomic"))

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        motion, *rows = super().density(s)
        start = transposed_form(s, s.q0, s.slots["nonholonomic", "value"], s.t0)
        end = transposed_form(s, s.q1, s.slots["end_nonholonomic", "value"], s.t1)
        return (motion - ca.vertcat(start, end) / 2, *rows, velocity_form(s, s.qm, s.per_h * (s.q1 - s.q0), s.tm),
                velocity_form(s, s.q1, s.velocity(s.q1, s.p1), s.t1))
