"""Unknown numbers, and how the parameters of all parts follow from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np

from ..errors import InputError
from ..late import Late
from .composites.in_symbols import affine_members
from .joints.on_joint import JointPart
from .stand_ins import StandIns
from .stored_formula import StoredFormula
from .traced import Traced, as_symbols, inside, is_traced, put, symmetric

other_numbers = Late(f"{__package__}.other_numbers")

TRIED = (0.11, -0.07), (-0.11, -0.23), (0.013, -0.017), (-0.013, -0.006)  # changes, relative to the numbers
SAME = 1e-11  # relative error of parameters by their formulas
NOTHING = ca.SX.sym("x", 0)


@dataclass(frozen=True)
class Following:
    """Parameters of a part by formulas of the unknown numbers that it sees.

    Attributes
    ----------
    places : tuple of int
        Among its `parameters`.
    form : tuple
        The formulas as plain data.
    """

    places: tuple
    form: tuple

    @classmethod
    def of(cls, places, x, values):
        """Of expressions SX (n_places,) in the symbols x."""
        stored = StoredFormula.of("a number", ca.Function("numbers", [x], [ca.densify(values)]))
        return cls(tuple(places), (tuple(stored.sizes), tuple(map(tuple, stored.steps)), tuple(stored.results)))

    def __call__(self, x):
        """Place -> expression, of numbers SX (n,)."""
        return dict(zip(self.places, ca.vertsplit(StoredFormula(*self.form).at(x)), strict=True))


class UnknownNumbers:
    """Unknown numbers of a system; iterates over their names.

    Parameters
    ----------
    system : System
    guesses : dict
        Name -> value.
    entries : dict
        What `with_other_numbers` takes as a name, or a pair of a joint or force and a place in its `own_parameters` ->
        formula `f(parameters)` of the dict of all unknown numbers, SX.

    Attributes
    ----------
    values : ndarray
    following : dict
        Part -> (numbers that it sees, how its parameters follow from these: `Following`).

    Raises
    ------
    InputError
        When there is no such number, or what follows from it is not known.
    """

    def __init__(self, system, guesses: Mapping, entries: Mapping):
        self._names, self.values = list(guesses), np.array(list(guesses.values()), float)
        self._x = ca.SX.sym("x", len(self._names)) if self._names else NOTHING
        unknown = dict(zip(self._names, ca.vertsplit(self._x) if self._names else [], strict=True))
        self._entries = {entry: ca.SX(formula(unknown)) for entry, formula in entries.items()}
        self.following, source = {}, system.complete or system
        if not self._names:
            return
        found = _traced(source, self._entries, unknown, self._present())
        for part, own in zip(system.parts, source.parts, strict=True):
            if own in found:
                self._take(part, found[own])
        self._check(system)

    def _present(self):
        """What each entry is at the guesses."""
        values = ca.Function("present", [self._x], [ca.vertcat(ca.SX(0, 1), *self._entries.values())])(self.values)
        return dict(zip(self._entries, np.array(values).ravel().tolist(), strict=True))

    def _take(self, part, parameters):
        places = [i for i, value in enumerate(ca.vertsplit(parameters)) if ca.depends_on(value, self._x)]
        values = parameters[places] if places else ca.SX(0, 1)
        seen = [i for i in range(len(self)) if ca.depends_on(values, self._x[i])]
        if seen:
            self.following[part] = tuple(seen), Following.of(places, self._x[seen], values)

    def __getstate__(self):
        formulas = ca.Function("entries", [self._x], [ca.vertcat(ca.SX(0, 1), *self._entries.values())])
        return {**vars(self), "_x": formulas, "_entries": list(self._entries)}  # CasADi sends functions alone elsewhere

    def __setstate__(self, state):
        vars(self).update(state)
        self._x = ca.SX.sym("x", len(self._names)) if self._names else NOTHING
        self._entries = dict(zip(state["_entries"], ca.vertsplit(state["_x"](self._x)) if state["_entries"] else [],
                                 strict=True))

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    @property
    def form(self):
        """What tells these formulas apart, hashable."""
        return tuple(self._names), tuple(self.following.items())

    def of(self, name):
        """The parts of which some parameters follow from a number."""
        number = self._names.index(name)
        return [part for part, (seen, _) in self.following.items() if number in seen]

    def at(self, values):
        """Part -> place in its parameters -> expression, of values of the numbers in their order."""
        x = ca.vertcat(ca.SX(0, 1), *values)
        return {part: following(x[list(seen)]) for part, (seen, following) in self.following.items()}

    @property
    def by_place(self):
        """Parts of which a number is meant by its place in `own_parameters`."""
        return [entry[0] for entry in self._entries if _is_place(entry)]

    def changes(self, values):
        """What `with_other_numbers` takes for values of the numbers; without places in `own_parameters`."""
        named = {entry: formula for entry, formula in self._entries.items() if not _is_place(entry)}
        function = ca.Function("changes", [self._x], [ca.vertcat(ca.SX(0, 1), *named.values())])
        return dict(zip(named, np.array(function(values)).ravel().tolist(), strict=True))

    def _check(self, system):
        """Compare formulas with the parameters of systems with other numbers."""
        function = ca.Function("parameters", [self._x], [
            ca.vertcat(ca.SX(0, 1), *(x for own in self.at(ca.vertsplit(self._x)).values() for x in own.values()))])
        fault, systems = None, None
        for steps in TRIED:
            rng = np.random.default_rng(0)
            tried = [self.values + rng.uniform(0.5, 1, len(self)) * np.where(self.values, step * self.values, abs(step))
                     for step in steps]
            try:
                systems = [other_numbers.with_other_numbers(system, self.changes(x)) for x in tried]
                break
            except InputError as error:  # for instance an inertia that no body has
                fault = fault or error
        if systems is None:
            raise fault
        for x, other in zip(tried, systems, strict=True):
            values = iter(np.array(function(x)).ravel().tolist())
            for part, own in zip(system.parts, other.parts, strict=True):
                wanted, is_known = own.parameters, part.parameters.copy()
                for place in self.following[part][1].places if part in self.following else ():
                    is_known[place] = next(values)
                if part not in self.by_place and not part.sources and \
                        np.abs(wanted - is_known).max(initial=0.0) > SAME * np.abs(wanted).max(initial=0.0):
                    raise InputError(f"{' and '.join(self._names)} enter {system.label(part)} in a way that is not "
                                     "known for unknown numbers")


def _is_place(entry):
    return isinstance(entry, tuple) and isinstance(entry[1], int)


def present_value(system, entry):
    """The value of a number as it is.

    Raises
    ------
    InputError
        When there is none.
    """
    if _is_place(entry):
        part, place = entry
        if getattr(part, "is_body", True) or isinstance(place, bool) or not 0 <= place < len(part.own_parameters):
            raise InputError(f"{system.label(part)} has no number {place!r}")
        return float(part.own_parameters[place])
    part, attribute, *steps = other_numbers.meant(system, entry)[0]
    part = getattr(part, "part", part)
    try:
        value = inside(getattr(part, attribute), symmetric(attribute, steps))
    except (LookupError, TypeError, AttributeError):
        value = None
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        what = entry.rpartition(".")[2] if isinstance(entry, str) else entry[1]
        raise InputError(f"{system.label(part)} has no number {what!r} that can be unknown; of several numbers name "
                         f"one, such as '{what}[0]'")
    return float(value)


# ---- parameters of all parts as formulas

def _traced(system, entries, unknown, present):
    """Part -> its parameters as SX, of those on which entries have an influence."""
    values, own, of_composites = {}, {}, {}
    for entry, x in entries.items():
        if _is_place(entry):
            own.setdefault(entry[0], {})[entry[1]] = x
            continue
        for part, attribute, *steps in other_numbers.meant(system, entry):
            if part in system.composites:
                of_composites.setdefault(part, {})[(attribute, *steps)] = Traced(x, present[entry])
                continue
            if part.owner is not None or part.helper:
                raise InputError(f"{system.label(part)} and what belongs to it are made together; their numbers cannot "
                                 "be unknown")
            _check_alone(system, part, attribute)
            given = values.setdefault(part, {})
            now = given.get(attribute, getattr(part, attribute))
            given[attribute] = put(now, symmetric(attribute, steps), Traced(x, present[entry]))
    changed = StandIns({part: _formed(system, part, partial(part.in_symbols, given)) for part, given in values.items()})
    elements = {}
    for composite, given in of_composites.items():
        nodes, own_elements = affine_members(system.label(composite), composite, given)
        changed |= {node: _formed(system, node, partial(node.in_symbols, made)) for node, made in nodes.items()}
        elements |= own_elements
    numbers = {part: _own(system, part, changed) for part in system.parts} | elements
    for part, given in own.items():
        numbers[part] = numbers[part].astype(object)
        for place, x in given.items():
            numbers[part][place] = Traced(x)
    for part in system.parts:
        if part.sources:  # a cost of numbers of other parts, and of unknown ones
            own = [numbers[source[0]][source[1]] if not isinstance(source, str) else
                   Traced(unknown[source]) if source in unknown else value
                   for source, value in zip(part.sources, part.own_parameters, strict=True)]
            numbers[part] = np.array(own)
    found = {}
    for part in system.parts:
        of_bodies = [] if part.is_body else [
            changed.get(b, b).own_parameters if b.carrier is not None else numbers[b] if b in numbers else
            b.own_parameters for b in part.bodies]
        parameters = np.concatenate([numbers[part], *of_bodies])
        if is_traced(parameters):
            found[part] = as_symbols(parameters)
    return found


def _own(system, part, changed):
    """Own parameters of a part, traced where they follow from what changes."""
    other, on_changed = changed.get(part, part), not part.is_body and any(body in changed for body in part.bodies)
    joint = changed.get(getattr(part, "joint", None))
    if joint is not None and not joint.is_body:  # the axes of its coordinate
        other = other.same_part()
        other.bound = joint.made_anew().bound(part.coordinate)
    if other is part and not (on_changed and part.fields and
                              np.array_equal(part.own_parameters, part.declared_numbers())):
        return part.own_parameters
    if on_changed:
        other = other.same_part()
        vars(other)["bodies"] = tuple(changed.get(b, b) for b in part.bodies)
    return _formed(system, part, other.declared_numbers)


def _formed(system, part, make):
    try:
        return make()
    except (TypeError, ValueError, AttributeError, InputError):
        raise InputError(f"{system.label(part)}: it is not known how its formulas follow from what is unknown; take "
                         "another number of it") from None


def _enters(joint, attribute, coordinate):
    """Whether a coordinate of a joint, which other parts have numbers of, depends on an attribute."""
    value = getattr(joint, attribute)
    try:
        other = joint.changed({attribute: np.asarray(value, float) + np.array([0.05, 0.03, 0.02])})
        return not np.array_equal(other.bound(coordinate.name).coordinate.numbers, coordinate.numbers)
    except (InputError, TypeError, ValueError, AttributeError):
        return True


def _check_alone(system, part, attribute):
    """Refuse numbers that enter other parts in ways that nothing follows."""
    coupled = [p for p in system.parts if p.couples_inertia and part in p.carriers]
    along = [p for p in system.parts if getattr(getattr(p, "bound", None), "owner", None) is part and p is not part
             and not p.helper and not (isinstance(p, JointPart) and len(p.members) == 1)
             and _enters(part, attribute, p.bound.coordinate)]
    if coupled or along or attribute in part.settled:
        other = system.label((coupled or along or [part])[0])
        raise InputError(f"{system.label(part)}: {attribute} cannot be unknown, for it enters {other} as well")
