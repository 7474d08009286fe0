"""Sparse LU of the tangent of one element, for systems of many bodies: the cost of a chain grows like its length.

Columns are eliminated in a fixed order of little fill; rows are found by partial pivoting, column after column
(Gilbert & Peierls, SIAM J. Sci. Stat. Comput. 9, 1988). The pivots and the pattern of an earlier matrix are taken
again up to the first column where a pivot is too small; from there on they are found anew.
"""

import numpy as np
import scipy

from ....kernels.loops import compiled
from ....kernels.record import Record
from .code import DONE, FULL, SINGULAR

SMALLEST_PIVOT = 0.01  # relative to the largest entry of the column, for a pivot to be taken again


class SparseLU(Record):
    """Pattern of a matrix by columns, and room for its factors: `lower @ upper = matrix[pivots][:, order]`.

    A column of `lower` names rows of the matrix, the pivot first; a column of `upper` names the columns of `lower` that
    are to be subtracted, in a valid order. `state[0]` columns are known from an earlier matrix.
    """

    starts: np.ndarray
    rows: np.ndarray
    order: np.ndarray
    pivots: np.ndarray  # row of each step
    steps: np.ndarray  # step of each row, -1 as long as it is no pivot
    diagonal: np.ndarray
    lower_starts: np.ndarray
    lower_rows: np.ndarray
    lower: np.ndarray
    upper_starts: np.ndarray
    upper_steps: np.ndarray
    upper: np.ndarray
    column: np.ndarray  # the column at work, zero in between
    marks: np.ndarray
    path: np.ndarray  # (2, n) of the search, and the steps that it found
    found: np.ndarray
    state: np.ndarray


def sparse_lu(rows, columns, n):
    """The `SparseLU` of a square pattern of n rows, and the place of each of its entries in the data by columns.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (nnz,)
        Entries that are repeated share their place; n = 0 stands for no sparse matrix at all.
    """
    entries, places = np.unique(columns * max(n, 1) + rows, return_inverse=True)
    columns, rows = np.divmod(entries, max(n, 1))
    pattern = scipy.sparse.csc_matrix((np.ones(len(entries)), (rows, columns)), shape=(n, n))
    integers = [np.zeros(n, np.int64) for _ in range(4)]
    lu = SparseLU(pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64), _order(pattern),
                  np.zeros(n, np.int64), np.full(n, -1), np.zeros(n), np.zeros(n + 1, np.int64), np.zeros(0, np.int32),
                  np.zeros(0), np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(n), integers[0],
                  np.stack(integers[1:3]), integers[3], np.zeros(1, np.int64))
    return enlarged(lu, 4 * len(rows) + n), places


def enlarged(lu, size):
    """The same with room for more entries in the factors, and nothing known."""
    return lu.replaced(lower_rows=np.zeros(size, np.int32), lower=np.zeros(size), upper_steps=np.zeros(size, np.int32),
                       upper=np.zeros(size), state=np.zeros(1, np.int64))


def _order(pattern):
    """Columns in the order of COLAMD, which keeps the fill small whatever the pivots."""
    generic = pattern.copy()
    generic.data = np.random.default_rng(0).uniform(1, 2, len(generic.data))
    try:
        if not pattern.shape[0]:
            return np.zeros(0, np.int64)
        return np.argsort(scipy.sparse.linalg.splu(generic, permc_spec="COLAMD").perm_c)
    except RuntimeError:  # singular by its pattern, and so is every matrix of it
        return np.arange(pattern.shape[0])


@compiled(error_model="numpy", _nrt=False)
def solve_sparse(lu, data, b, weights, x):
    """Solve matrix x = b; b is destroyed.

    Parameters
    ----------
    lu : SparseLU
    data : (nnz,) by columns
    b : (n,)
    weights : (n,) positive, by which entries are compared across rows
    x : (n,) result

    Returns
    -------
    int
        DONE, SINGULAR (a pivot is zero or not finite), or FULL (no room for the factors).
    """
    code = _factor(lu, data, weights)
    if code != DONE:
        return code
    n, values = lu.order.shape[0], lu.column
    for k in range(n):
        first, value = lu.lower_starts[k], b[lu.pivots[k]]
        values[k] = value
        if value != 0.0:
            for p in range(first + 1, lu.lower_starts[k + 1]):
                b[lu.lower_rows[p]] -= lu.lower[p] * value
    for k in range(n - 1, -1, -1):
        value = values[k] / lu.diagonal[k]
        values[k] = 0.0
        x[lu.order[k]] = value
        for p in range(lu.upper_starts[k], lu.upper_starts[k + 1]):
            values[lu.upper_steps[p]] -= lu.upper[p] * value
    return DONE


@compiled(error_model="numpy", _nrt=False)
def _factor(lu, data, weights):
    n, column, known = lu.order.shape[0], lu.column, lu.state[0]
    lu.state[0] = 0
    for k in range(n):
        if k >= known and not _find_pattern(lu, k):
            column[:] = 0.0
            return FULL
        first, end = lu.lower_starts[k], lu.lower_starts[k + 1]
        j = lu.order[k]
        for p in range(lu.starts[j], lu.starts[j + 1]):
            column[lu.rows[p]] = data[p]
        for p in range(lu.upper_starts[k], lu.upper_starts[k + 1]):
            step = lu.upper_steps[p]
            row = lu.pivots[step]
            value = column[row]
            column[row] = 0.0
            lu.upper[p] = value
            if value != 0.0:
                for r in range(lu.lower_starts[step] + 1, lu.lower_starts[step + 1]):
                    column[lu.lower_rows[r]] -= lu.lower[r] * value
        largest, size = first, 0.0
        for p in range(first, end):
            row = lu.lower_rows[p]
            value = abs(column[row]) * weights[row]
            if value > size:
                largest, size = p, value
        if not (size > 0.0 and size < 1e300):
            column[:] = 0.0
            return SINGULAR
        row = lu.lower_rows[first]
        if k < known and not abs(column[row]) * weights[row] > SMALLEST_PIVOT * size:
            for later in range(k, n):
                lu.steps[lu.pivots[later]] = -1
            lu.marks[:] = -1
            known = k
        if k >= known:
            row = lu.lower_rows[largest]
            lu.lower_rows[largest], lu.lower_rows[first] = lu.lower_rows[first], row
            lu.pivots[k], lu.steps[row] = row, k
        lu.diagonal[k] = column[row]
        inverse = 1.0 / column[row]
        for p in range(first, end):
            row = lu.lower_rows[p]
            lu.lower[p] = column[row] * inverse
            column[row] = 0.0
    lu.state[0] = n
    return DONE


@compiled(error_model="numpy", _nrt=False)
def _find_pattern(lu, k):
    """Pattern of column k of both factors: all that its entries reach through the columns of `lower`, depth first."""
    n, j = lu.order.shape[0], lu.order[k]
    if k == 0:
        lu.marks[:] = -1
        lu.steps[:] = -1
    size, top = lu.lower_starts[k], n
    if max(size, lu.upper_starts[k]) + n > lu.lower.shape[0]:
        return False
    for p in range(lu.starts[j], lu.starts[j + 1]):
        row = lu.rows[p]
        if lu.marks[row] == k:
            continue
        lu.marks[row] = k
        if lu.steps[row] < 0:
            lu.lower_rows[size] = row
            size += 1
            continue
        depth = 0
        lu.path[0, 0] = lu.steps[row]
        lu.path[1, 0] = lu.lower_starts[lu.steps[row]] + 1
        while depth >= 0:
            step, r = lu.path[0, depth], lu.path[1, depth]
            if r == lu.lower_starts[step + 1]:
                top -= 1
                lu.found[top] = step
                depth -= 1
                continue
            lu.path[1, depth] = r + 1
            row = lu.lower_rows[r]
            if lu.marks[row] == k:
                continue
            lu.marks[row] = k
            if lu.steps[row] < 0:
                lu.lower_rows[size] = row
                size += 1
            else:
                depth += 1
                lu.path[0, depth] = lu.steps[row]
                lu.path[1, depth] = lu.lower_starts[lu.steps[row]] + 1
    lu.lower_starts[k + 1] = size
    start = lu.upper_starts[k]
    for m in range(top, n):
        lu.upper_steps[start + m - top] = lu.found[m]
    lu.upper_starts[k + 1] = start + n - top
    return True
