"""Time elements made from others: with controls, with constants in time, and the optimality system of an element."""

from dataclasses import dataclass, replace

import numpy as np

from ..mechanics import Part, System
from ..mechanics.redundancy import keep_constraints
from .basis import LagrangeBasis
from .components import Components
from .element import Space, TimeElement


@dataclass(frozen=True)
class Derived(TimeElement):
    """An element that has what another one has, and more.

    Attributes
    ----------
    element : TimeElement
    """

    element: TimeElement

    @property
    def form(self):
        return type(self), self.element.form

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
    def needs_inverse_mass(self):
        return self.element.needs_inverse_mass

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
        return getattr(self.element, name)  # degree, n_points, order, drop


@dataclass(frozen=True)
class Controlled(Derived):
    """An element with a field of controls, discontinuous, of the degree of its discontinuous multipliers."""

    @property
    def trial(self):
        basis = LagrangeBasis(self.element.degree - 1, getattr(self.element, "nodes", "equidistant"))
        return self.element.trial | {"controls": Space(basis, False, "controls")}

    @property
    def slots(self):
        return (*self.element.slots, ("controls", "value"))

    def cost(self, s):
        """Integrand of the cost of one part; at the mean state where an element sees only its ends."""
        if ("state", "value") in s.slots:
            z = s.slots["state", "value"]
        else:
            z = (s.slots["state", "left"] + s.slots["state", "right"]) / 2
        return s.part.cost(s.bodies_at(z), s.slots["controls", "value"])

    def nodal_values(self, system, times, state, multipliers):
        from .components import components

        n = components(system, ["controls"])["controls"].size
        controls = np.zeros((len(state), self.trial["controls"].basis.n_shapes, n))
        return [*self.element.nodal_values(system, times, state, multipliers), controls]


class Carrier(Part):
    """A part without bodies that carries the constants of a problem: it states that they do not change."""

    def __init__(self, n):
        self.n = n

    @property
    def kind(self):
        return Carrier, self.n


def with_carrier(system, element):
    """The system with the `Carrier` that an element with constants needs; of other elements the system as it is."""
    while isinstance(element, Derived) and not isinstance(element, WithConstants):
        element = element.element
    if not isinstance(element, WithConstants):
        return system
    if system.complete is not None:
        return keep_constraints(with_carrier(system.complete, element), system.kept)
    return System([*system.parts, Carrier(element.n)], redundant=system.redundant)


@dataclass(frozen=True)
class Constants:
    """Components of constants in time: n of them; the carrier sees all, every part the first `shared` ones and those
    that stand for numbers of its own."""

    n: int
    shared: int = 0

    def __call__(self, system):
        parts, shared = {}, tuple(range(self.shared))
        for part in system.parts:
            seen = range(self.n) if isinstance(part, Carrier) else (*shared, *part.seen_constants)
            parts.setdefault(part.kind, []).append(np.array(seen, dtype=int))
        return Components(self.n, [np.array(parts[g.part.kind]) for g in system.groups])


@dataclass(frozen=True)
class WithConstants(Derived):
    """An element with unknown constants: continuous fields whose rate is zero. The system needs a `Carrier`.

    Unknown numbers so become local in time, and conditions that couple both ends become conditions at each end.

    Parameters
    ----------
    element : TimeElement
    n : int
        Constants.
    free_time : bool
        The first one is the length of the time span over that of the mesh.
    start : float
        Where the mesh starts [s], for a free time.
    """

    n: int = 0
    free_time: bool = False
    start: float = 0.0

    @property
    def form(self):
        return type(self), self.n, self.free_time, self.start, self.element.form

    @property
    def trial(self):
        constants = Constants(self.n, int(self.free_time))
        return self.element.trial | {"constants": Space(LagrangeBasis(1), True, constants)}

    @property
    def test(self):
        return self.element.test | {"constants": Space(LagrangeBasis(0), False, Constants(self.n, int(self.free_time)))}

    @property
    def slots(self):
        return (*self.element.slots, ("constants", "value"), ("constants", "rate"))

    @property
    def test_slots(self):
        return (*self.element.test_slots, ("constants", "value"))

    def density(self, s):
        import casadi as ca

        rows = list(self.element.density(s))
        if self.free_time:
            stretch = s.slots["constants", "value"][0]
            rates = [v for (_, where), v in s.slots.items() if where == "rate"][:-1]
            old = [*rates, s.t, s.h]
            new = [*(r / stretch for r in rates), self.start + (s.t - self.start) * stretch, s.h * stretch]
            rows = [stretch * r for r in ca.substitute([ca.SX(r) for r in rows], old, new)]
        if s.part.unknown_numbers:
            old = [s.parameters[i] for i in s.part.unknown_numbers]
            new = ca.vertsplit(s.slots["constants", "value"])[int(self.free_time):]
            rows = ca.substitute([ca.SX(r) for r in rows], old, new)
        return [*rows, s.slots["constants", "rate"] if isinstance(s.part, Carrier) else ca.SX(0, 1)]

    def cost(self, s):
        """As `Controlled.cost`, in the stretched time."""
        import casadi as ca

        cost = ca.SX(self.element.cost(s))
        if not self.free_time:
            return cost
        stretch = s.slots["constants", "value"][0]
        return stretch * ca.substitute(cost, s.t, self.start + (s.t - self.start) * stretch)

    def nodal_values(self, system, times, state, multipliers):
        values = self.element.nodal_values(system, times, state, multipliers)
        return [*values, np.ones((len(state), 2, self.n))]


@dataclass(frozen=True)
class WithCostates(Derived):
    """An element with a costate for each of its tests."""

    @property
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

    @property
    def test(self):
        return {name: replace(space, dual=not space.dual) for name, space in self.trial.items()}

    @property
    def test_slots(self):
        return self.slots

    def density(self, s):
        import casadi as ca

        total = self.element.cost(s)
        for (name, where), rows in zip(self.element.test_slots, self.element.density(s), strict=True):
            if rows.numel():
                total += ca.dot(rows, s.slots[costate(name), where])
        return [ca.gradient(ca.SX(total), v) if v.numel() else ca.SX(0, 1) for v in s.slots.values()]

    def nodal_values(self, system, times, state, multipliers):
        from .components import components

        values = self.element.nodal_values(system, times, state, multipliers)
        sizes = components(system, [space.components for space in self.element.test.values()])
        return [*values, *(np.zeros((len(state), space.basis.n_shapes, sizes[space.components].size))
                           for space in self.element.test.values())]


@dataclass(frozen=True)
class Functional(Derived):
    """The integral of the cost of an element over it, in the numbering of that element: one row."""

    has_tangent = False

    @property
    def test(self):
        return {"cost": Space(LagrangeBasis(0), False, _one)}

    @property
    def test_slots(self):
        return (("cost", "value"),)

    def density(self, s):
        import casadi as ca

        return [ca.SX(self.element.cost(s))]


def _one(system):
    """One component, of all parts together."""
    return Components(1, [np.zeros((len(g.state_index), 1), int) for g in system.groups])


def costate(name):
    """Name of the field of costates of the tests called `name`."""
    return f"costate of {name}"
