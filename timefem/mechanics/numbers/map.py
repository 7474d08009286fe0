"""Parameters of all parts of a system as formulas of the numbers that parts declare; and unknown numbers, which a
problem is to find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...memory import Late
from ...records import frozen
from ..formulas.stored import StoredFormula
from .arguments import Arguments, is_symbolic, number_at, own_parameters, put, symmetric
from .changes import check_names
from .names import resolve
from .records import sees, with_others

if TYPE_CHECKING:
    from ..part import Part
    from ..system import System

NONE: Mapping = MappingProxyType({})
Entry = tuple  # a part or composite part, one of its arguments, and steps into that, see `put`
NOTHING = ca.SX.sym("x", 0)


class NumberMap:
    """From arguments of the parts of a system, and of what they refer to, to the parameters of their formulas.

    An entry is (part, argument, *steps into it), see `timefem.mechanics.numbers.arguments.put`.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._records = {part: part for part in (*system.parts, *system.composites)}

    def values(self, given: Mapping[Entry, float]) -> dict[Part, np.ndarray]:
        """Own parameters of the parts that see some entries, with other numbers of these, unchecked."""
        changed = self._with_members(self._changed(given))
        return {part: own_parameters(part, self._arguments(part, changed, symbolic=False))
                for part in self.seeing(changed)}

    def expressions(self, unknown: Mapping[Entry, ca.SX], own: Mapping[Part, Mapping[int, ca.SX]] = NONE,
                    names: Mapping[str, ca.SX] = NONE) -> dict[Part, ca.SX]:
        """Own parameters of the parts that follow from unknown numbers.

        Parameters
        ----------
        unknown : dict
            Entry -> expression.
        own : dict
            Part -> place in its own parameters -> expression, of numbers that are meant by their place.
        names : dict
            Name -> expression, of numbers that costs have by name.

        Returns
        -------
        dict
            Part -> SX (n_own,), of parts of which some depend on these.

        Raises
        ------
        InputError
            For numbers that shape the formulas.
        """
        for part, *path in unknown:
            if part.owner is not None or part.helper:
                raise InputError(f"{self.system.label(part)} and what belongs to it are made together; their numbers "
                                 "cannot be unknown")
            if part.is_shaped_by(path):
                raise InputError(f"{self.system.label(part)}: {spoken(part, path)} shapes the formulas where it is "
                                 f"{number_at(part, *path):g}; start from another value")
        given = self._with_members(self._changed(unknown)) | {
            part: {"own_parameters": _with_entries(part.own_parameters, places)} for part, places in own.items()}
        named = {part: {i: names[s] for i, s in enumerate(part.sources) if isinstance(s, str) and s in names}
                 for part in self.system.parts if part.sources} if names else {}
        symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(ca.vertcat(ca.SX(0, 1), *unknown.values(), *names.values(), *(
            x for places in own.values() for x in places.values()))))
        found, seeing = {}, self.seeing(given)
        if any(named.values()):
            seen = {*seeing, *(part for part, places in named.items() if places)}
            seeing = [part for part in self.system.parts if part in seen]
        for part in seeing:
            parameters = ca.SX(own_parameters(part, self._arguments(part, given)))
            for place, x in named.get(part, NONE).items():
                parameters[place] = x
            if ca.depends_on(parameters, symbols):
                found[part] = parameters
        return found

    def rotations(self, unknown: Mapping[Entry, ca.SX]) -> list[tuple[Part, ca.SX]]:
        """Rotation matrices of which entries are unknown, with the parts that have them."""
        found = []
        for part, values in self._changed(unknown).items():
            rows = values.get("joints", ())
            turned = [values.get("orientation"), *(getattr(row, "orientation", None) for row in rows)]
            found += [(part, x) for x in turned if isinstance(x, ca.SX) and x.shape == (3, 3)]
        return found

    def jacobian(self, entries: Iterable[Entry]) -> dict[Part, np.ndarray]:
        """Derivatives of own parameters by entries, part -> (n_own, n_entries); of parts of which some are not zero."""
        entries = list(entries)
        x = ca.SX.sym("x", len(entries))
        found = self.expressions(dict(zip(entries, ca.vertsplit(x), strict=True)))
        at = [number_at(*entry) for entry in entries]
        return {part: _at_numbers(ca.jacobian(own, x), x, at) for part, own in found.items()}

    def seeing(self, changed: Iterable[Any]) -> list[Part]:
        """Parts whose parameters are formulas of arguments of some parts."""
        return [self.system.parts[i] for i in sorted({i for part in changed for i in self._seen_by.get(part, ())})]

    @cached_property
    def _seen_by(self):
        """Part, joint or composite part -> numbers of the parts whose parameters are formulas of its arguments."""
        found: dict[Any, list] = {}
        for i, part in enumerate(self.system.parts):
            for other in set(map(self._present, sees(part))):
                found.setdefault(other, []).append(i)
        return found

    def _present(self, part):
        """The part as it is in the system."""
        return self._records[part] if part in self._records else self.system.here(part)

    def _arguments(self, part, given, symbolic=True):
        part = self._present(part)
        return Arguments(part, given.get(part, {}), lambda other: self._arguments(other, given, symbolic), symbolic)

    @staticmethod
    def _changed(given):
        """Part -> attribute -> value with some entries replaced."""
        found: dict[Any, dict] = {}
        for (part, name, *steps), x in given.items():
            values = found.setdefault(part, {})
            values[name] = put(values.get(name, getattr(part, name)), symmetric(name, steps), x)
        return found

    def _with_members(self, given):
        """The same with members of composite parts, and those of their attributes that are numbers."""
        found = dict(given)
        for composite in [part for part in given if part in self.system.composites]:
            try:
                made = composite.made_of(given[composite])
            except RuntimeError:  # of CasADi, for a decision by an expression
                raise InputError(f"{self.system.label(composite)}: {', '.join(given[composite])} shape its formulas, "
                                 "and cannot be unknown") from None
            for member, other in zip(composite.members, made, strict=True):
                found[member] = {name: value for name, value in vars(other).items() if name != "own_parameters" and (
                    is_symbolic(value) or isinstance(value, float | np.ndarray) or getattr(
                        member.fields.get(name), "varies", False))}
                self._keep_given(self.system.here(member), found[member])
        return found

    def _keep_given(self, member, values):
        """Numbers that were given for a member of a composite part stay, whatever that makes of it."""
        for name, steps, *_ in vars(member).get("given_numbers", ()):
            if not steps:
                values[name] = getattr(member, name)
            elif len(steps) == 1 and isinstance(steps[0], int | tuple) and name in values:
                number = number_at(member, name, *steps)
                values[name] = put(values[name], symmetric(name, steps), number)
            elif name in values:
                raise InputError(f"{self.system.label(member)}: {spoken(member, (name, *steps))} was given by itself, "
                                 "so that numbers of the composite part cannot be unknown; rebuild the part")


def spoken(part, path):
    """An argument and steps into it, as names of numbers are written."""
    text, value = "", part
    for step in path:
        value = getattr(value, step) if isinstance(step, str) else value[step]
        if isinstance(step, str):
            text += f".{step}"
        elif hasattr(value, "varied"):  # a link or joint of a tree
            text = f".{value.name}"
        else:
            text += f"[{step}]".replace("(", "").replace(")", "")
    return text[1:]


def _with_entries(values, places):
    found = ca.SX(values)
    for place, x in places.items():
        found[place] = x
    return found


def _at_numbers(matrix, x, at):
    """A sparse matrix of expressions of x there, as an array."""
    out = np.zeros(matrix.shape)
    out[matrix.sparsity().get_triplet()] = ca.Function("entries", [x], [matrix.nz[:]])(at).full().ravel()
    return out


@frozen
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
        What `System.with_numbers` takes as a name, or a pair of a joint or force and a place in its `own_parameters` ->
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
        found = self._parameters(source, unknown)
        for part, own in zip(system.parts, source.parts, strict=True):
            if own in found:
                self._take(part, found[own])

    def _parameters(self, system, unknown):
        """Part -> all of its parameters, SX, of those on which unknown numbers have an influence."""
        meant, own = {}, {}
        for entry, x in self._entries.items():
            if _is_place(entry):
                own.setdefault(entry[0], {})[entry[1]] = x
            else:
                meant |= dict.fromkeys(resolve(system, entry), x)
        numbers = NumberMap(system)
        self._check_rotations(system, numbers.rotations(meant))
        found = numbers.expressions(meant, own, unknown)
        whole = {}
        for part in system.parts:
            frames = [] if part.is_body else part.frames
            if part in found or any(frame.body in found for frame in frames):
                whole[part] = ca.vertcat(found.get(part, ca.SX(part.own_parameters)), *(
                    found[frame.body][list(frame.numbers_of_body)] if frame.body in found else
                    ca.SX(frame.own_parameters) for frame in frames))
        return whole

    def _check_rotations(self, system, rotations):
        """Refuse entries of rotation matrices that do not remain one as the unknown numbers change."""
        for part, matrix in rotations:
            change = ca.jacobian(matrix.T @ matrix, self._x)
            if np.abs(np.array(ca.Function("change", [self._x], [ca.densify(change)])(self.values))).max() > 1e-8:
                raise InputError(f"{system.label(part)}: orientation: with other unknown numbers the matrix is not a "
                                 "rotation; R^T R = I is needed, whatever they are")

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
        """What `System.with_numbers` takes for values of the numbers; without places in `own_parameters`."""
        named = {entry: formula for entry, formula in self._entries.items() if not _is_place(entry)}
        function = ca.Function("changes", [self._x], [ca.vertcat(ca.SX(0, 1), *named.values())])
        return dict(zip(named, np.array(function(values)).ravel().tolist(), strict=True))


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
    part, attribute, *steps = resolve(system, entry)[0]
    try:
        value = number_at(part.whole, attribute, *steps)
    except (LookupError, TypeError, AttributeError):
        value = None
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        check_names(system, {entry: np.nan})
        what = entry.rpartition(".")[2] if isinstance(entry, str) else entry[1]
        raise InputError(f"{system.label(part)} has no number {what!r} that can be unknown; of several numbers name "
                         f"one, such as '{what}[0]'")
    return float(value)


# ---- Numbers of bodies, joints and forces that a problem is to find

redundancy = Late("timefem.mechanics.states.redundancy")


def with_values(system, numbers, values):
    """The system with values of its unknown numbers.

    Parameters
    ----------
    system : System
    numbers : UnknownNumbers
        Of the system.
    values : dict
        By their names; with "duration" where it was unknown.
    """
    length, values = values.get("duration"), [values[name] for name in numbers]
    changes, fits = numbers.changes(values), True
    try:
        other = system.with_numbers(changes)
    except InputError as error:
        if any(part.is_body for part in numbers.following):
            found = ", ".join(f"{entry if isinstance(entry, str) else f'{system.label(entry[0])}.{entry[1]}'} = "
                              f"{value:.6g}" for entry, value in changes.items())
            raise InputError(f"no body can have the numbers found, {found} ({error}); give bounds, or another guess") \
                from error
        other, fits = system, False  # with a number that a part would not be made with, such as a negative damping
    source, others, found = other.complete or other, {}, numbers.at(values)
    for part, own in zip(system.parts, source.parts, strict=True):
        if not own.is_body and (part.sources or (part in found and (not fits or part in numbers.by_place))):
            numbers = with_duration(own, length).own_parameters.copy()
            for place, value in found.get(part, {}).items():
                if place < len(numbers):  # places may differ
                    numbers[place] = float(value)
            others[own] = own.with_own_parameters(numbers)
            others[own].sources = ()
    others |= {part: part.changed({}, free=()) for part in source.parts if part.free}
    if not others:
        return other
    changed = with_others(source, others)
    return redundancy.keep_constraints(changed, system.kept) if system.complete is not None else changed


def with_duration(part, length):
    """The part with another length of the time span [s], where its formulas see that."""
    numbers = part.own_parameters.copy()
    numbers[list(part.durations)] = length
    return part.with_own_parameters(numbers) if part.durations else part


def with_constants(part, seen, following):
    """The same part with some of its parameters taken from the constants of the element.

    Parameters
    ----------
    part : Part
    seen : tuple of int
        Numbers of the constants.
    following : Following
        How the parameters follow from them.
    """
    other = part.same_part()
    other.name = part.name
    other.seen_constants, other.unknown_numbers = seen, following
    other.__class__ = _with_unknowns(type(part))
    return other


@cache
def _with_unknowns(cls):
    """The class with another kind, for its kernels differ."""
    return type(cls.__name__, (cls,), {
        "__module__": cls.__module__, "__qualname__": cls.__qualname__,
        "kind": property(lambda self: ("unknown numbers", self.unknown_numbers, cls.kind.__get__(self)))})
