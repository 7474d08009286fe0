"""The symplectic Euler method, for motions with impacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..one_step import OneStep
from .mph import hamiltons_equations


@dataclass(frozen=True)
class SymplecticEuler(OneStep):
    """Symplectic Euler method on Hamilton's equations: momenta first, by forces at the old coordinates; order 1.

    `p1 = p0 - h dH/dq(q0, p1) + h Q`, `q1 = q0 + h dH/dp(q0, p1)` (Hairer, Lubich & Wanner, Geometric Numerical
    Integration, 2006, (VI.3.1)). Impulses of a step act at its start, so that velocities after an impact are those of
    the step, as time-stepping methods for contacts need it (Stewart & Trinkle, Int. J. Numer. Meth. Eng. 39 (1996)).
    Conserves the angular momentum.
    """

    name = "symplectic-euler"
    order = 1

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        return hamiltons_equations(s, s.q0, s.p1)
