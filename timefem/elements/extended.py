"""Elements that have what another one has, and more, such as a field of controls."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from ..mechanics.formulas.formula import Same
from ..mechanics.part import Part
from ..polynomials import LagrangeBasis
from .components import Components, ElementSymbols, components
from .element import Space, TimeElement


@dataclass(frozen=True)
class Extended(TimeElement):
    """An element that has what another one has, and more.

    Attributes
    ----------
    element : TimeElement
    """

    element: TimeElement

    @property
    def stated(self):
        return self.element.stated

    @property
    def density_key(self):
        return type(self), self.element.density_key

    @property
    def trial(self):
        return self.element.trial

    @property
    def test(self):
        return self.element.test

    @property
    def slots(self):
        return self.element.slots

    @property
    def test_slots(self):
        return self.element.test_slots

    @property
    def constraint_row_power(self):
        return self.element.constraint_row_power

    @property
    def lifted(self):
        return self.element.lifted

    @property
    def elements_per_block(self):
        return self.element.elements_per_block

    @property
    def drop(self):
        return self.element.drop

    @property
    def needs_inverse_mass(self):
        return self.element.needs_inverse_mass

    @property
    def takes_coupled_inertia(self):
        return self.element.takes_coupled_inertia

    def symbols(self, part, element, sizes):
        return self.element.symbols(part, element, sizes)

    def check(self, system):
        self.element.check(system)

    def kept_multipliers(self, system):
        return self.element.kept_multipliers(system)

    def density(self, s):
        return self.element.density(s)

    def nodal_values(self, system, times, state, multipliers):
        return self.element.nodal_values(system, times, state, multipliers)

    def __getattr__(self, name):
        if name.startswith("__") or name == "element":
            raise AttributeError(name)
        return getattr(self.element, name)  # degree, n_points, order


# ---- an element with a field of controls

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


# ---- A time element with controls, and with the rows that determine them from prescribed outputs

class ServoPart(Part):
    """Sees the whole system and states the rows of an `Inversion`."""

    sees_multipliers = True

    def __init__(self, inversion, kinks=()):
        self.inversion, self.kinks = inversion, tuple(kinks)
        self.bodies, self.controls = inversion.system.bodies, tuple(inversion.actuators)

    @property
    def kind(self):
        return ServoPart, Same(self.inversion)


def servo_rows(system):
    """Components of the tests of the rows: one per output, of the servo part only."""
    n = next(len(p.inversion.outputs) for p in system.parts if isinstance(p, ServoPart))
    return Components(n, [np.tile(np.arange(n if isinstance(g.part, ServoPart) else 0), (len(g.state_index), 1))
                          for g in system.groups])


@dataclass(frozen=True)
class Servo(Controlled):
    """An element with controls and one row for each, zero at the controls that keep outputs on their trajectories.

    The rows are the derivatives of the outputs in which controls appear (see `mechanics.inversion`), tested by
    discontinuous polynomials of the degree of the controls. The system needs a `ServoPart`.
    """

    @property
    def test(self):
        basis = LagrangeBasis(self.element.degree - 1, getattr(self.element, "nodes", "equidistant"))
        return self.element.test | {"servo": Space(basis, False, servo_rows)}

    @property
    def test_slots(self):
        return (*self.element.test_slots, ("servo", "value"))

    def symbols(self, part, element, sizes):
        if isinstance(part, ServoPart):
            return ElementSymbols(part, element, sizes)
        return self.element.symbols(part, element, sizes)

    def density(self, s):
        none = ca.SX(0, 1)
        if not isinstance(s.part, ServoPart):
            return [*self.element.density(s), none]
        n = s.part.inversion.n_forces
        w = ca.vertcat(s.slots["multipliers", "value"][:n], s.slots["controls", "value"])
        # the part sees (q, p) of the bodies in the order of the system
        return [*(none for _ in self.element.test_slots), s.part.inversion.rows(s.slots["state", "value"], w, s.t)]


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

    def contracted(self, s, cost=0):
        """A cost and costates times the residual densities of their tests."""
        rows = zip(self.element.test_slots, s.closed(self.element.density(s)), strict=True)
        return sum((ca.dot(row, s.slots[costate(name), where]) for (name, where), row in rows if row.numel()),
                   ca.SX(cost))


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

    def lagrangian(self, s):
        """The integrand."""
        return self.contracted(s, self.element.cost(s))

    def density(self, s):
        total = self.lagrangian(s)
        return [ca.gradient(total, v) if v.numel() else ca.SX(0, 1) for v in s.slots.values()]

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


@dataclass(frozen=True)
class Lagrangian(Functional):
    """The integral whose gradient an `Optimality` element has, over it: one row."""

    def symbols(self, part: Any, element: Any, sizes: Any) -> ElementSymbols:
        return self.element.symbols(part, element, sizes)

    def density(self, s: Any) -> list[Any]:
        return [self.element.lagrangian(s)]


def _one(system):
    """One component, of all parts together."""
    return Components(1, [np.zeros((len(g.state_index), 1), int) for g in system.groups])


def costate(name):
    """Name of the field of costates of the tests called `name`."""
    return f"costate of {name}"
