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


# ---- the symplectic Euler method, for motions with impacts

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
