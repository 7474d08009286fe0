"""Elements that see numbers of the parts as a field, so that their residual can be differentiated by them."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...mechanics.body_frame import BodyFrame
from ...polynomials import LagrangeBasis
from ..components import Components
from ..element import Space
from .extended import Extended
from .optimality import WithCostates, costate


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
        density = s.closed(self.element.density(s))
        total = sum((ca.dot(rows, s.slots[costate(name), where]) for (name, where), rows in
                     zip(self.element.test_slots, density, strict=True) if rows.numel()), ca.SX(0))
        local = list(self.numbers.local[s.part.kind])
        return [ca.gradient(ca.SX(total), s.parameters)[local] if local else ca.SX(0, 1)]
