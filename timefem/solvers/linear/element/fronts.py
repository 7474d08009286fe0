"""LU of the tangent of one element, front by front, columns as vectors of 8 doubles.

Columns of each front are eliminated above and below their pivots (Gauss-Jordan): so whole columns are updated at once,
rows stay where they are, and a solve with the factors is nothing but sums of columns. See `pattern` for the fronts.

Unknowns that enter one equation only are left for the end: that equation gives them once the others are known. Many
elements have such unknowns, for instance the position of a free body. (Those with a constant coefficient do not come
here at all: see `elements.evaluation.single_point`.)
"""

from enum import IntEnum

import numpy as np

from ....kernels.lanes import LANES, add_four_lanes, add_lanes, clear_lane, find_lane, largest_lane, set_lanes
from ....kernels.loops import compiled
from ....kernels.record import Record, aligned

# One front: where its matrix and its vectors start; vectors of 8 rows, rows that enter here, columns to eliminate and
# all columns; where its rows, columns and the places of its further columns in the parent start; the parent (-1: none)
# and the first of the parent's rows that comes from here
FRONT = np.dtype([(name, np.int64) for name in (
    "matrix", "vector", "height", "n_rows", "n_enter", "n_own", "width", "rows", "columns", "places", "parent", "at")])
SAME_PIVOT = 0.1  # of the largest in its column, for the pivot of an earlier matrix to be taken again


class Fronts(Record):
    """Fronts of a matrix, children first; then explicit rows, one after the other.

    Entry k of explicit row i, `starts[i] <= k < starts[i + 1]`, stands at `entry_places[k]` of the matrix in column
    `entries[k]`; the unknown itself comes first.
    """

    fronts: np.ndarray  # FRONT
    rows: np.ndarray  # that enter, front by front
    columns: np.ndarray  # front by front, those to eliminate first
    places: np.ndarray  # of the further columns in the parent
    explicit: np.ndarray  # rows
    starts: np.ndarray
    entries: np.ndarray
    entry_places: np.ndarray
    size: int  # of the flat matrix
    singular: int  # 1 when the pattern is


class Factors(Record):
    """What is beside the matrix, which `factor` turns into factors; it keeps the pivots for the next matrix."""

    pivots: np.ndarray  # row of the front for each of its columns
    inverses: np.ndarray
    left: np.ndarray  # rows that are left, front by front
    weights: np.ndarray  # of the rows of all fronts
    vector: np.ndarray  # of a right-hand side, likewise
    free: np.ndarray  # weights of the rows of a front that are no pivots yet


def factors_for(fronts):
    """The `Factors` for `Fronts`."""
    table = fronts.fronts
    n_vector, n_own = int(table["height"].sum()), int(table["n_own"].sum())
    return Factors(np.zeros(n_own, np.int64), np.zeros(n_own), np.zeros(n_vector, np.int64), np.zeros(n_vector),
                   aligned(n_vector), aligned(int(table["height"].max(initial=0))))


# Without run-time reference counts, which take longer than the work.
@compiled(error_model="numpy", _nrt=False)
def factor(fronts, a, weights, factors):
    """Turn the flat matrix `a` into factors, in place.

    Parameters
    ----------
    fronts : Fronts
    a : (fronts.size,)
    weights : (n,) positive, by which entries are compared across rows
    factors : Factors

    Returns
    -------
    bool
        False when a pivot is zero or not finite.
    """
    own = 0
    if fronts.singular:
        return False
    for f in range(fronts.fronts.shape[0]):
        front = fronts.fronts[f]
        for i in range(front.n_enter):
            factors.weights[front.vector + i] = weights[fronts.rows[front.rows + i]]
        if not _eliminate(a, front, own, factors):
            return False
        own += front.n_own
        if front.parent < 0:
            continue
        above, left = fronts.fronts[front.parent], 0
        for i in range(front.n_rows):
            if factors.free[i] > 0.0:
                factors.left[front.vector + left] = i
                factors.weights[above.vector + front.at + left] = factors.weights[front.vector + i]
                left += 1
        for c in range(front.n_own, front.width):
            source = front.matrix + c * front.height
            place = fronts.places[front.places + c - front.n_own]
            target = above.matrix + place * above.height + front.at
            for i in range(left):
                a[target + i] = a[source + factors.left[front.vector + i]]
    for i in range(fronts.explicit.shape[0]):
        if not 0.0 < abs(a[fronts.entry_places[fronts.starts[i]]]) < 1e300:
            return False
    return True


@compiled(error_model="numpy", _nrt=False)
def _eliminate(a, front, own, factors):
    """Eliminate the columns of a front; its multipliers take their place, `free` are the rows that are left.

    Four pivots are found before the columns behind them are updated, which then are read and written once.
    """
    height, free = front.height, factors.free
    for r in range(height):
        free[r] = factors.weights[front.vector + r] if r < front.n_rows else 0.0
    last, end = own + front.n_own, front.matrix + front.width * height
    for first in range(own, last, 4):
        column, stop = front.matrix + (first - own) * height, min(first + 4, last)
        start = column
        behind = column + 4 * height if stop == first + 4 else end
        for j in range(first, stop):
            if not _pivot(a, column, height, j, factors):
                return False
            for c in range(column + height, behind, height):
                value, r = a[c + factors.pivots[j]], 0
                while r < height:
                    add_lanes(a, c + r, value, a, column + r)
                    r += LANES
            column += height
        if behind == end:
            break
        p, q = factors.pivots[first], factors.pivots[first + 1]
        s, t = factors.pivots[first + 2], factors.pivots[first + 3]
        second, third = start + height, start + 2 * height
        pq, ps, pt, qs, qt, st = a[start + q], a[start + s], a[start + t], a[second + s], a[second + t], a[third + t]
        for c in range(behind, end, height):
            u = a[c + p]
            v = a[c + q] + u * pq
            w = a[c + s] + u * ps + v * qs
            z = a[c + t] + u * pt + v * qt + w * st
            if u == 0.0 and v == 0.0 and w == 0.0 and z == 0.0:
                continue
            r = 0
            while r < height:
                add_four_lanes(a, c + r, (u, v, w, z), a, start + r, height)
                r += LANES
    return True


@compiled(error_model="numpy", _nrt=False)
def _pivot(a, column, height, j, factors):
    """Choose pivot j, of the front's column that starts at `column`, and turn this into multipliers.

    The pivot of an earlier, similar matrix is taken again where it is large enough: this takes the search off the
    critical path.
    """
    free, size, block, r = factors.free, 0.0, 0, 0
    while r < height:
        v = largest_lane(a, column + r, free, r)
        if v > size:
            size, block = v, r
        r += LANES
    if not (size > 0.0 and size < 1e300):
        return False
    pivot = factors.pivots[j]
    if not abs(a[column + pivot]) * free[pivot] > SAME_PIVOT * size:
        pivot = block + find_lane(a, column + block, free, block, size)
        factors.pivots[j] = pivot
    clear_lane(free, pivot // LANES * LANES, pivot % LANES)
    inverse = 1.0 / a[column + pivot]
    factors.inverses[j] = inverse
    r = 0
    while r < height:
        set_lanes(a, column + r, -inverse, a, column + r)
        r += LANES
    clear_lane(a, column + pivot // LANES * LANES, pivot % LANES)
    return True


@compiled(error_model="numpy", _nrt=False)
def solve(fronts, a, factors, right, x):
    """Solution x of the matrix of which `factor` has made the factors in `a`, for the right-hand side `right`."""
    vector, own = factors.vector, 0
    for f in range(fronts.fronts.shape[0]):
        front = fronts.fronts[f]
        height, start = front.height, front.vector
        for i in range(front.n_enter):
            vector[start + i] = right[fronts.rows[front.rows + i]]
        for i in range(front.n_rows, height):
            vector[start + i] = 0.0
        for j in range(front.n_own):
            value, column, r = vector[start + factors.pivots[own + j]], front.matrix + j * height, 0
            while r < height:
                add_lanes(vector, start + r, value, a, column + r)
                r += LANES
        own += front.n_own
        if front.parent >= 0:
            target = fronts.fronts[front.parent].vector + front.at
            for i in range(front.n_rows - front.n_own):
                vector[target + i] = vector[start + factors.left[start + i]]
    for f in range(fronts.fronts.shape[0] - 1, -1, -1):
        front = fronts.fronts[f]
        height, start = front.height, front.vector
        for c in range(front.n_own, front.width):
            value, column, r = -x[fronts.columns[front.columns + c]], front.matrix + c * height, 0
            while r < height:
                add_lanes(vector, start + r, value, a, column + r)
                r += LANES
        own -= front.n_own
        for j in range(front.n_own):
            x[fronts.columns[front.columns + j]] = (vector[start + factors.pivots[own + j]]
                                                    * factors.inverses[own + j])
    for i in range(fronts.explicit.shape[0]):
        value, first = right[fronts.explicit[i]], fronts.starts[i]
        for k in range(first + 1, fronts.starts[i + 1]):
            value -= a[fronts.entry_places[k]] * x[fronts.entries[k]]
        x[fronts.entries[first]] = value / a[fronts.entry_places[first]]


class Code(IntEnum):
    """Of one linear solve, of one element, or of a march of many."""

    DONE = 0  # factored, converged, marched to the end
    NOT_CONVERGED = 1
    SINGULAR = 2
    NOT_FINITE = 3
    ROOM = 4  # no room for more elements
    PAUSE = 5  # to let the caller hear signals and show progress
    TOO_SMALL = 6  # the least step was reached


# Compiled loops return them as plain integers
DONE, NOT_CONVERGED, SINGULAR, NOT_FINITE, ROOM, PAUSE, TOO_SMALL = map(int, Code)
