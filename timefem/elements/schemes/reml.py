"""REML: EML with momenta and velocities eliminated, Kinon & Betsch Sect. 4.5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from .eml import EML, kinetic_derivatives


@dataclass(frozen=True)
class REML(EML):
    """EML with the velocities (101) and momenta (102) eliminated: Newton sees positions and multipliers only (103)."""

    name = "reml"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        v1 = 2 * s.per_h * (s.q1 - s.q0) - s.v0
        by_q, by_v = kinetic_derivatives(s, s.q1, v1)
        p1 = 2 * by_v - s.p0
        balance = s.inertia((s.p0 - p1) * s.per_h + by_q) + s.force(s.q0, s.q1, (s.v0 + v1) / 2)
        momenta, velocities = s.inertia(s.p1 - p1), s.inertia(s.v1 - v1)
        return ca.vertcat(balance, momenta), s.constraints(s.q1, s.t1), velocities
