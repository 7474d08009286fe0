"""Work memory that is used again: the first touch of fresh memory can cost more than the work on it."""

import weakref

import numpy as np

from ....kernels.lanes import LANES

MOST_KEPT = 2**30  # bytes, in all

_kept = []  # arrays that nobody uses


def borrow(owner, n):
    """An array of at least n floats for as long as `owner` lives, from a cache line on; its values are arbitrary."""
    fitting = [i for i, a in enumerate(_kept) if n <= len(a) <= 4 * n]
    array = _kept.pop(min(fitting, key=lambda i: len(_kept[i]))) if fitting else _aligned(n)
    if array.nbytes <= MOST_KEPT:
        weakref.finalize(owner, _keep, array).atexit = False
    return array


def _keep(array):
    _kept.append(array)
    while sum(a.nbytes for a in _kept) > MOST_KEPT:
        del _kept[0]


def _aligned(n):
    """Empty array that starts at a cache line, so that no vector straddles two."""
    memory = np.empty(n + LANES)
    skip = -memory.ctypes.data // memory.itemsize % LANES
    return memory[skip:skip + n]
