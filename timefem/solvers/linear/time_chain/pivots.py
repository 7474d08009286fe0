"""What a pivot of the time-chain LU has to be, and what comes of a factorisation."""

import numpy as np

from ....kernels.lanes import LANES
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
