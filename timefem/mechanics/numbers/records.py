"""Parts with other numbers: what refers to them, directly or by others, refers to the new ones and follows them; and
systems of such parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np

from ..body_frame import is_on_tree, seen_by
from ..declared.declared import Declared, worked_out
from ..parts import regrouped
from .arguments import Arguments, own_parameters

COUNTING = "counter", "counting"  # of a coordinate, made when first asked for
SHARED = "redundant", "n_q", "n_z", "n_constraints", "n_multipliers", "n_nonholonomic"  # with other numbers


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


def with_hearing(parts):
    """The parts with controllers that know which forces and rates see the controls that they set.

    Returns
    -------
    parts : list of Part
    stands_for : StandIns
    """
    changed = StandIns()
    for part in parts:
        if hasattr(part, "heard_by") and (other := part.heard_by(parts)) is not part:
            changed[part] = other
    return [changed.get(part, part) for part in parts], changed


# ---- systems of other parts

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


def made_of(system, parts):
    """A system of parts of a system and others, in which the same parts stand for others as there."""
    other = system._class_of_parts(list(parts), redundant=system.redundant)
    other.stands_for = StandIns(system.stands_for)
    return other


def with_others(system, others):
    """The system with parts that others stand for, and what stands on them."""
    if not others:
        return system
    changed = StandIns(with_records(system.parts, others))
    other = made_of(system, [changed.get(part, part) for part in system.parts])
    other.stands_for = StandIns({old: changed.get(part, part) for old, part in system.stands_for.items()} | changed)
    return other
