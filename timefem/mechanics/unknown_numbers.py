"""Numbers of bodies, joints and forces that a problem is to find."""

import re
from copy import copy
from functools import cache

import numpy as np

from ..argument_names import known_names
from ..errors import InputError
from .catalogue import made, stored
from .functions import Constant
from .numbers_of_bodies import ITSELF, number_of_body, places_of_body
from .other_numbers import with_other_numbers
from .redundancy.redundancy import keep_constraints


def number_of(part, name):
    """Place of a number of a part among its `own_parameters`, and its value.

    Parameters
    ----------
    part : Part
        A joint or force; for bodies see `entering`.
    name : str or int
        Of the attribute, as its constructor calls it, such as "stiffness", or "value[1]" for a component; or the
        place itself.

    Raises
    ------
    InputError
        When there is no such number, or it does not enter the formulas as it is.
    """
    own, name = part.own_parameters, part.current_name(name)
    title = type(part).__name__ + (f" {part.name!r}" if part.name else "")
    if str(name) in part.settled:
        raise InputError(f"{title}: {name} enters other parts as well, and cannot be unknown")
    if isinstance(name, int) and not isinstance(name, bool):
        if not 0 <= name < len(own):
            raise InputError(f"{title} has {len(own)} numbers; there is no number {name}")
        return name, float(own[name])
    value = _value(part, name)
    if value is None:
        known = [a for a in stored(part) if _value(part, a) is not None]
        known += [f"{a}[{i}]" for a in stored(part) for i in range(3)
                  if _value(part, f"{a}[{i}]") is not None]
        raise InputError(f"{title} has no number {name!r}{known_names(name, known)}")
    tried = 1.5 * value + 0.5, 1.25 * value + 0.25
    others = [with_number(part, name, v) for v in tried]
    if all(other.kind == part.kind for other in others):
        changed = np.flatnonzero(others[0].own_parameters != own)
        if len(changed) == 1 and all(o.own_parameters[changed[0]] == v for o, v in zip(others, tried, strict=True)):
            return int(changed[0]), value
    raise InputError(f"{title}: {name} = {value:g} does not enter the formulas as it is, and cannot be unknown")


def entering(system, part, name):
    """What of the parameters of all parts of a system follows from a number of one of them, and its value.

    Parameters
    ----------
    system : System
    part : Part
    name : str or int
        As for `number_of`; of bodies such as "mass" or "inertia[0]".

    Returns
    -------
    places : dict
        Part -> place in its `parameters` -> `Follows`.
    value : float
    """
    if part.is_body:
        name = part.current_name(name)
        return places_of_body(system, part, name), number_of_body(part, name)
    place, value = number_of(part, name)
    return {part: {place: ITSELF}}, value


def with_number(part, name, value):
    """The same part with another value of one of its numbers (see `number_of`)."""
    if isinstance(name, int):
        other = copy(part)
        other.own_parameters = part.own_parameters.copy()
        other.own_parameters[name] = value
        return other
    own = {part.fields[a].argument or a: getattr(part, a) for a in stored(part)}
    attribute, index = _split(name)
    if index is None:
        own[attribute] = value
    else:
        own[attribute] = list(own[attribute])
        own[attribute][index] = value
    return made(type(part), part.given_bodies, own)


def with_numbers(system, parameters, values):
    """The system with other values of numbers of its parts.

    Parameters
    ----------
    system : System
    parameters : dict
        Name -> (part, its number), as for `number_of`.
    values : dict
        By the same names.
    """
    source = system.complete or system
    parts = {part: part for part in source.parts}
    bodies = {(part, part.current_name(number)): values[name] for name, (part, number) in parameters.items()
              if part.is_body}
    for name, (part, number) in parameters.items():
        if part.is_body:
            continue
        try:
            parts[part] = with_number(parts[part], number, values[name])
        except InputError:  # a number that the part would not be made with, such as a negative damping
            parts[part] = with_number(parts[part], number_of(part, number)[0], values[name])
    changed = source.of_parts(parts.values())
    changed = keep_constraints(changed, system.kept) if system.complete is not None else changed
    try:
        return with_other_numbers(changed, bodies) if bodies else changed
    except InputError as error:
        found = ", ".join(f"{system.label(part)}.{number} = {value:.6g}" for (part, number), value in bodies.items())
        raise InputError(f"no body has what was found, {found} ({error}); give bounds, or another guess") from error


def with_constants(part, constants):
    """The same part with some of its parameters taken from the constants of the element.

    Parameters
    ----------
    part : Part
    constants : dict
        Place in `parameters` -> (number of the constant, how the parameter `Follows` from it).
    """
    other = copy(part)
    other.name = part.name
    other.seen_constants = tuple(sorted({number for number, _ in constants.values()}))
    other.unknown_numbers = tuple((place, other.seen_constants.index(number), follows)
                                  for place, (number, follows) in constants.items())
    other.__class__ = _with_unknowns(type(part))
    return other


@cache
def _with_unknowns(cls):
    """The class with another kind, for its kernels differ."""
    return type(cls.__name__, (cls,), {
        "kind": property(lambda self: ("unknown numbers", self.unknown_numbers, cls.kind.__get__(self)))})


def _split(name):
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", str(name))
    return (name, None) if match is None else (match[1], None if match[2] is None else int(match[2]))


def _value(part, name):
    """The number, or None."""
    attribute, index = _split(name)
    if attribute not in stored(part):
        return None
    value = getattr(part, attribute)
    if index is not None:
        if (not np.ndim(value) and not isinstance(value, list | tuple)) or index >= len(value):
            return None
        value = value[index]
    if isinstance(value, Constant):
        value = value.value
    return float(value) if isinstance(value, int | float | np.number) and not isinstance(value, bool) else None
