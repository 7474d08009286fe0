"""Forces on all coordinates of a system, as numbers that change from element to element."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ..part import Part

if TYPE_CHECKING:
    from ..part import Body
    from ..symbols import Symbols


class MeanForce(Part):
    """A constant generalized force on a body, its own parameters."""

    def __init__(self, body: Body) -> None:
        self.bodies, self.name, self.own_parameters = (body,), "contacts", np.zeros(body.n_q)

    @property
    def kind(self) -> Hashable:
        return MeanForce, self.bodies[0].kind

    def force(self, s: Symbols) -> ca.SX:
        return s.own
