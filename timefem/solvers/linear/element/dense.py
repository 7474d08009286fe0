"""Dense solve of the tangent of one element, columns as vectors of 8 doubles.

Unknowns that enter one equation only are left for the end: that equation gives them once the others are known. Many
elements have such unknowns, for instance the position of a free body. (Those with a constant coefficient do not come
here at all: see `elements.evaluation.explicit_unknowns`.)
"""

import numpy as np

from ....kernels.lanes import LANES, add_lanes, clear_lane, find_lane, largest_lane, set_lanes
from ....kernels.loops import compiled
from ....kernels.record import Record, aligned


class DenseOrder(Record):
    """Rows and columns that are solved together, then explicit ones, one after the other.

    Entry k of explicit row i, `starts[i] <= k < starts[i + 1]`, stands at `places[k]` of the matrix in column
    `entries[k]`; the unknown itself comes first.
    """

    core_rows: np.ndarray
    core_columns: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    entries: np.ndarray
    places: np.ndarray
    size: int  # of the flat matrix


def dense_order(rows, columns, n):
    """The `DenseOrder` of a square pattern of n rows, and the place of each of its entries in the flat matrix."""
    by_row, by_column = [set() for _ in range(n)], [set() for _ in range(n)]
    for r, c in zip(rows.tolist(), columns.tolist(), strict=True):
        by_row[r].add(c)
        by_column[c].add(r)
    explicit, waiting = [], [c for c in range(n) if len(by_column[c]) == 1]
    while waiting:
        column = waiting.pop()
        if len(by_column[column]) != 1:
            continue
        row = by_column[column].pop()
        explicit.append((row, column))
        for c in by_row[row]:
            by_column[c].discard(row)
            if len(by_column[c]) == 1:
                waiting.append(c)
    explicit.reverse()  # the last one found depends on the core alone
    core_rows = np.setdiff1d(np.arange(n), [r for r, _ in explicit])
    core_columns = np.setdiff1d(np.arange(n), [c for _, c in explicit])
    n_core = len(core_rows)
    height = -(-n_core // LANES) * LANES
    place, start = {}, (n_core + 1) * height
    starts, entries = [0], []
    for row, column in explicit:
        own = [column, *sorted(by_row[row] - {column})]
        place.update({(row, c): start + len(entries) + k for k, c in enumerate(own)})
        entries += own
        starts.append(len(entries))
    new_row, new_column = np.zeros(n, int), np.zeros(n, int)
    new_row[core_rows], new_column[core_columns] = np.arange(n_core), np.arange(n_core)
    in_core = np.isin(rows, core_rows)
    targets = np.where(in_core, new_column[columns] * height + new_row[rows], 0)
    for k in np.flatnonzero(~in_core):
        targets[k] = place[rows[k], columns[k]]
    arrays = [np.array(a, np.int64) for a in (core_rows, core_columns, [r for r, _ in explicit], starts, entries)]
    return DenseOrder(*arrays, start + np.arange(len(entries)), start + len(entries)), targets


class DenseScratch(Record):
    """What `solve_ordered` works on; it keeps the pivots for the next matrix."""

    pivots: np.ndarray
    free: np.ndarray
    multipliers: np.ndarray
    weights: np.ndarray
    x: np.ndarray


def dense_scratch(order):
    """The `DenseScratch` for a `DenseOrder`."""
    n = len(order.core_rows)
    height = -(-n // LANES) * LANES
    return DenseScratch(np.zeros(n, np.int64), aligned(height), aligned(height), np.zeros(n), np.zeros(n))


# Without run-time reference counts, which take longer than the work.
@compiled(error_model="numpy", _nrt=False)
def solve_ordered(order, a, right, weights, scratch, x):
    """Solve the tangent of an element in the flat matrix `a`, which is destroyed.

    Parameters
    ----------
    order : DenseOrder
    a : (order.size,)
    right, weights : (n,) right-hand side, and weights by which entries are compared across rows
    scratch : DenseScratch
    x : (n,) solution

    Returns
    -------
    bool
        False when a pivot is zero or not finite.
    """
    core_rows, core_columns, core = order.core_rows, order.core_columns, scratch.x
    rows, starts, entries, places = order.rows, order.starts, order.entries, order.places
    n, height = core.shape[0], scratch.free.shape[0]
    for i in range(n):
        a[n * height + i] = right[core_rows[i]]
        scratch.weights[i] = weights[core_rows[i]]
    if n and not solve_dense(a, n, scratch.weights, scratch.pivots, scratch.free, scratch.multipliers, core):
        return False
    for i in range(n):
        x[core_columns[i]] = core[i]
    for i in range(rows.shape[0]):
        value, first = right[rows[i]], starts[i]
        for k in range(first + 1, starts[i + 1]):
            value -= a[places[k]] * x[entries[k]]
        pivot = a[places[first]]
        if not 0.0 < abs(pivot) < 1e300:
            return False
        x[entries[first]] = value / pivot
    return True


@compiled(error_model="numpy", _nrt=False)
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
