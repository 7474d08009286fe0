"""Dense solve of one small system, columns as vectors of 8 doubles."""

from numba import njit

from ..elements.lanes import LANES, add_lanes, find_lane, largest_lane


@njit(cache=True, error_model="numpy")
def solve_dense(a, n, pivots, free, multipliers, x):
    """Solve by Gauss-Jordan elimination with row pivoting.

    Whole columns are updated at once, which makes elimination above the pivot free and back substitution needless;
    rows stay where they are, `free` tells which have not been pivots yet.

    Parameters
    ----------
    a : ((n + 1) * height,) columns of the matrix and the right-hand side, one after the other; `height` is n rounded
        up to a multiple of 8, and the padding is zero; destroyed
    n : int
    pivots : (n,) int64, rows in 0, ..., n - 1: pivots of an earlier, similar matrix, taken again where they are within
        a factor 10 of the largest (this takes the search off the critical path); on return those of this one
    free, multipliers : (height,), (height,) scratch
    x : (n,) solution

    Returns
    -------
    bool
        False when a pivot is zero or not finite.
    """
    height = free.shape[0]
    for r in range(height):
        free[r] = 1.0 if r < n else 0.0
    for j in range(n):
        column = j * height
        size, block = 0.0, 0
        for r in range(0, height, LANES):
            v = largest_lane(a, column + r, free, r)
            if v > size:
                size, block = v, r
        if not (size > 0.0 and size < 1e300):
            return False
        pivot = pivots[j]
        if not (free[pivot] > 0.0 and abs(a[column + pivot]) > 0.1 * size):
            pivot = block + find_lane(a, column + block, free, block, size)
            pivots[j] = pivot
        free[pivot] = 0.0
        inverse = 1.0 / a[column + pivot]
        for r in range(height):
            multipliers[r] = a[column + r]
        multipliers[pivot] = 0.0
        x[j] = inverse
        for c in range(column + height, (n + 1) * height, height):
            factor = a[c + pivot] * inverse
            if factor != 0.0:
                for r in range(0, height, LANES):
                    add_lanes(a, c + r, -factor, multipliers, r)
    for j in range(n):
        x[j] *= a[n * height + pivots[j]]
    return True
