"""The same system with other numbers of its parts, masses, loads, weights of costs, gravity; and with other parts,
which refer to the new ones and follow them."""

from __future__ import annotations

import dataclasses
import re
from contextlib import contextmanager

import numpy as np

from ...errors import InputError, known_names
from ...memory import Late
from ..bodies.tree.structure import TURNING
from ..body_frame import is_on_tree
from ..catalogue import arguments, made
from ..composites.section import RopeSection, Section
from ..parts import seeing
from .arguments import number_at, put, symmetric, unchecked
from .names import resolve
from .records import StandIns, geared, made_of, rebuilt, with_others, with_records

compiler = Late("timefem.mechanics.bodies.tree.compile")  # of trees, which many systems do not have


class OtherFormulas(InputError):
    """A number, such as the place of a joint of a tree, that the formulas of a part have in themselves."""


def with_numbers(system, changes):
    """See `System.with_numbers`."""
    return freed_with_numbers(system, changes)[1]


def freed_with_numbers(system, changes):
    """The system whose formulas take all these numbers as parameters, the given one where its do so already; and the
    one with the changes."""
    try:
        return system, _with_own_numbers(system, changes)
    except OtherFormulas:
        freed = system if system.complete is not None else with_free_numbers(system, changes)
        if freed is system:
            raise
        return freed, _with_own_numbers(freed, changes)


def _with_own_numbers(system, changes):
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
        return number_at(part.whole, attribute, *steps)
    except (LookupError, TypeError, AttributeError):
        return otherwise


def _replaced(part, attribute, steps, present, value, name):
    """The value of an attribute with what the steps lead to replaced; `present` is one that was changed before."""
    part = part.whole
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
            raise OtherFormulas(f"parameters: {', '.join(cannot)}: its formulas would change; prepare a solver of "
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


# ---- numbers that formulas have in themselves

def with_free_numbers(system, entries):
    """The system whose parts take numbers in their formulas as parameters, be they zero or places of joints of trees.

    Parameters
    ----------
    system : System
    entries : iterable
        Names that `System.with_numbers` takes.

    Returns
    -------
    System
        The given one where its parts do so already.
    """
    free = {}
    for entry in entries:
        for part, attribute, *steps in [] if isinstance(entry, tuple) and isinstance(entry[-1], int) else \
                resolve(system, entry):
            paths = _single(part, (attribute, *steps)) if may_be_free(part) else ()
            if shaping := [path for path in paths if part.is_shaped_by(path)]:
                free.setdefault(part, []).extend(shaping)
    return with_freed(system, free)


def _single(part, path):
    """The paths of the single numbers of an array, or of the number itself."""
    try:
        shape = np.shape(number_at(part.whole, *path))
    except (LookupError, TypeError, AttributeError):
        shape = ()
    return [(*path, place if len(shape) > 1 else place[0]) for place in np.ndindex(shape)] if shape else [path]


def may_be_free(part):
    """Whether numbers that its formulas lack can be parameters of them: not of what a composite part makes."""
    return part.free is not None and part.owner is None


def with_freed(system, free):
    """The same by dicts from parts to paths."""
    return with_others(system, {part: part.changed({}, free=[*part.free, *paths]) for part, paths in free.items()})


# ---- other parts

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
