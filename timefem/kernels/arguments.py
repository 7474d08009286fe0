"""What machine code is found by: the types of the arguments of a loop, by the names that Numba has for them."""

import numpy as np

from .record import Record

__all__ = ["described"]

_dtypes = {}  # one object for all that are equal, as machine code compares addresses


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
    if isinstance(x, Record):
        return x, x.kind.name, x.kind
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
