"""Null-EML: EML with the bodies' own constraint forces projected away, Kinon & Betsch Remark 4.11."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from .eml import EML, kinetic_derivatives

if TYPE_CHECKING:
    from ...mechanics.system import System


@dataclass(frozen=True)
class NullEML(EML):
    """EML by the discrete null-space method: Newton sees one increment per body, and the multipliers of joints.

    The increment keeps the body's own constraints (105); the balance of momentum is projected with the null space at
    the midpoint (104).
    """

    name = "null-eml"
    constraints_of = "joints"
    extra = (("increments", "increments"),)

    def check(self, system: System) -> None:
        super().check(system)
        self._need_increments(system)

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        q1 = s.moved(s.q0, s.slots["increments", "value"])
        v1 = 2 * s.per_h * (q1 - s.q0) - s.v0
        by_q, by_v = kinetic_derivatives(s, q1, v1)
        p1 = 2 * by_v - s.p0
        balance = s.inertia((s.p0 - p1) * s.per_h + by_q) + s.force(s.q0, q1, (s.v0 + v1) / 2)
        state = s.inertia(ca.vertcat(s.q1 - q1, s.p1 - p1))
        return state, s.constraints(q1, s.t1), s.inertia(s.v1 - v1), s.projected((s.q0 + q1) / 2, balance)
