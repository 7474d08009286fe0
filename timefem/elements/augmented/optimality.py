"""The optimality system of an element, and the integral of its cost."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from ...polynomials import LagrangeBasis
from ..components import Components, components
from ..element import Space
from ..symbols import ElementSymbols
from .extended import Extended


@dataclass(frozen=True)
class WithCostates(Extended):
    """An element with a costate for each of its tests."""

    @cached_property
    def trial(self):
        costates = {costate(name): replace(space, dual=True) for name, space in self.element.test.items()}
        return self.element.trial | costates

    @property
    def slots(self):
        return (*self.element.slots, *((costate(name), where) for name, where in self.element.test_slots))


@dataclass(frozen=True)
class Optimality(WithCostates):
    """The optimality system of an element whose residual is a side condition: the gradient of

    `integral of cost + sum over tests (costate . residual density)`

    by states, multipliers, controls and costates. Costates are the multipliers of the discrete equations: first
    discretised, then optimised. The tangent is symmetric.
    """

    @cached_property
    def test(self):
        return {name: replace(space, dual=not space.dual) for name, space in self.trial.items()}

    @property
    def test_slots(self):
        return self.slots

    def density(self, s):
        total = self.element.cost(s)
        for (name, where), rows in zip(self.element.test_slots, s.closed(self.element.density(s)), strict=True):
            if rows.numel():
                total += ca.dot(rows, s.slots[costate(name), where])
        return [ca.gradient(ca.SX(total), v) if v.numel() else ca.SX(0, 1) for v in s.slots.values()]

    def nodal_values(self, system, times, state, multipliers):
        values = self.element.nodal_values(system, times, state, multipliers)
        sizes = components(system, [space.components for space in self.element.test.values()])
        return [*values, *(np.zeros((len(state), space.basis.n_shapes, sizes[space.components].size))
                           for space in self.element.test.values())]


@dataclass(frozen=True)
class Functional(Extended):
    """The integral of the cost of an element over it, in the numbering of that element: one row."""

    has_tangent = False

    @property
    def test(self) -> dict[str, Space]:
        return {"cost": Space(LagrangeBasis(0), False, _one)}

    @property
    def test_slots(self) -> tuple[tuple[str, Any], ...]:
        return (("cost", "value"),)

    def symbols(self, part: Any, element: Any, sizes: Any) -> ElementSymbols:
        return ElementSymbols(part, element, sizes)  # costs see no terms of the equations

    def density(self, s: Any) -> list[Any]:
        return [ca.SX(self.element.cost(s))]


def _one(system):
    """One component, of all parts together."""
    return Components(1, [np.zeros((len(g.state_index), 1), int) for g in system.groups])


def costate(name):
    """Name of the field of costates of the tests called `name`."""
    return f"costate of {name}"
