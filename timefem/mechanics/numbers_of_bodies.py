"""How numbers of bodies, such as masses, enter the formulas of all parts."""

from typing import NamedTuple

import numpy as np

from ..argument_names import known_names
from ..errors import InputError
from .other_numbers import with_other_numbers

TRIED = (np.array([0.2, 0.45, 0.7, 1.0]), np.array([-0.2, -0.35, -0.5, -0.6]),
         np.array([0.02, 0.04, 0.06, 0.08]), np.array([-0.02, -0.04, -0.06, -0.08]))  # changes, relative to the number
SAME = 1e-11  # relative error of a parameter by the function found for it


class Follows(NamedTuple):
    """A parameter (a + b x) / (c + d x) of formulas, of an unknown number x."""

    a: float = 0.0
    b: float = 1.0
    c: float = 1.0
    d: float = 0.0

    def __call__(self, x):
        if self == ITSELF:
            return x
        upper, lower = (first + second * x if first and second else second * x if second else first
                        for first, second in (self[:2], self[2:]))
        return upper / lower


ITSELF = Follows()


def number_of_body(body, name):
    """The value of a number of a body by its name, such as "mass" or "inertia[0]", a principal value.

    Raises
    ------
    InputError
        When there is no such number.
    """
    title = type(body).__name__ + (f" {body.name!r}" if body.name else "")
    known = {}
    for number, attribute in body.changeable.items():
        value = getattr(body, attribute)
        if isinstance(value, float):
            known[number] = value
        elif isinstance(value, np.ndarray) and (value.ndim == 1 or not np.any(value - np.diag(value.diagonal()))):
            known |= {f"{number}[{i}]": float(x) for i, x in
                      enumerate(value.diagonal() if value.ndim == 2 else value)}
    if name not in known:
        raise InputError(f"{title} has no number {name!r} that can be unknown{known_names(name, known)}")
    if not body.has_inverse_mass or body.velocity_by_solve:
        raise InputError(f"{title}: its velocities do not follow from its momenta by a formula, so that its numbers "
                         "cannot be unknown")
    return known[name]


def places_of_body(system, body, name):
    """What of the parameters of all parts follows from a number of a body.

    Returns
    -------
    dict
        Part -> place in its `parameters` -> `Follows`.

    Raises
    ------
    InputError
        When a parameter is another function of it.
    """
    value, systems, fault = number_of_body(body, name), None, None
    if value == 0:
        raise InputError(f"{system.label(body)}: {name} is zero; give a guess of its size")
    if body.owner is not None or body.helper:
        raise InputError(f"{system.label(body)} is made by another part, and its {name} cannot be unknown")
    if any(part.couples_inertia and body in part.carriers for part in system.parts):
        raise InputError(f"{system.label(body)}: {name} cannot be unknown, for a part couples its inertia to others")
    for steps in TRIED:
        try:
            systems = [with_other_numbers(system, {(body, name): value * (1 + s)}) for s in steps]
            break
        except InputError as error:  # an inertia that no body has
            fault = fault or error
    if systems is None:
        raise fault
    found, x = {}, np.append(value, value * (1 + steps))
    for part, *others in zip(system.parts, *(s.parts for s in systems), strict=True):
        values = np.array([part.parameters, *(other.parameters for other in others)])
        for place in np.flatnonzero((values != values[0]).any(axis=0)).tolist():
            follows = _fitted(x / value, values[:, place], value)
            if follows is None:
                raise InputError(f"{system.label(body)}: {name} enters {system.label(part)} in a way that is not "
                                 "known for unknown numbers")
            found.setdefault(part, {})[place] = follows
    if not found:
        raise InputError(f"{system.label(body)}: {name} does not enter the motion, and cannot be found")
    return found


def _fitted(x, y, unit):
    """`Follows` of values y at x, relative to the unit of the number; None if they are another function."""
    size = np.abs(y).max()
    matrix = np.stack([np.ones_like(x), x, -y / size, -x * y / size], axis=1)
    coefficients = np.linalg.svd(matrix)[2][-1]
    coefficients = np.where(np.abs(coefficients) < 1e-9 * np.abs(coefficients).max(), 0.0, coefficients)
    kept = np.flatnonzero(coefficients)
    coefficients[kept] = np.linalg.svd(matrix[:, kept])[2][-1]  # sharper without what is zero
    a, b, c, d = coefficients
    a, b, d = a * size, b * size / unit, d / unit
    lead = c or d
    follows = Follows(*(float(f"{k / lead:.14g}") for k in (a, b, c, d)))  # one kernel, whatever the guess
    return follows if np.abs(follows(x * unit) - y).max() <= SAME * size else None
