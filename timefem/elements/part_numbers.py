"""Elements that see numbers of the parts as a field, or as unknown constants in time."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ..mechanics.body_frame import BodyFrame
from ..mechanics.numbers.records import made_of
from ..mechanics.part import Part
from ..mechanics.states.redundancy import keep_constraints
from ..polynomials import LagrangeBasis
from ..records import frozen
from .components import Components
from .element import Space
from .extended import Extended, WithCostates


class NumberPlaces:
    """The `own_parameters` of all parts of a system, one behind the other.

    Attributes
    ----------
    size : int
    values : ndarray, shape (size,)
    start : dict
        Part -> where its own start.
    groups : list of ndarray of int, shape (n_parts, n_parameters)
        Per group of the system, where the parameters of each part stand: its own, then those of its bodies.
    """

    def __init__(self, system):
        own = [part.own_parameters for part in system.parts]
        stops = np.cumsum([len(c) for c in own]).tolist()
        self.size, self.values = stops[-1], np.concatenate(own)
        self.start = {part: stop - len(c) for part, stop, c in zip(system.parts, stops, own, strict=True)}
        self.groups = [np.array([self._seen(part) for part in group.members]) for group in system.groups]

    def _seen(self, part):
        return np.concatenate([self.of(part), *(self.of(b) for b in part.bodies if b is not part)])

    def of(self, part):
        """Where the numbers of a part are; of a point of a beam those of its nodes, of a link of a tree those of the
        tree that its place depends on."""
        if not isinstance(part, BodyFrame):
            return np.arange(self.start[part], self.start[part] + len(part.own_parameters))
        return np.concatenate([self.start[frame.body] + np.array(frame.numbers_of_body, int) for frame in part.frames])


class Numbers:
    """Components of the numbers that are asked for; parts of one kind see the same of theirs.

    Parameters
    ----------
    system : System
    wanted : ndarray of int
        Numbers asked for, as counted by `NumberPlaces`.

    Attributes
    ----------
    places : ndarray of int
        Number of each component.
    values : ndarray
    local : dict
        Kind of part -> which of its parameters it sees as components.
    """

    def __init__(self, system, wanted):
        numbers = NumberPlaces(system)
        seen = [np.flatnonzero(np.isin(places, wanted).any(axis=0)) for places in numbers.groups]
        chosen = [places[:, local] for places, local in zip(numbers.groups, seen, strict=True)]
        self.places = np.unique(np.concatenate([c.ravel() for c in chosen]))
        self.values = numbers.values[self.places]
        self._components = Components(len(self.places), [np.searchsorted(self.places, c) for c in chosen])
        self.local = {g.part.kind: tuple(local.tolist()) for g, local in zip(system.groups, seen, strict=True)}

    def __call__(self, system):
        return self._components

    @property
    def form(self):
        return tuple(self.local.items())


@dataclass(frozen=True)
class Numbered(Extended):
    """An element with a field of numbers, constant over it: its tangent has their derivatives too."""

    numbers: Numbers

    @property
    def density_key(self):
        return type(self), self.numbers.form, self.element.density_key

    @property
    def trial(self):
        return self.element.trial | {"numbers": Space(LagrangeBasis(0), False, self.numbers)}

    @property
    def slots(self):
        return (*self.element.slots, ("numbers", "value"))

    def density(self, s):
        rows = s.closed(self.element.density(s))
        local = self.numbers.local[s.part.kind]
        if not local:
            return rows
        return ca.substitute(rows, [s.parameters[i] for i in local], ca.vertsplit(s.slots["numbers", "value"]))


@dataclass(frozen=True)
class Contracted(WithCostates):
    """Gradient of the residual times costates by numbers of the parts, as rows: no matrix is formed."""

    numbers: Numbers
    has_tangent = False

    @property
    def density_key(self):
        return type(self), self.numbers.form, self.element.density_key

    @property
    def test(self):
        return {"numbers": Space(LagrangeBasis(0), False, self.numbers)}

    @property
    def test_slots(self):
        return (("numbers", "value"),)

    def density(self, s):
        local = list(self.numbers.local[s.part.kind])
        return [ca.gradient(self.contracted(s), s.parameters)[local] if local else ca.SX(0, 1)]


# ---- elements with unknown constants in time, so that unknown numbers are local in time

class Carrier(Part):
    """A part without bodies that carries the constants of a problem: it states that they do not change."""

    def __init__(self, n):
        self.n = n

    @property
    def kind(self):
        return Carrier, self.n


def with_carrier(system, element):
    """The system with the `Carrier` that an element with constants needs; of other elements the system as it is."""
    while isinstance(element, Extended) and not isinstance(element, WithConstants):
        element = element.element
    if not isinstance(element, WithConstants):
        return system
    if system.complete is not None:
        return keep_constraints(with_carrier(system.complete, element), system.kept)
    return made_of(system, [*system.parts, Carrier(element.n)])


@frozen
class Constants:
    """Components of constants in time: n of them; the carrier sees all, every part the `shared` ones and those that
    stand for numbers of its own."""

    n: int
    shared: tuple[int, ...] = ()

    def __call__(self, system):
        places = [[range(self.n) if isinstance(part, Carrier) else (*self.shared, *part.seen_constants)
                   for part in group.members] for group in system.groups]
        return Components(self.n, [np.array(place, dtype=int) for place in places])


@dataclass(frozen=True)
class WithConstants(Extended):
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
    begins : int, optional
        Which constant, of a free time, is the time [s] at which the mesh starts instead.
    """

    n: int = 0
    free_time: bool = False
    start: float = 0.0
    begins: int | None = None

    @property
    def density_key(self):
        return type(self), self.n, self.free_time, self.start, self.begins, self.element.density_key

    @property
    def shared(self):
        """Which constants all parts see."""
        return (0,) * self.free_time + (() if self.begins is None else (self.begins,))

    @property
    def trial(self):
        return self.element.trial | {"constants": Space(LagrangeBasis(1), True, Constants(self.n, self.shared))}

    @property
    def test(self):
        return self.element.test | {"constants": Space(LagrangeBasis(0), False, Constants(self.n, self.shared))}

    @property
    def slots(self):
        return (*self.element.slots, ("constants", "value"), ("constants", "rate"))

    @property
    def test_slots(self):
        return (*self.element.test_slots, ("constants", "value"))

    def density(self, s):
        rows = s.closed(self.element.density(s))
        if self.free_time:
            stretch = s.slots["constants", "value"][0]
            rates = [v for (_, where), v in s.slots.items() if where == "rate"][:-1]
            old = [*rates, s.t, s.h]
            new = [*(r / stretch for r in rates), self._time(s), s.h * stretch]
            rows = ca.substitute([ca.SX(r) for r in rows], old, new)
            # dt = stretch dtau in the integrals; tests by their rate, d/dt, divide by it
            rows = [r if where == "rate" else stretch * r
                    for r, (_, where) in zip(rows, self.element.test_slots, strict=True)]
        rows = self._with_unknowns(s, rows)
        return [*rows, s.slots["constants", "rate"] if isinstance(s.part, Carrier) else ca.SX(0, 1)]

    def _with_unknowns(self, s, rows):
        """Expressions with unknown numbers instead of the parameters that follow from them."""
        values, constants = {}, s.slots["constants", "value"]
        if s.part.unknown_numbers is not None:
            values |= s.part.unknown_numbers(constants[len(self.shared):])
        if self.free_time:
            values |= {place: constants[0] * s.parameters[place] for place in s.part.durations}
        if not values:
            return rows
        return ca.substitute([ca.SX(r) for r in rows], [s.parameters[place] for place in values], list(values.values()))

    def cost(self, s):
        """As `Controlled.cost`, in the stretched time and with the unknown numbers."""
        cost, = self._with_unknowns(s, [ca.SX(self.element.cost(s))])
        if not self.free_time:
            return cost
        return s.slots["constants", "value"][0] * ca.substitute(cost, s.t, self._time(s))

    def _time(self, s):
        """Of a free time, by that of the mesh."""
        constants = s.slots["constants", "value"]
        begins = self.start
        if self.begins is not None:
            begins = constants[self.begins if isinstance(s.part, Carrier) else 1]
        return begins + (s.t - self.start) * constants[0]

    def nodal_values(self, system, times, state, multipliers):
        values = self.element.nodal_values(system, times, state, multipliers)
        return [*values, np.ones((len(state), 2, self.n))]


# ---- elements that see their own place in time as a field, so that their residual can be differentiated by it

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
        return self.element.trial | {"clock": Space(LagrangeBasis(0), False, Constants(2, (0, 1)))}

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
