"""Compiled products of sparse matrices in rows (CSR) with vectors, and sums of a few entries each."""

import numpy as np

from ...kernels.loops import compiled


@compiled()
def rows(starts, columns, data, x):
    """A x."""
    out = np.zeros(len(starts) - 1)
    for i in range(len(out)):
        for k in range(starts[i], starts[i + 1]):
            out[i] += data[k] * x[columns[k]]
    return out


@compiled()
def columns(starts, columns, data, y, n):
    """A^T y, shape (n,)."""
    out = np.zeros(n)
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            out[columns[k]] += data[k] * y[i]
    return out


@compiled()
def symmetric(starts, columns, data, x):
    """A x of a symmetric matrix of which the upper triangle is given."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            out[i] += data[k] * x[j]
            if j != i:
                out[j] += data[k] * x[i]
    return out


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


@compiled()
def spread(n, slots, sources, factors, values):
    """Sums of `factors values[sources]` in n slots."""
    out = np.zeros(n)
    for k in range(len(slots)):
        out[slots[k]] += factors[k] * values[sources[k]]
    return out


def pairs_within(starts):
    """Pairs of entries in the same row, each with itself as well, in the order of `of_pairs`."""
    counts = np.diff(starts)
    first = np.repeat(np.arange(starts[-1]), np.arange(1, starts[-1] + 1) - np.repeat(starts[:-1], counts))
    place = np.arange(len(first)) - np.searchsorted(first, first)
    return first, np.repeat(starts[:-1], counts)[first] + place


@compiled(error_model="numpy")
def of_pairs(starts, data, diagonal, n):
    """`-a b / diagonal` of n pairs of entries (a, b), b no later than a, in the same row."""
    out, at = np.empty(n), 0
    for row in range(len(diagonal)):
        for i in range(starts[row], starts[row + 1]):
            weight = -data[i] / diagonal[row]
            for j in range(starts[row], i + 1):
                out[at] = weight * data[j]
                at += 1
    return out


@compiled()
def take_rows(starts, columns, data, y, out):
    """Subtract `A^T y` in place."""
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            out[columns[k]] -= data[k] * y[i]
