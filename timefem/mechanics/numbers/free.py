"""Numbers of bodies, joints and forces that a problem is to find."""

from functools import cache

from ...errors import InputError
from ...late import Late
from ..bodies.tree.rotors import StandIns
from .names import resolve
from .records import with_records

redundancy = Late("timefem.mechanics.redundancy.redundancy")


def with_free_numbers(system, entries):
    """The system whose bodies take numbers in their formulas as parameters, be they zero or places of joints of trees.

    Parameters
    ----------
    system : System
    entries : iterable
        Names that `System.with_numbers` takes; of other parts they do not count.

    Returns
    -------
    System
        The given one where its bodies do so already.
    """
    free = {}
    for entry in entries:
        for part, attribute, *steps in [] if isinstance(entry, tuple) and isinstance(entry[-1], int) else \
                resolve(system, entry):
            if part.free is not None and part.is_shaped_by((attribute, *steps)):
                free.setdefault(part, []).append((attribute, *steps))
    return with_freed(system, free)


def with_freed(system, free):
    """The same by dicts from bodies to paths."""
    return _replaced(system, {body: body.changed({}, free=[*body.free, *paths]) for body, paths in free.items()})


def _replaced(system, others):
    """The system with parts that others stand for, and what stands on them."""
    if not others:
        return system
    changed = StandIns(with_records(system.parts, others))
    other = system.of_parts([changed.get(part, part) for part in system.parts])
    other.stands_for = StandIns({old: changed.get(part, part) for old, part in system.stands_for.items()} | changed)
    return other


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
    changed = _replaced(source, others)
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
