"""Checks of input values, each with a one-line error that names the argument; and of the memory that there is."""

import contextlib
import math
import operator
import os
import sys
from pathlib import Path

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


# ---- Memory that can be had, asked before work starts.

try:
    import resource
except ImportError:  # not on Windows
    resource = None
UNKNOWN = 2**32  # bytes that any machine has
# limits of containers (control groups, of version 2 and 1): of what, what is used, and what of that can be dropped
GROUP = Path("/sys/fs/cgroup")
GROUP_FILES = (("memory.max", "memory.current", "memory.stat", "inactive_file"),
               ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat",
                "total_inactive_file"))
LITTLE = 2**22  # bytes that are not worth the question


def free_memory(unknown=UNKNOWN):
    """Bytes of memory that can be had, by the machine, its container, and the limits of the process.

    Where nobody tells how much of it is free, all that the machine has, and where nobody tells that, `unknown`.
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * (resource.getpagesize() if resource else 4096)
    except (OSError, StopIteration):
        return _installed() or unknown
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    return max(0, min([free, *_free_in_group(), *([limit - used] if limit >= 0 else [])]))


def _installed():
    """Bytes of memory that the machine has; None where nobody tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def peak_memory():
    """Bytes of memory that this process has held at most; 0 where nobody tells."""
    if resource is None:
        return 0
    return (1 if sys.platform == "darwin" else 1024) * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _free_in_group():
    """Bytes that the container of this process has left, where it has a limit."""
    for limit, used, facts, name in GROUP_FILES:
        try:
            left = int((GROUP / limit).read_bytes()) - int((GROUP / used).read_bytes())
            lines = (line.split() for line in (GROUP / facts).read_text(encoding="ascii").splitlines())
            yield left + next((int(n) for key, n in lines if key == name), 0)
        except (OSError, ValueError):  # none of that version, or "max"
            continue


def check_memory(what, n_bytes):
    """Raise InputError when so many bytes are more than can be had; `what` needs them, in words."""
    if n_bytes < LITTLE:
        return
    free = free_memory(math.inf)
    if n_bytes > free:
        raise InputError(f"{what} needs {n_bytes / 2**30:.3g} GiB of memory, and {free / 2**30:.3g} GiB are free; take "
                         "fewer elements, or a shorter time span")
