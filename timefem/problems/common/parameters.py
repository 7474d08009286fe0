"""Unknown numbers of a problem: checked, and put in the place of the numbers of parts."""

from ...elements.augmented.constants import Carrier
from ...errors import InputError
from ...mechanics.stand_ins import StandIns, moved_parts
from ...mechanics.unknown_numbers import entering, with_constants


def checked_parameters(system, parameters, refused=()):
    """Places and present values of unknown numbers.

    Parameters
    ----------
    system : System
    parameters : dict
        Name -> (body, joint or force of the system, its number).
    refused : tuple of class
        Parts whose numbers cannot be asked for.

    Returns
    -------
    numbers : dict
        Name -> what follows from it: tuple of (part, place in its `parameters`, `Follows`).
    values : list of float

    Raises
    ------
    InputError
        For names, parts and numbers that do not fit.
    """
    if not isinstance(parameters, dict):
        raise InputError(f"parameters must be a dict from names to (part, number), not {parameters!r}")
    numbers, values, taken = {}, [], {}
    for name, entry in parameters.items():
        if not isinstance(name, str) or name == "duration":
            raise InputError(f"parameters: the name {name!r} cannot be used; give another text")
        if not isinstance(entry, tuple | list) or len(entry) != 2 or entry[0] not in system.parts \
                or isinstance(entry[0], refused):
            raise InputError(f"parameters[{name!r}] must be (body, joint or force of the system, its number), "
                             f"such as (spring, 'stiffness') or (body, 'mass'), not {entry!r}")
        places, value = entering(system, *entry)
        numbers[name] = tuple((part, place, follows) for part, own in places.items() for place, follows in own.items())
        for part, place, _ in numbers[name]:
            other = taken.setdefault((part, place), name)
            if other != name:
                raise InputError(f"parameters: {other} and {name} enter {system.label(part)} together; one of them "
                                 "can be unknown")
        values.append(value)
    return numbers, values


def own_parts(system, parameters):
    """Unknown numbers of the parts that stand for those given, in a system with other numbers."""
    return {name: (system.own(part), number) for name, (part, number) in (parameters or {}).items()}


def of_bodies(numbers):
    """Which of the unknown numbers are those of bodies, list of bool."""
    return [any(part.is_body for part, _, _ in places) for places in numbers.values()]


def by_part(numbers, values):
    """Parameters by unknown numbers, whose values are given in their order: part -> place -> value."""
    found = {}
    for places, value in zip(numbers.values(), values, strict=False):
        for part, place, follows in places:
            found.setdefault(part, {})[place] = follows(value)
    return found


def parts_with_unknowns(system, numbers, n, free_time):
    """The parts, those with unknown numbers taking them from n constants, and the `Carrier` of these.

    With `free_time` the first constant is the length of time.
    """
    constants = {}
    for number, places in enumerate(numbers.values(), int(free_time)):
        for part, place, follows in places:
            constants.setdefault(part, {})[place] = number, follows
    found = list(system.parts)
    for bodies in (True, False):  # other parts stand on bodies with unknowns, and see the actuators with them
        pairs = zip(system.parts, found, strict=True)
        changed = StandIns({now: with_constants(now, constants[part]) for part, now in pairs
                            if part in constants and part.is_body == bodies})
        moved_parts([part for part in found if not part.is_body], changed)
        found = [changed.get(part, part) for part in found]
    return [*found, Carrier(n)]
