"""Checks of input values, each with a one-line error that names the argument."""

import contextlib
import operator

import numpy as np

from ..display import digits
from ..errors import FEW, InputError, did_you_mean

PLAIN, FLOATS, DOUBLE = {float, int}, {float, np.float64}, np.dtype(float)
LARGEST = 1e40  # of numbers that describe a system: the mass of the sun is 2e30 kg, and squares must stay finite


def refuse_conversions(name, value):
    """InputError for what NumPy would turn into real numbers silently: complex numbers, dates, masked arrays."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not kind and isinstance(value, list | tuple):
        for entry in value:
            refuse_conversions(name, entry)
    elif isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{name} must hold numbers, not a masked array; fill it first")
    elif kind == "c" or isinstance(value, complex):
        raise InputError(f"{name} must be real, but is complex")
    elif kind in "mM" and kind:
        raise InputError(f"{name} must be in numbers, in SI units, not dates or times of a calendar")


def _refuse_text(value):
    """TypeError for text, which `float` would read, and NumPy in arrays."""
    kind = getattr(getattr(value, "dtype", None), "kind", "-")
    if isinstance(value, str | bytes) or kind in "SU":
        raise TypeError
    if isinstance(value, list | tuple) or kind == "O":
        for entry in np.ravel(value) if kind == "O" else value:
            _refuse_text(entry)


def real(name, value, *, positive=False, largest=LARGEST):
    """Return `value` as a finite float, positive if asked, of at most a size."""
    if type(value) in FLOATS and -largest <= value <= largest < np.inf and (value > 0 or not positive):
        return float(value)  # the usual case
    refuse_conversions(name, value)
    try:
        _refuse_text(value)
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, not {value!r}") from None
    if not np.isfinite(value):
        raise InputError(f"{name} must be finite, not {value}")
    if positive and value <= 0:
        raise InputError(f"{name} must be positive, not {digits(value)}")
    if abs(value) > largest:
        raise InputError(f"{name} must be of at most {largest:g}, not {digits(value)}, in SI units")
    return value


def integer(name, value, *, minimum):
    """Return `value` as an int of at least `minimum`; floats and bools are refused."""
    if isinstance(value, bool):
        raise InputError(f"{name} must be an integer of at least {minimum}, not {value!r}")
    try:
        value = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer of at least {minimum}, not {value!r}") from None
    if value < minimum:
        raise InputError(f"{name} must be at least {minimum}, not {value}")
    return value


def array(name, value, shape, largest=LARGEST):
    """Return `value` as a finite float array of the given shape (None: any length on that axis)."""
    if type(value) in (tuple, list) and set(map(type, value)) <= PLAIN:
        with contextlib.suppress(OverflowError):
            value = np.array(value, float)
    if type(value) is np.ndarray and value.dtype is DOUBLE and value.ndim == len(shape) and value.size:
        fits = value.shape == shape or all(n is None or n == s for n, s in zip(shape, value.shape, strict=True))
        copy = value.copy()
        flat = copy.ravel()
        if fits and 1.0 <= largest < np.inf and flat.dot(flat) <= largest:  # the usual case; NaN is not
            return copy
    wanted = "(" + ", ".join("n" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
    refuse_conversions(name, value)
    try:
        _refuse_text(value)
        value = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be an array of numbers of shape {wanted}") from None
    if value.ndim != len(shape) or any(n is not None and n != s for n, s in zip(shape, value.shape, strict=True)):
        raise InputError(f"{name} must have shape {wanted}, not {value.shape}")
    if not np.all(np.isfinite(value)):
        raise InputError(f"{name} must be finite, but contains {value[~np.isfinite(value)].flat[0]}")
    if value.size and np.abs(value).max() > largest:
        raise InputError(f"{name} must be of at most {largest:g}, but contains {np.abs(value).max():g}, in SI units")
    return value


def choice(name, value, choices):
    """Return `value` if it is one of `choices`."""
    if value not in choices:
        near = did_you_mean(value, choices)
        if near and len(choices) > FEW:
            raise InputError(f"{name}: there is no {value!r}{near}")
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}{near}")
    return value


def flag(name, value):
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def direction(name, value):
    """Return a vector of shape (3,) as it is, and of unit length; one that has it keeps every digit."""
    vector = array(name, value, (3,), largest=np.inf)  # of any length
    largest = np.abs(vector).max()
    if largest <= 1 and abs(vector @ vector - 1) <= 2 * np.finfo(float).eps:
        return vector, vector.copy()
    if largest == 0:
        raise InputError(f"{name} has length zero; give a direction such as (0, 0, 1)")
    unit = vector / largest  # whose square neither overflows nor vanishes
    return vector, unit / np.linalg.norm(unit)
