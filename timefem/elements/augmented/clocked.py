"""Elements that see their own place in time as a field, so that their residual can be differentiated by it."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...polynomials import LagrangeBasis
from ..element import Space
from .constants import Constants
from .extended import Extended

START, LENGTH = range(2)  # components of the clock
AS_IT_IS = np.array([0.0, 1.0])


@dataclass(frozen=True)
class Clocked(Extended):
    """An element with its clock as a field: by how much it starts later [s], and its length over the given one."""

    @property
    def density_key(self):
        return type(self), self.element.density_key

    @property
    def trial(self):
        return self.element.trial | {"clock": Space(LagrangeBasis(0), False, Constants(2, 2))}

    @property
    def slots(self):
        return (*self.element.slots, ("clock", "value"))

    def density(self, s):
        rows = s.closed(self.element.density(s))
        later, stretch = ca.vertsplit(s.slots["clock", "value"])
        rates = [value for (_, where), value in s.slots.items() if where == "rate"]
        # the Gauss point is at the start + xi h
        new = [*(rate / stretch for rate in rates), s.t + later + s.xi * s.h * (stretch - 1), s.h * stretch]
        rows = ca.substitute(rows, [*rates, s.t, s.h], new)
        return [row if where == "rate" else stretch * row
                for row, (_, where) in zip(rows, self.element.test_slots, strict=True)]
