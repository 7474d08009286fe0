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


@compiled(error_model="numpy")
def largest_in_rows(rows, data, least, m):
    """Largest magnitude in each of m rows, `least` at least; entries of further rows are left out."""
    out = np.full(m, least)
    for k in range(len(data)):
        row, size = load(rows, k), abs(load(data, k))
        if row < m and not size <= out[row]:
            out[row] = size
    return out


@compiled(error_model="numpy")
def add_hessian_and_rows(hessian, jacobian, d, y, n, m, of_v, of_rows):
    """Add `H d + J^T y` and `J d` in place, of the symmetric H by one triangle; unknowns of others, from n on, and
    their rows, from m on, are left out.

    Matrices are (rows, columns, entries); what entries of one row that follow each other add to it stays in a register.
    """
    first, second, data = hessian
    last, of_last, own = -1, 0.0, 0.0
    for k in range(len(data)):
        i, j, value = load(first, k), load(second, k), load(data, k)
        if i != last:
            if 0 <= last < n:
                store(of_v, last, of_last)
            last, own, of_last = i, load(d, i), load(of_v, i) if i < n else 0.0
        of_last += value * load(d, j)
        if j != i and j < n:
            store(of_v, j, load(of_v, j) + value * own)
    if 0 <= last < n:
        store(of_v, last, of_last)
    rows, columns, data = jacobian
    last = -1
    for k in range(len(data)):
        row, column, value = load(rows, k), load(columns, k), load(data, k)
        if row != last:
            if 0 <= last < m:
                store(of_rows, last, of_last)
            last, own, of_last = row, load(y, row), load(of_rows, row) if row < m else 0.0
        of_last += value * load(d, column)
        if column < n:
            store(of_v, column, load(of_v, column) + value * own)
    if 0 <= last < m:
        store(of_rows, last, of_last)


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


@compiled(error_model="numpy", _nrt=False)
def count_parts(indptr, indices, variable, equation):
    """How many entries of a symmetric matrix, by rows, are in the upper triangle of the Hessian, and in the Jacobian.

    `variable` and `equation` are numbers of those that unknowns are, -1 else.
    """
    of_hessian, of_jacobian = 0, 0
    for row in range(len(indptr) - 1):
        first, is_equation = load(variable, row), load(equation, row) >= 0
        for k in range(indptr[row], indptr[row + 1]):
            column = load(variable, load(indices, k))
            of_hessian += first >= 0 and column >= first
            of_jacobian += is_equation and column >= 0
    return of_hessian, of_jacobian


@compiled(error_model="numpy", _nrt=False)
def find_parts(indptr, indices, numbers, hessian, jacobian):
    """Fill in (entries, rows, columns) of both; `numbers` are (variable, equation) as of `count_parts`."""
    (variable, equation), i, j = numbers, 0, 0
    for row in range(len(indptr) - 1):
        first, own = load(variable, row), load(equation, row)
        for k in range(indptr[row], indptr[row + 1]):
            column = load(variable, load(indices, k))
            if first >= 0 and column >= first:
                hessian[0][i], hessian[1][i], hessian[2][i] = k, first, column
                i += 1
            if own >= 0 and column >= 0:
                jacobian[0][j], jacobian[1][j], jacobian[2][j] = k, own, column
                j += 1


@compiled(error_model="numpy")
def take(values, places, factor, n):
    """`factor values[places]`, and zeros behind, shape (n,)."""
    out = np.zeros(n)
    for k in range(len(places)):
        store(out, k, factor * load(values, load(places, k)))
    return out
