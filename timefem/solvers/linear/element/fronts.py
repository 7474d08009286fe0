"""LU of the tangent of one element, front by front, columns as vectors of 8 doubles.

Columns of each front are eliminated above and below their pivots (Gauss-Jordan): so whole columns are updated at once,
rows stay where they are, and a solve with the factors is nothing but sums of columns. See `pattern` for the fronts.

Unknowns that enter one equation only are left for the end: that equation gives them once the others are known. Many
elements have such unknowns, for instance the position of a free body. (Those with a constant coefficient do not come
here at all: see `elements.evaluation.single_point`.)
"""

from enum import IntEnum

import numpy as np

from ....kernels.lanes import (
    LANES,
    add_four_lanes,
    add_four_twice,
    add_lanes,
    clear_lane,
    find_lane,
    largest_lane,
    load,
    set_lanes,
    store,
)
from ....kernels.loops import compiled
from ....kernels.record import Record, aligned
from ....kernels.runs import add_columns, gather_runs, largest_of_runs

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
    kept: np.ndarray  # number of this row among those of pivots
    left: np.ndarray  # rows that are left, front by front
    weights: np.ndarray  # of the rows of all fronts
    vector: np.ndarray  # of a right-hand side, likewise
    free: np.ndarray  # weights of the rows of a front that are no pivots yet
    further: np.ndarray  # unknowns of a front that are known, times -1
    rows: np.ndarray  # those of the pivots of a front, ascending
    number: np.ndarray  # of each row of a front among these


def factors_for(fronts):
    """The `Factors` for `Fronts`."""
    table = fronts.fronts
    n_vector, n_own = int(table["height"].sum()), int(table["n_own"].sum())
    highest = int(table["height"].max(initial=0))
    return Factors(np.zeros(n_own, np.int64), np.zeros(n_own), np.zeros(n_own, np.int64), np.zeros(n_vector, np.int64),
                   np.zeros(n_vector), aligned(n_vector), aligned(highest), aligned(int(table["width"].max(initial=0))),
                   np.zeros(highest, np.int64), np.zeros(highest, np.int64))


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
        _pass_on(fronts, front, a, own, factors)
        own += front.n_own
    for i in range(fronts.explicit.shape[0]):
        if not 0.0 < abs(a[fronts.entry_places[fronts.starts[i]]]) < 1e300:
            return False
    return True


@compiled(error_model="numpy", _nrt=False)
def _pass_on(fronts, front, a, own, factors):
    """Give the rows that are left to the parent, and pack those of the pivots, all that a solve needs: in their order,
    so that none is overwritten before it is read. Where no rows are left, there may be no parent."""
    above, n_left, n_own = fronts.fronts[max(front.parent, 0)], front.n_rows - front.n_own, front.n_own
    left, pivots, number = front.vector, 0, above.vector + front.at
    for i in range(front.n_rows):
        if load(factors.free, i) > 0.0:
            store(factors.left, left, i)
            store(factors.weights, number, load(factors.weights, front.vector + i))
            left += 1
            number += 1
        else:
            store(factors.rows, pivots, i)
            store(factors.number, i, pivots)
            pivots += 1
    height, packed_height = front.height, _whole(n_own)
    for i in range(pivots, packed_height):
        store(factors.rows, i, 0)
    for j in range(own, own + n_own):
        store(factors.kept, j, load(factors.number, load(factors.pivots, j)))
    source = packed = front.matrix + n_own * height
    target, above_height, places = above.matrix + front.at, above.height, front.places
    for k in range(places, places + front.width - n_own):
        gather_runs(a, target + load(fronts.places, k) * above_height, a, source, factors.left, front.vector, n_left)
        gather_runs(a, packed, a, source, factors.rows, 0, packed_height)
        source += height
        packed += packed_height


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _whole(n):
    return (n + LANES - 1) // LANES * LANES


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
            pivot = load(factors.pivots, j)
            for c in range(column + height, behind, height):
                value = load(a, c + pivot)
                for r in range(0, height, LANES):
                    add_lanes(a, c + r, value, a, column + r)
            column += height
        if behind == end:
            break
        four, c = _four(a, factors.pivots, first, start, height), behind
        while c < end:
            by, d = _multipliers(a, c, four), c + height
            if d < end:
                others = _multipliers(a, d, four)
                if _any(others):
                    if _any(by):
                        for r in range(0, height, LANES):
                            add_four_twice(a, c + r, d + r, by + others, a, start + r, height)
                    else:
                        for r in range(0, height, LANES):
                            add_four_lanes(a, d + r, others, a, start + r, height)
                    c = d + height
                    continue
            if _any(by):
                for r in range(0, height, LANES):
                    add_four_lanes(a, c + r, by, a, start + r, height)
            c = d + height
    return True


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _four(a, pivots, first, start, height):
    """Rows of four pivots from `first` on, and the multipliers among them in their columns, which begin at `start`."""
    p, q, s, t = load(pivots, first), load(pivots, first + 1), load(pivots, first + 2), load(pivots, first + 3)
    second, third = start + height, start + 2 * height
    return ((p, q, s, t), (load(a, start + q), load(a, start + s), load(a, start + t), load(a, second + s),
                           load(a, second + t), load(a, third + t)))


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _multipliers(a, c, four):
    """By what the columns of four pivots are added to the column at c of a."""
    (p, q, s, t), (pq, ps, pt, qs, qt, st) = four
    u = load(a, c + p)
    v = load(a, c + q) + u * pq
    w = load(a, c + s) + u * ps + v * qs
    return u, v, w, load(a, c + t) + u * pt + v * qt + w * st


@compiled(error_model="numpy", _nrt=False, forceinline=True)
def _any(four):
    """Whether one of four numbers is not zero."""
    a, b, c, d = four
    return not abs(a) + abs(b) + (abs(c) + abs(d)) == 0.0


@compiled(error_model="numpy", _nrt=False)
def _pivot(a, column, height, j, factors):
    """Choose pivot j, of the front's column that starts at `column`, and turn this into multipliers.

    The pivot of an earlier, similar matrix is taken again where it is large enough: this takes the search off the
    critical path.
    """
    free = factors.free
    size = largest_of_runs(a, column, free, 0, height)
    if not (size > 0.0 and size < 1e300):
        return False
    pivot = load(factors.pivots, j)
    if not abs(load(a, column + pivot)) * load(free, pivot) > SAME_PIVOT * size:
        block = 0
        while largest_lane(a, column + block, free, block) != size:
            block += LANES
        pivot = block + find_lane(a, column + block, free, block, size)
        store(factors.pivots, j, pivot)
    clear_lane(free, pivot // LANES * LANES, pivot % LANES)
    inverse = 1.0 / load(a, column + pivot)
    store(factors.inverses, j, inverse)
    for r in range(0, height, LANES):
        set_lanes(a, column + r, -inverse, a, column + r)
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
            value, column = load(vector, start + load(factors.pivots, own + j)), front.matrix + j * height
            for r in range(0, height, LANES):
                add_lanes(vector, start + r, value, a, column + r)
        own += front.n_own
        if front.parent >= 0:
            gather_runs(vector, fronts.fronts[front.parent].vector + front.at, vector, start, factors.left, start,
                        front.n_rows - front.n_own)
    further, known = factors.further, factors.free
    for f in range(fronts.fronts.shape[0] - 1, -1, -1):
        front = fronts.fronts[f]
        start, n_own, n = front.vector, front.n_own, front.width - front.n_own
        height, columns = _whole(n_own), front.columns
        own -= n_own
        for j in range(n_own):
            store(known, load(factors.kept, own + j), load(vector, start + load(factors.pivots, own + j)))
        for c in range(n):
            store(further, c, -load(x, load(fronts.columns, columns + n_own + c)))
        packed = front.matrix + n_own * front.height
        for r in range(0, height, LANES):
            add_columns(known, r, further, 0, n, a, (packed + r, height))
        for j in range(n_own):
            store(x, load(fronts.columns, columns + j),
                  load(known, load(factors.kept, own + j)) * load(factors.inverses, own + j))
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
