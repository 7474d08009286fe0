"""What a pivot of the time-chain LU has to be, and what comes of a factorisation."""

import numpy as np

from ....kernels.lanes import LANES, load, store
from ....kernels.loops import compiled

THRESHOLD = 0.01  # of the largest entry in its column, for a pivot: with 0.1 many more columns have to wait
HELD = 1e-8  # beside held rows, which take what the motion grows by: one refinement gives back the digits that it costs
ROUNDING = 0.1 * np.finfo(float).eps / THRESHOLD  # of a sum of products with multipliers up to 1 / THRESHOLD

FACTORED, NO_PIVOT, VANISHED, FRONT_FULL, STORE_FULL = range(5)


@compiled(interpreted=True)
def whole(n):
    """Numbers rounded up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@compiled(_nrt=False)
def row_size(indptr, data, flipped, row):
    """Largest magnitude in a row of the matrix."""
    largest = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        largest = max(largest, abs(data[len(data) - 1 - k] if flipped else data[k]))
    return largest


@compiled(error_model="numpy", _nrt=False)
def is_pivot(best, rounding, size, matrix, row):
    """Whether a number can be divided by, and is no rounding error in its column, of largest magnitude `size`, and in
    its row of the matrix: where it is small for one of the two alone, that is badly scaled."""
    indptr, data, flipped = matrix
    return best < np.inf and 1.0 / best < np.inf and (
        best > rounding * size or best > rounding * row_size(indptr, data, flipped, row))


@compiled(error_model="numpy", _nrt=False)
def exchange(x, i, j):
    """Interchange two numbers of an array."""
    value = load(x, i)
    store(x, i, load(x, j))
    store(x, j, value)


@compiled(error_model="numpy", _nrt=False)
def exchange_columns(front, rows, n_rows, i, j):
    """Interchange two places in all rows of a front."""
    for k in range(n_rows):
        row = load(rows, k)
        exchange(front, row + i, row + j)
