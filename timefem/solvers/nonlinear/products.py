"""Compiled products of sparse matrices, given by entries and their places, and sums of a few entries each."""

import numpy as np

from ...kernels.lanes import load, store
from ...kernels.loops import compiled


@compiled(error_model="numpy")
def add_product(rows, columns, data, x, factor, out):
    """Add `factor A x` in place; of rows and columns interchanged A^T."""
    for k in range(len(data)):
        at = load(rows, k)
        store(out, at, load(out, at) + factor * load(data, k) * load(x, load(columns, k)))


def product(rows, columns, data, x, n):
    """A x, shape (n,)."""
    out = np.zeros(n)
    add_product(rows, columns, data, x, 1.0, out)
    return out


@compiled(error_model="numpy")
def add_symmetric(first, second, data, x, factor, out):
    """Add `factor A x` in place, of a symmetric matrix of which one triangle is given."""
    for k in range(len(data)):
        i, j, value = load(first, k), load(second, k), factor * load(data, k)
        store(out, i, load(out, i) + value * load(x, j))
        if j != i:
            store(out, j, load(out, j) + value * load(x, i))


@compiled()
def gathered(start, columns, factors, x):
    """`start + sum over s of factors x[columns]`, shape (n_points, n_w), without columns that are negative."""
    out = start.copy()
    for p in range(columns.shape[0]):
        for w in range(columns.shape[1]):
            for s in range(columns.shape[2]):
                if columns[p, w, s] >= 0:
                    out[p, w] += factors[p, w, s] * x[columns[p, w, s]]
    return out


@compiled(error_model="numpy")
def add_spread(slots, sources, factors, values, out):
    """Add `factors values[sources]` in slots, in place."""
    for k in range(len(slots)):
        at = load(slots, k)
        store(out, at, load(out, at) + load(factors, k) * load(values, load(sources, k)))


@compiled(error_model="numpy")
def take(values, places, factor, n):
    """`factor values[places]`, and zeros behind, shape (n,)."""
    out = np.zeros(n)
    for k in range(len(places)):
        store(out, k, factor * load(values, load(places, k)))
    return out


def pairs_within(starts):
    """Pairs of entries in the same row, each with itself as well, in the order of `of_pairs`."""
    counts = np.diff(starts)
    first = np.repeat(np.arange(starts[-1]), np.arange(1, starts[-1] + 1) - np.repeat(starts[:-1], counts))
    place = np.arange(len(first)) - np.searchsorted(first, first)
    return first, np.repeat(starts[:-1], counts)[first] + place


@compiled(error_model="numpy")
def of_pairs(starts, data, diagonal, out):
    """`-a b / diagonal` of pairs of entries (a, b), b no later than a, in the same row."""
    at = 0
    for row in range(len(diagonal)):
        for i in range(starts[row], starts[row + 1]):
            weight = -data[i] / diagonal[row]
            for j in range(starts[row], i + 1):
                store(out, at, weight * load(data, j))
                at += 1
