"""The energy-momentum scheme with nonholonomic constraints, Gebhardt & Romero Sect. 5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..nonholonomic_terms import averaged, transposed_form, velocity_form
from .emh import EMH


@dataclass(frozen=True)
class NonTwistingEM(EMH):
    """Energy-momentum scheme with nonholonomic constraints by average vector fields, Gebhardt & Romero (92); order 2.

    On a body in directors with `NonTwisting` it is the scheme of the paper, and conserves the energy and the first two
    components of the angular momentum in body axes; it takes all bodies and joints, as EMH does.
    """

    name = "nontwisting-em"
    extra = (("nonholonomic", "nonholonomic"),)

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        motion, constraints = super().density(s)
        multipliers, velocity = s.slots["nonholonomic", "value"], s.per_h * (s.q1 - s.q0)
        force = averaged(lambda q: transposed_form(s, q, multipliers, s.tm), s.q0, s.q1)
        form = averaged(lambda q: velocity_form(s, q, velocity, s.tm), s.q0, s.q1)
        return motion - ca.vertcat(force, ca.SX(force.numel(), 1)), constraints, form
