"""Null-EMH: EMH by the discrete null-space method, Betsch & Siebert (2009), (52) to (54)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from .emh import EMH, hamiltonian_derivatives

if TYPE_CHECKING:
    from ...mechanics.system import System


@dataclass(frozen=True)
class NullEMH(EMH):
    """EMH with the bodies' own constraint forces projected away; order 2. Conserves energy and angular momentum.

    Newton sees one increment per body that keeps the body's own constraints (54), the momenta, and the multipliers of
    joints; the balance of momentum is projected with the null space at the midpoint (53).
    """

    name = "null-emh"
    constraints_of = "joints"
    extra = (("increments", "increments"),)

    def check(self, system: System) -> None:
        super().check(system)
        self._need_increments(system)

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        q1 = s.moved(s.q0, s.slots["increments", "value"])
        qm = (s.q0 + q1) / 2
        by_q, by_p = hamiltonian_derivatives(s, q1, s.p1)
        balance = s.inertia((s.p0 - s.p1) * s.per_h - by_q) + s.force(s.q0, q1, s.velocity(qm, s.pm))
        state = s.inertia(ca.vertcat(s.q1 - q1, s.per_h * (q1 - s.q0) - by_p))
        return state, s.constraints(q1, s.t1), s.projected(qm, balance)
