"""Newmark's method on SO(3): Simo & Vu-Quoc (1988)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from .body_axes import BodyAxesScheme


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
