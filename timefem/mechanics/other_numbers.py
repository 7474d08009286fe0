"""The same system with other numbers of its parts: masses, stiffnesses, loads, weights of costs, gravity."""

import dataclasses
import re
from contextlib import contextmanager

import numpy as np

from ..argument_names import did_you_mean
from ..errors import InputError
from .bodies.tree.entries import named_numbers, spelt_out
from .bodies.tree.links import TreeJoint
from .bodies.tree.numbers import TURNING
from .bodies.tree.tree import Tree
from .catalogue import made, stored
from .composites.beam.section import RopeSection, Section
from .forces.gravity import Gravity
from .part_groups import own_members, regrouped, with_helpers
from .redundancy.redundancy import keep_constraints
from .stand_ins import StandIns, moved_parts, with_rotors
from .system import System
from .traced import inside, symmetric, unchecked

GRAVITY = "gravity"
SHARED = ("redundant", "n_q", "n_z", "n_constraints", "n_multipliers", "n_nonholonomic",
          "velocities_solved", "couples_inertia")  # by systems that differ in numbers only
_STEP = re.compile(r"\.?(\w+)|\[(\d+)(?:,\s*(\d+))?\]")


def with_other_numbers(system, changes, names_only=False):
    """The system with other numbers; names, structure and formulas stay.

    Parameters
    ----------
    system : System
    changes : dict
        Name -> value. "PART.NAME" by the label of the part and as its constructor calls the number, with an entry
        `[i]` where it has several and with what is inside of a function of time after a dot: "rod.mass",
        "spring.point_a[2]", "load.time.amplitude"; "gravity" or "gravity[i]"; or a pair (part, "NAME[i]").
    names_only : bool
        Look at the names and not at the values, and leave the system as it is.

    Returns
    -------
    System
        Whose `stands_for` tells which of its parts stands for which of the given system. Functions that take a part
        take those of the given system, too.

    Raises
    ------
    InputError
        For unknown names, with the nearest one; for values that a part cannot have, or that change its formulas.
    """
    if not isinstance(changes, dict):
        raise InputError(f"parameters must be a dict from names such as 'rod.mass' to values, not {changes!r}")
    if system.complete is not None:
        other = with_other_numbers(system.complete, changes, names_only)
        if names_only:
            return system
        reduced = keep_constraints(other, system.kept)
        reduced.stands_for = StandIns(other.stands_for | dict(zip(system.parts, reduced.parts, strict=True)))
        reduced._original = system.structure
        return reduced
    values, given = {}, {}  # part -> attribute -> value; place of a number -> its name and value
    for name, value in changes.items():
        for part, attribute, *inner in meant(system, name):
            _check_once(system, given, (part, attribute, *inner), (name, value))
            value = _present(part, attribute, inner, value) if names_only else value
            own = values.setdefault(part, {})
            with _about(system, part):
                own[attribute] = _replaced(part, attribute, inner, own.get(attribute), value, name)
    return system if names_only else _rebuilt(system, _changed_parts(system, values, given))


def _check_once(system, given, place, named):
    """Refuse a number that is given twice, itself and inside of another."""
    for other in given:
        if place[0] is other[0] and all(a == b for a, b in zip(place[1:], other[1:], strict=False)):
            raise InputError(f"parameters: {_spoken(system, named[0])} and {_spoken(system, given[other][0])} are the "
                             "same number, or one inside of the other; give one of them")
    given[place] = named


def _spoken(system, name):
    return repr(f"{system.label(name[0])}.{name[1]}" if isinstance(name, tuple) else name)


def meant(system, name):
    """What a name of `with_other_numbers` means: list of (part, attribute, *steps into it), for gravity several."""
    known = system.__dict__.setdefault("_numbers_meant", {})  # for many changes of the same
    if name not in known:
        known[name] = [(part, *_steps(system, part, path, name)) for part, path in _targets(system, name)]
    return known[name]


def names_of_numbers(system):
    """Names that `with_other_numbers` takes, without entries, in the order of the parts."""
    names = [f"{system.label(part)}.{name}" for part in (*system.parts, *system.composites) if part.owner is None
             for name in (named_numbers(part) if isinstance(part, Tree) else _changeable(part))]
    return names + [GRAVITY] * any(isinstance(part, Gravity) for part in system.parts)


# ---- names

def _changeable(part):
    return getattr(part, "part", part).changeable


def _targets(system, name):
    """Parts, and what of them, that a name means: one, but for gravity."""
    if isinstance(name, tuple) and len(name) == 2:
        return [_spelt_out(*system.number_named(system.own(name[0]), str(name[1])))]
    if not isinstance(name, str):
        raise InputError(f"parameters: {name!r} is no name such as 'rod.mass', nor a pair (part, 'mass')")
    weights = [part for part in system.parts if isinstance(part, Gravity)]
    if re.fullmatch(r"gravity(\[\d+\])?", name) and weights:
        return [(part, name.replace(GRAVITY, "acceleration")) for part in weights]
    parts = {**system.replaced, **{system.label(part): part for part in (*system.parts, *system.composites)}}
    label = max((label for label in parts if name.startswith(label + ".")), key=len, default=None)
    if label is None:
        parts = [label for label, part in parts.items() if part.owner is None]
        head = name.partition(".")[0].partition("[")[0]
        near = did_you_mean(name, names_of_numbers(system)) or did_you_mean(head, parts)
        raise InputError(f"parameters: {name!r} names no part and what of it is meant, as in PART.NAME"
                         + (near or f"; there are {', '.join(parts[:12])}"))
    return [_spelt_out(*system.number_named(parts[label], name[len(label) + 1:]))]


def _spelt_out(part, path):
    """A part, and what of it; numbers of links and joints of a tree go by their names."""
    return part, spelt_out(part, path) if isinstance(part, Tree) else path


def _steps(system, part, path, name):
    """An attribute, and the steps into it: names of fields of functions of time, and indices."""
    steps, at = [], 0
    for match in _STEP.finditer(path):
        if match.start() != at:
            break
        word, first, second = match.groups()
        steps.append(word if word else int(first) if second is None else (int(first), int(second)))
        at = match.end()
    known = _changeable(part)
    if steps and steps[0] in getattr(part, "settled", ()) and steps[0] not in known:
        raise InputError(f"parameters: {system.label(part)} has no number {steps[0]!r} that can change, for the joint "
                         "of a tree carries its rotor; leave out rotor_inertia, and give the joint the armature "
                         "rotor_inertia gear^2")
    if at != len(path) or not steps or steps[0] not in known:
        near = did_you_mean(str(steps[0] if steps else path), known)
        raise InputError(f"parameters: {system.label(part)} has no number {path!r}"
                         + (near or f"; it has {', '.join(known) or 'none'}"))
    return known[steps[0]], *steps[1:]


def _present(part, attribute, steps, otherwise):
    """The number as it is; where there is none `otherwise`, which `_replaced` refuses."""
    try:
        return inside(getattr(getattr(part, "part", part), attribute), symmetric(attribute, steps))
    except (LookupError, TypeError, AttributeError):
        return otherwise


def _replaced(part, attribute, steps, present, value, name):
    """The value of an attribute with what the steps lead to replaced; `present` is one that was changed before."""
    part = getattr(part, "part", part)
    present = getattr(part, attribute) if present is None else present
    if not steps:
        return value
    try:
        if isinstance(steps[0], int | tuple) and len(steps) == 1:
            return part.with_entry(attribute, present, steps[0], value)
        if isinstance(steps[0], int):
            return part.with_entry(attribute, present, steps[0], _inside(present[steps[0]], steps[1:], value))
        return _inside(present, steps, value)
    except (IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"parameters: there is no entry {name!r}: {attribute} is {_on_a_line(present)}") from None


def _on_a_line(value):
    return " ".join(repr(value).split())


def _inside(function, steps, value):
    """A function of time, a link or a joint of a tree, with another number inside."""
    leaf, *index = steps
    fields = [f.name for f in dataclasses.fields(function)]
    if leaf not in fields:
        raise InputError(f"parameters: a {type(function).__name__} has no number {leaf!r}"
                         + (did_you_mean(str(leaf), fields) or f"; it has {', '.join(fields)}"))
    if index:
        entries = np.array(getattr(function, leaf), float)
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
    return function.changed(leaf, value) if isinstance(function, TreeJoint) else \
        dataclasses.replace(function, **{leaf: value})


# ---- parts

def _changed_parts(system, values, given):
    """Part -> the one that stands for it, of those whose own numbers change."""
    found = {}
    for part, own in values.items():
        with _about(system, part):
            other = _made_with(system, part, own)
        alike = len(part.members) == len(other.members)
        for before, after in _members(system, part, other):
            if not alike or before.kind != after.kind:
                cannot = [f"{_spoken(system, name)} cannot become {_on_a_line(value)}"
                          for place, (name, value) in given.items() if place[0] is part]
                raise InputError(f"parameters: {', '.join(cannot)}: its formulas would change; prepare a solver of "
                                 "that system")
            found[before] = after
    return found


def _made_with(system, part, own):
    """The part with other values of attributes."""
    if part not in system.composites:
        if isinstance(part, Tree) and "joints" in own:
            own["joints"] = [joint.turned_anew() for joint in own["joints"]]
        return part.changed(own)
    own = {name: dataclasses.replace(value) if dataclasses.is_dataclass(value) else value
           for name, value in own.items()}
    bodies = [getattr(part, name) for name, field in part.fields.items() if field.is_body]
    other = made(type(part), bodies, {name: getattr(part, name) for name in stored(part)} | own, part.key)
    for member in other.members:
        member.owner = other
    return other


@contextmanager
def _about(system, part):
    """Name the part in what is told of a number that it cannot have."""
    try:
        yield
    except InputError as error:
        label = system.label(part)
        if re.search(rf"\b{re.escape(label)}\b", str(error)):
            raise
        raise InputError(f"{label}: {error}") from None


def _members(system, part, other):
    """Pairs of a part, with what it brings along, as it is in the system, and of what stands for it."""
    if part.members == (part,) and len(other.members) == 1:
        return [(part, other)]
    own, new = own_members(system.parts, part.members), set(other.members)
    pairs = [pair for *pair, given in zip(own, other.members, part.members, strict=False) if pair[1] is not given]
    found = []
    for before, after in pairs:
        present = {a: b for a, b in zip(after.bodies, before.bodies, strict=False) if not (a is b or a in new)}
        found.append((before, after.moved_to(lambda body, at=present: at.get(body, body)) if present else after))
    return found


def _rebuilt(system, changed):
    """The system with parts that stand for others, and those on bodies that changed moved to what stands for them."""
    changed, numbers = StandIns(changed), StandIns(changed)
    for part in system.parts:
        present = changed.get(part, part)
        other = present.on_joints(lambda joint: numbers.get(system.stands_for.get(joint, joint), joint), system.parts)
        if other is not present:
            changed.update(_members(system, part, other))
    for part in system.parts:
        for body in part.bodies:
            if body is not part and body not in changed and body.carrier not in changed and any(
                    b in changed for b in body.carriers):
                raise InputError(f"parameters: {system.label(part)} acts on a point of what would change; prepare a "
                                 "solver of the changed system")
    moved_parts(system.parts, changed)
    other, parts = object.__new__(type(system)), [changed.get(part, part) for part in system.parts]
    if with_helpers(parts) == parts and not with_rotors(parts)[1]:
        own = vars(system)
        vars(other).update({name: own[name] for name in SHARED if name in own})
        other._take_parts(parts)
        other.groups = regrouped(system.groups, changed)
    else:
        System.__init__(other, parts, redundant=system.redundant)
    other._original = system.structure
    stood = {old: changed.get(part, part) for old, part in system.stands_for.items()}
    on_their_way = {part: changed[old] for old, part in numbers.items()}  # parts on joints know these
    other.stands_for = StandIns(stood | changed | on_their_way)
    return other
