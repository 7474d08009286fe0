"""Compiled products of sparse matrices in rows (CSR) with vectors."""

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
