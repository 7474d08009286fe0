"""Dense solve of one small system, columns as vectors of 8 doubles."""

from numba import njit

from ..elements.lanes import LANES, add_lanes, clear_lane, find_lane, largest_lane, set_lanes


@njit(cache=True, error_model="numpy")
def solve_dense(a, n, weights, pivots, free, multipliers, x):
    """Solve by Gauss-Jordan elimination with row pivoting.

    Whole columns are updated at once, which makes elimination above the pivot free and back substitution needless;
    rows stay where they are, `free` tells which have not been pivots yet.

    Parameters
    ----------
    a : ((n + 1) * height,) columns of the matrix and the right-hand side, one after the other; `height` is n rounded
        up to a multiple of 8, and the padding is zero; destroyed
    n : int
    weights : (n,) positive, by which entries are compared across rows
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
        free[r] = weights[r] if r < n else 0.0
    column, end = 0, (n + 1) * height
    for j in range(n):
        size, block, r = 0.0, 0, 0
        while r < height:
            v = largest_lane(a, column + r, free, r)
            if v > size:
                size, block = v, r
            r += LANES
        if not (size > 0.0 and size < 1e300):
            return False
        pivot = pivots[j]
        if not abs(a[column + pivot]) * free[pivot] > 0.1 * size:
            pivot = block + find_lane(a, column + block, free, block, size)
            pivots[j] = pivot
        clear_lane(free, pivot // LANES * LANES, pivot % LANES)
        x[j] = 1.0 / a[column + pivot]
        r = 0
        while r < height:
            set_lanes(multipliers, r, -x[j], a, column + r)
            r += LANES
        clear_lane(multipliers, pivot // LANES * LANES, pivot % LANES)
        c = column + height
        while c < end:
            factor = a[c + pivot]
            if factor != 0.0:
                r = 0
                while r < height:
                    add_lanes(a, c + r, factor, multipliers, r)
                    r += LANES
            c += height
        column += height
    for j in range(n):
        x[j] *= a[n * height + pivots[j]]
    return True
