"""The same system with other numbers of its parts, masses, loads, weights of costs, gravity; and with other parts,
which refer to the new ones and follow them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np

from ...errors import InputError, known_names
from ...memory import Late
from ..bodies.tree.structure import TURNING
from ..body_frame import is_on_tree, seen_by
from ..catalogue import arguments, made
from ..composites.section import RopeSection, Section
from ..declared.declared import Declared, worked_out
from ..parts import regrouped, seeing
from .arguments import Arguments, number_at, own_parameters, put, symmetric, unchecked
from .names import resolve

compiler = Late("timefem.mechanics.bodies.tree.compile")  # of trees, which many systems do not have

SHARED = "redundant", "n_q", "n_z", "n_constraints", "n_multipliers", "n_nonholonomic"  # with other numbers
COUNTING = "counter", "counting"  # of a coordinate, made when first asked for


def with_numbers(system, changes):
    """See `System.with_numbers`."""
    whole = system.complete or system
    entries, given = _entries(whole, changes)
    known = whole.structure.__dict__.setdefault("_known_references", {})
    other = rebuilt(whole, with_records(whole.parts, _changed_parts(whole, entries, given), known=known))
    if system.complete is None:
        return other
    kept = {part: part.kept_reactions for part in system.parts}
    changed = {part: seeing(part, kept.get(part)) for part in other.parts}
    reduced = rebuilt(system, with_records(system.parts, changed, made=True))
    reduced.complete, reduced.kept, reduced.dropped = other, system.kept, system.dropped
    return reduced


def check_names(system, changes):
    """Refuse changes by the names of numbers, whatever the values."""
    system = system.complete or system
    for part, entries in _entries(system, changes)[0].items():
        _values(system, part, [(*path, _present(part, *path, value), name) for *path, value, name in entries])


def _entries(system, changes):
    """Part -> its new numbers as (attribute, steps, value, name), and place of a number -> its name and value."""
    if not isinstance(changes, dict):
        raise InputError(f"parameters must be a dict from names such as 'rod.mass' to values, not {changes!r}")
    entries, given = {}, {}
    for name, value in changes.items():
        for part, attribute, *inner in resolve(system, name):
            _check_once(system, given, (part, attribute, *inner), (name, value))
            entries.setdefault(part, []).append((attribute, inner, value, name))
    return entries, given


def _values(system, part, entries):
    """Attribute -> value with the new numbers."""
    own = {}
    with _about(system, part):
        for attribute, inner, value, name in entries:
            own[attribute] = _replaced(part, attribute, inner, own.get(attribute), value, name)
    return own


def _check_once(system, given, place, named):
    """Refuse a number that is given twice, itself and inside of another."""
    for other in given:
        if place[0] is other[0] and all(a == b for a, b in zip(place[1:], other[1:], strict=False)):
            raise InputError(f"parameters: {_spoken(system, named[0])} and {_spoken(system, given[other][0])} are the "
                             "same number, or one inside of the other; give one of them")
    given[place] = named


def _spoken(system, name):
    return repr(f"{system.label(name[0])}.{name[1]}" if isinstance(name, tuple) else name)


def _present(part, attribute, steps, otherwise):
    """The number as it is; where there is none `otherwise`, which `_replaced` refuses."""
    try:
        return number_at(getattr(part, "part", part), attribute, *steps)
    except (LookupError, TypeError, AttributeError):
        return otherwise


def _replaced(part, attribute, steps, present, value, name):
    """The value of an attribute with what the steps lead to replaced; `present` is one that was changed before."""
    part = getattr(part, "part", part)
    present = getattr(part, attribute) if present is None else present
    if not steps:
        return value
    try:
        if isinstance(steps[0], int | tuple):
            inner = value if len(steps) == 1 else _inside(present[steps[0]], steps[1:], value)
            return put(present, symmetric(attribute, steps[:1]), inner)
        return _inside(present, steps, value)
    except (IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        what, found = _as_far_as_there_is(attribute, present, steps)
        raise InputError(f"parameters: there is no entry {name!r}: {what} is {_on_a_line(found)}") from None


def _as_far_as_there_is(name, present, steps):
    """The last thing on the way of steps into an argument, with its name."""
    for step in steps:
        try:
            present = getattr(present, step) if isinstance(step, str) else present[step]
        except (AttributeError, LookupError, TypeError):
            break
        name = step if isinstance(step, str) else getattr(present, "name", f"{name}[{step}]")
    return name, present


def _on_a_line(value):
    return " ".join(repr(value).split())


def _inside(function, steps, value):
    """A function of time, a link or a joint of a tree, with another number inside."""
    leaf, *index = steps
    fields = [f.name for f in dataclasses.fields(function)]
    if leaf not in fields:
        raise InputError(f"parameters: a {type(function).__name__} has no number {leaf!r}"
                         + known_names(str(leaf), getattr(function, "varied", fields)))
    if index:
        entries = np.array(getattr(function, leaf), float)
        if len(index) > 1:
            raise IndexError(index)
        i, j = index[0] if isinstance(index[0], tuple) else (index[0], index[0])
        if entries.ndim == 2 and leaf != "orientation":  # of a symmetric matrix
            entries[i, j] = entries[j, i] = value
        elif entries.ndim == 2:
            entries[i, j] = value
        else:
            entries[index[0]] = value
        value = tuple(entries.tolist()) if isinstance(getattr(function, leaf), tuple) else entries
    if isinstance(function, Section | RopeSection) or (index and leaf in TURNING):  # checked with all changes
        return unchecked(function, **{leaf: value})
    return dataclasses.replace(function, **{leaf: value})


# ---- parts

def _changed_parts(system, entries, given):
    """Part -> the one with other numbers of its own, and those that it brings along.

    Composite parts come first: what is given for a member holds whatever they make of it, also later on.
    """
    found, present = {}, {part: part for part in system.parts}
    for part in sorted(entries, key=lambda part: part not in system.composites):
        made_anew = part in system.composites
        now = found.get(part, part)
        other = _with_entries(system, now, entries[part])
        found[part] = other
        before, after = now.members, other.members
        alike = len(before) == len(after) and (not before or before[-1].kind == after[-1].kind)
        for old, new in zip(before, after, strict=False):
            if new != part and alike and (new != old or made_anew):
                vars(new)["key"] = old.key
                kept = vars(present.get(old, old)).get("given_numbers") if made_anew else None
                found[old] = new = _with_entries(system, new, kept) if kept else new
                alike = old.kind == new.kind
        if not alike:
            cannot = [f"{_spoken(system, name)} cannot become {_on_a_line(value)}"
                      for place, (name, value) in given.items() if place[0] == part]
            raise InputError(f"parameters: {', '.join(cannot)}: its formulas would change; prepare a solver of "
                             "that system")
    for tree in system.parts:
        motors = [motor for _, motor in getattr(tree, "rotors", ())]
        if any(motor in entries for motor in motors):
            own = found.get(tree, tree)
            found[tree] = geared(own, [(name, found.get(motor, motor)) for name, motor in tree.rotors])
    return found


def _with_entries(system, part, entries):
    """The part with other numbers; a member of a composite part remembers them in `given_numbers`."""
    own = _values(system, part, entries)
    with _about(system, part):
        other = _made_with(system, part, own)
    if part.owner is not None:
        paths = [(attribute, *steps) for attribute, steps, *_ in entries]
        earlier = [entry for entry in vars(part).get("given_numbers", ())
                   if not any((entry[0], *entry[1])[:len(path)] == path for path in paths)]
        vars(other)["given_numbers"] = (*earlier, *entries)
    return other


def _made_with(system, part, own):
    """The part with other values of attributes."""
    if part not in system.composites:
        if hasattr(part, "links") and "joints" in own:
            own["joints"] = [dataclasses.replace(joint) for joint in own["joints"]]
        return part.changed(own)
    own = {name: dataclasses.replace(value) if dataclasses.is_dataclass(value) else value
           for name, value in own.items()}
    bodies = [getattr(part, name) for name, field in part.fields.items() if field.is_body]
    other = made(type(part), bodies, {name: getattr(part, name) for name in arguments(part)} | own, part.key)
    for member in other.members:
        member.owner = other
    return other


@contextmanager
def _about(system, part):
    """Name the part in what is reported about a number that it cannot have."""
    try:
        yield
    except InputError as error:
        label = system.label(part)
        if re.search(rf"\b{re.escape(label)}\b", str(error)):
            raise
        raise InputError(f"{label}: {error}") from None


def rebuilt(system, changed):
    """The system with parts that have other numbers, and those that refer to them: a dict from part to part."""
    changed = StandIns(changed)
    other, parts = object.__new__(type(system)), [changed.get(part, part) for part in system.parts]
    own = vars(system)
    vars(other).update({name: own[name] for name in SHARED if name in own})
    other._take_parts(parts)
    other.groups = regrouped(system.groups, changed)
    other._original = system.structure
    stood = {old: changed.get(part, part) for old, part in system.stands_for.items()}
    other.stands_for = StandIns(stood | changed)
    return other


# ---- other parts

def made_of(system, parts):
    """A system of parts of a system and others, in which the same parts stand for others as there."""
    other = system._class_of_parts(list(parts), redundant=system.redundant)
    other.stands_for = StandIns(system.stands_for)
    return other


def extended(system, parts):
    """The system with the parts that it does not have yet, on what stands for their bodies, joints and drives."""
    stands_for, present = StandIns(system.stands_for), {part: part for part in system.parts}
    further = [part for part in parts if stands_for.get(part, part) not in present]
    if any(is_on_tree(own) for own in stands_for.values()):
        compiler.move_to_trees(further, stands_for)
    stands_for.update(with_records(further, present | stands_for, made=True))
    other = made_of(system, [*system.parts, *(stands_for.get(part, part) for part in further)])
    other.stands_for = stands_for
    return other


# ---- what refers to parts that change refers to the new ones, and follows them

def with_records(parts: Iterable[Any], changed: Mapping[Any, Any], made: bool = False,
                 known: dict[str, Any] | None = None) -> dict[Any, Any]:
    """Records of the parts that differ when some are replaced.

    Parameters
    ----------
    parts : iterable of Part
    changed : dict
        Part -> what takes its place: the same part with other numbers, or another one of the same form.
    made : bool
        Whether these refer to each other already.
    known : dict, optional
        What is found out of references and formulas, the same for parts that differ in numbers only; filled in.

    Returns
    -------
    dict
        The changed ones, and those that refer to them: with their references, and with the own parameters that follow.
    """
    return _Records(parts, changed, made, known).all()


def sees(part: Any) -> set:
    """The parts of whose arguments the parameters of a part are formulas."""
    seen = {part}

    def of(other):
        seen.add(other)
        return Arguments(other, {}, of, symbolic=False)
    own_parameters(part, of(part))
    return seen


def references(thing: Any) -> Iterator[Any]:
    """The parts that a part, an output or a coordinate of a joint refers to."""
    for name, value in vars(thing).items():
        if name == "_bound" or name not in worked_out(type(thing)):
            yield from _parts_in(value)


def _parts_in(value):
    if isinstance(value, Declared):
        yield value
    elif _refers(value):
        yield from references(value)
        yield from _parts_in([vars(value)[name] for name in COUNTING if name in vars(value)])
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _parts_in(one)
    elif isinstance(value, dict) and value and _refers(next(iter(value.values()))):
        yield from _parts_in(tuple(value.values()))


def _refers(value):
    """Whether it is not a part, and refers to some: a coordinate of a joint, or an output."""
    return getattr(type(value), "refers_to_parts", False)


class _Records:
    def __init__(self, parts, changed, made, known):
        self.parts, self.changed, self.made = list(parts), dict(changed), made
        self.found, self.bounds, known = {}, {}, {} if known is None else known
        self.seen = known.setdefault("seen", {})
        self.affected = self._reached({} if made else known.setdefault("users", {}))

    def all(self):
        for part in (*self.changed, *self.parts) if self.made else self.parts:
            self.of(part)
        for part, other in self.found.items():
            if "own_parameters" not in vars(other) or other.numbers_found or (self.made and part in self.changed):
                continue
            if part not in self.seen:
                self.seen[part] = sees(other)
            if any(one in self.changed for one in self.seen[part] if one != part or part not in self.changed):
                other.own_parameters = other.declared_numbers()
        return self.found

    def _reached(self, users):
        """The parts that refer to what changed; `users` tells which refer to each, where that is known."""
        if not users:
            seen, stack = set(self.parts), list(self.parts)
            while stack:
                part = stack.pop()
                for other in references(part):
                    if self.made and self.changed.get(other) is other:
                        continue
                    users.setdefault(other, []).append(part)
                    if other not in seen:
                        seen.add(other)
                        stack.append(other)
        found, stack = set(), list(self.changed)
        while stack:
            part = stack.pop()
            if part not in found:
                found.add(part)
                stack += users.get(part, ())
        return found

    def of(self, part):
        """The record of a part that takes its place."""
        if part in self.found:
            return self.found[part]
        if is_on_tree(part) and part not in self.changed:
            other = seen_by(part, self.of)
            if other is not part:
                self.found[part] = other
            return other
        if part not in self.affected:
            return part
        base = self.changed.get(part, part)
        if self.made and part in self.changed:
            self.found[part] = base
            return base
        other = self.found[part] = copy(base)
        own = vars(other)
        own["key"] = base.key
        for name in worked_out(type(base)) & own.keys():
            del own[name]
        replaced = "elements" in own and part not in self.changed and any(m in self.changed for m in part.members)
        for name, value in list(own.items()):
            if not (replaced and name in ("nodes", "elements")):  # a composite part is made of what it declares
                own[name] = self._in_place_of(value)
        if "_bound" in vars(part):  # so that turns are counted by the same coordinates
            own["_bound"] = {name: self._bound(bound) for name, bound in vars(part)["_bound"].items()}
        return other

    def _differs(self, part):
        return part in self.affected or (is_on_tree(part) and part.body in self.affected)

    def _in_place_of(self, value):
        if isinstance(value, Declared):
            return self.of(value)
        if _refers(value) and hasattr(value, "coordinate"):
            return self._bound(value)
        if _refers(value) and any(self._differs(part) for part in references(value)):
            other = copy(value)
            vars(other).update({name: self._in_place_of(own) for name, own in vars(value).items()})
            return other
        if isinstance(value, tuple | list):
            found = [self._in_place_of(one) for one in value]
            if any(a is not b for a, b in zip(found, value, strict=True)):
                return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
        if isinstance(value, dict) and value and isinstance(next(iter(value)), Declared):
            return {self.of(part): one for part, one in value.items()}
        return value

    def _bound(self, bound):
        if id(bound) in self.bounds:
            return self.bounds[id(bound)][0]
        if not any(self._differs(part) for part in (bound.owner, *bound.bodies)):
            return bound
        other = copy(bound)
        for name in worked_out(type(bound)) & vars(other).keys():
            del vars(other)[name]
        self.bounds[id(bound)] = other, bound
        other.owner, other.bodies = self.of(bound.owner), tuple(map(self.of, bound.bodies))
        numbers = other.numbers_of_owner(other)
        if not np.array_equal(numbers, bound.coordinate.numbers):
            other.coordinate = copy(bound.coordinate)
            object.__setattr__(other.coordinate, "numbers", numbers)
        for name in COUNTING:
            if name in vars(bound):
                vars(other)[name] = self._in_place_of(vars(bound)[name])
        return other


# ---- parts that stand for others: of a system with other numbers, or whose trees carry the rotors of motors

class StandIns(dict):
    """Part -> the one that stands for it; of links and joints of a tree those of the tree that stands for it."""

    def get(self, part, default=None):
        """What stands for a part."""
        if part in self:
            return self[part]
        return seen_by(part, self.__getitem__) if is_on_tree(part) and part.body in self else default


def geared(tree, rotors):
    """The tree with rotors of motors as inertia of its joints: pairs of the name of a joint and a motor."""
    other = tree.same_part()
    vars(other)["rotors"] = tuple(rotors)
    return other.changed({})


def with_rotors(parts):
    """The parts with the rotors of motors on joints of trees as inertia of these joints.

    Returns
    -------
    parts : list of Part
    stands_for : StandIns
    """
    rotors, changed = {part: [] for part in parts if hasattr(part, "rotors")}, StandIns()
    for part in parts:
        if getattr(part, "on_tree", False) and part.rotor_inertia and part.joint.body in rotors:  # a motor
            rotors[part.joint.body].append((part.joint.address[1], part))
    for tree, own in rotors.items():
        if len(own) != len(tree.rotors) or any(a is not b for (_, a), (_, b) in zip(own, tree.rotors, strict=True)):
            changed[tree] = geared(tree, own)
    if changed:
        changed.update(with_records(parts, changed))
    return [changed.get(part, part) for part in parts], changed
