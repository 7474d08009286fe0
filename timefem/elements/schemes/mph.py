"""MPH: the midpoint rule on Hamilton's equations, Kinon & Betsch (133)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..one_step import OneStep
from .hamiltons_equations import hamiltons_equations


@dataclass(frozen=True)
class MPH(OneStep):
    """Midpoint rule on Hamilton's equations, Kinon & Betsch (133); order 2. Conserves the angular momentum.

    For bodies in quaternions it depends on how the inverse of the mass matrix is written: `inverse_mass="polynomial"`
    is (139) as printed; with the exact inverse the scheme is equal to MPL.
    """

    name = "mph"

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        return hamiltons_equations(s, s.qm, s.pm)
