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
