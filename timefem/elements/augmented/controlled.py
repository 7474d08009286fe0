"""An element with a field of controls."""

from dataclasses import dataclass

import numpy as np

from ...polynomials import LagrangeBasis
from ..components import components
from ..element import Space
from .extended import Extended


@dataclass(frozen=True)
class Controlled(Extended):
    """An element with a field of controls, discontinuous, of the degree of its discontinuous multipliers."""

    @property
    def trial(self):
        basis = LagrangeBasis(self.element.degree - 1, getattr(self.element, "nodes", "equidistant"))
        return self.element.trial | {"controls": Space(basis, False, "controls")}

    @property
    def density_key(self):
        return (*super().density_key, self._projects)

    @property
    def _projects(self):
        """Whether costs see a projection of the state. At as many Gauss points as controls have values the state is of
        the order of the nodes, and in between of its degree plus one only; the optimum would live on the difference.
        So of elements whose tests are their own; the others have no such points."""
        return (self.element.can_march and ("state", "value") in self.element.slots
                and self.element.n_points > self.element.degree)

    @property
    def slots(self):
        projected = (("state", "projected"),) if self._projects else ()
        return (*self.element.slots, ("controls", "value"), *projected)

    def cost(self, s):
        """Integrand of the cost of one part; at the mean state where an element sees only its ends."""
        if self._projects:
            z = s.slots["state", "projected"]
        elif ("state", "value") in s.slots:
            z = s.slots["state", "value"]
        else:
            z = (s.slots["state", "left"] + s.slots["state", "right"]) / 2
        return s.part.cost(s.bodies_at(z), s.slots["controls", "value"])

    def nodal_values(self, system, times, state, multipliers):
        n = components(system, ["controls"])["controls"].size
        controls = np.zeros((len(state), self.trial["controls"].basis.n_shapes, n))
        return [*self.element.nodal_values(system, times, state, multipliers), controls]


@dataclass(frozen=True)
class ControlledByMultipliers(Controlled):
    """An element whose controls were multipliers: they have the basis of these."""

    @property
    def trial(self):
        return self.element.trial | {"controls": Space(self.element.multiplier.basis, False, "controls")}
