"""Unknown numbers of a problem: checked, and put in the place of the numbers of parts."""

from itertools import count

from ...elements.augmented.constants import Carrier
from ...errors import InputError
from ...mechanics.unknown_numbers import number_of, with_constants


def checked_parameters(system, parameters, refused=()):
    """Places and present values of unknown numbers.

    Parameters
    ----------
    system : System
    parameters : dict
        Name -> (joint or force of the system, its number).
    refused : tuple of class
        Parts whose numbers cannot be asked for.

    Returns
    -------
    numbers : dict
        Name -> (part, place in its `own_parameters`).
    values : list of float

    Raises
    ------
    InputError
        For names, parts and numbers that do not fit.
    """
    if not isinstance(parameters, dict):
        raise InputError(f"parameters must be a dict from names to (part, number), not {parameters!r}")
    numbers, values = {}, []
    for name, entry in parameters.items():
        if not isinstance(name, str) or name == "duration":
            raise InputError(f"parameters: the name {name!r} cannot be used; give another text")
        if not isinstance(entry, tuple | list) or len(entry) != 2 or entry[0] not in system.parts \
                or isinstance(entry[0], refused):
            raise InputError(f"parameters[{name!r}] must be (joint or force of the system, its number), such as "
                             f"(spring, 'stiffness'), not {entry!r}")
        place, value = number_of(*entry)
        numbers[name] = entry[0], place
        values.append(value)
    return numbers, values


def own_parts(system, parameters):
    """Unknown numbers of the parts that stand for those given, in a system with other numbers."""
    return {name: (system.own(part), number) for name, (part, number) in (parameters or {}).items()}


def by_part(numbers, values):
    """Values of unknown numbers, in their order, as a dict from part to a dict from place to value."""
    found = {}
    for (part, place), value in zip(numbers.values(), values, strict=False):
        found.setdefault(part, {})[place] = value
    return found


def parts_with_unknowns(system, numbers, n, free_time):
    """The parts, those with unknown numbers taking them from n constants, and the `Carrier` of these.

    With `free_time` the first constant is the length of time.
    """
    constants = by_part(numbers, count(int(free_time)))
    parts = [with_constants(part, constants[part]) if part in constants else part for part in system.parts]
    return [*parts, Carrier(n)]
