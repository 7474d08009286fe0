"""What machine code is found by: the types of the arguments of a loop, records too, by Numba's names for them."""

import functools
import hashlib

import numpy as np

__all__ = ["Kind", "described", "kind_of"]

_dtypes = {}  # one object for all that are equal, as machine code compares addresses


class Kind:
    """Title of a class of records, and kinds of their fields: of arrays (dtype, ndim), of numbers int or float.

    Its name has a digest of the fields: with these, and those of records among them, it had 10 000 letters, and Numba
    writes the names of all arguments into those of tuples and of functions.
    """

    def __init__(self, title, fields):
        self.fields = fields
        told = ", ".join(f"{name}: {_name(kind)}" for name, kind in fields)
        self.name = f"{title}({hashlib.sha256(told.encode()).hexdigest()[:32]})"


def _name(kind):
    if isinstance(kind, Kind):
        return kind.name
    return f"{kind[0]}[{kind[1]}]" if isinstance(kind, tuple) else getattr(kind, "__name__", "None")


kind_of = functools.cache(Kind)  # one object for all that are equal


def described(x):
    """An argument as machine code takes it, the name of its type, and an object that stands for this type there.

    Raises
    ------
    TypeError
        If compiled loops do not take such things.
    """
    if isinstance(x, np.ndarray):
        dtype = _dtypes.setdefault(x.dtype, x.dtype)
        if type(x) is not np.ndarray or x.dtype is not dtype:
            x = x.view(dtype, np.ndarray)
        layout = "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else "A"
        name = dtype.name if dtype.isnative and dtype.names is None else dtype
        return x, f"{'' if x.flags.writeable else 'readonly '}array({name}, {x.ndim}d, {layout})", dtype
    if isinstance(kind := getattr(x, "kind", None), Kind):
        return x, kind.name, kind
    if isinstance(x, bool | np.bool_):
        return bool(x), "bool", np.bool_
    if isinstance(x, int | np.integer):
        return int(x), "int64", np.int64
    if isinstance(x, float | np.floating):
        return float(x), "float64", np.float64
    if x is None:
        return x, "none", None
    if isinstance(x, tuple):
        values, names, slots = zip(*map(described, x), strict=True)
        if len(set(names)) == 1:
            return values, f"UniTuple({names[0]} x {len(x)})", slots
        return values, f"Tuple({', '.join(names)})", slots
    raise TypeError(f"compiled loops take arrays, records, numbers, None and tuples, not {type(x).__name__}")
