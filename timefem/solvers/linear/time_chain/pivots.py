"""What a pivot of the time-chain LU has to be, what comes of a factorisation, and elimination by panels of 8 pivots,
for blocks that are large and dense.

What 8 pivots change is added at once to the rows behind them, one load and store in place of eight. Until then columns
that are looked at for a pivot, and rows that become pivot rows, take what is pending on their own. Pivots, and what is
kept of them, are those of `loops.eliminate`, to rounding.
"""

import numpy as np

from ....kernels.lanes import LANES, clear_lane, find_lane, largest_lane, load, set_lanes, store
from ....kernels.loops import compiled
from ....kernels.runs import add_runs, clear_runs, copy_runs, take_eight_runs

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


@compiled(error_model="numpy", _nrt=False)
def _add_pending(work, front, first, n_rows, width, q):
    """Add what q pivots change to the rows from `first` on and to those that are held, up to place `width` in them."""
    rows, panel, pivots = work.rows, work.multipliers, work.pivot_rows
    begin, height, stride = work.begin, work.height, work.stride
    start = begin + (first - work.held_rows) // LANES * LANES
    for m in range(q, LANES):
        clear_runs(panel, m * height, whole(n_rows))
        clear_runs(pivots, m * stride, begin)
        clear_runs(pivots, m * stride + start, whole(width - start))
    for i in range(n_rows):
        if work.held_rows <= i < first:
            continue
        changed = False
        for m in range(q):
            changed |= load(panel, m * height + i) != 0.0
        if changed:
            row = load(rows, i)
            take_eight_runs(front, row, begin, pivots, (0, stride), panel, (i, height))
            take_eight_runs(front, row + start, whole(width - start), pivots, (start, stride), panel, (i, height))


@compiled(error_model="numpy", _nrt=False)
def _largest(column, first, stop, eligible):
    """The largest magnitude of those that are eligible, and its place, `first` where all are zero."""
    largest, place = 0.0, first
    for i in range(first // LANES * LANES, stop, LANES):
        found = largest_lane(column, i, eligible, i)
        if found > largest:
            largest, place = found, i
    return largest, place + find_lane(column, place, eligible, place, largest) if largest > 0.0 else first


@compiled(error_model="numpy", _nrt=False)
def eliminate_by_panels(work, front, matrix, block, swaps, kept):
    """As `loops.eliminate`."""
    (column_swaps, row_swaps), (inverses, lower, upper) = swaps, kept
    n_rows, n_columns, complete, eligible, done, held_columns, at_l, at_u = block
    rows, names, columns, sizes = work.rows, work.names, work.columns, work.sizes
    begin, stride, held_rows, height = work.begin, work.stride, work.held_rows, work.height
    column, panel, pivots, inside, others = work.column, work.multipliers, work.pivot_rows, work.inside, work.others
    fill, full = begin - held_columns, whole(n_rows)
    width = n_columns + fill
    for i in range(full + LANES):
        store(column, i, 0.0)
        store(inside, i, 1.0 if held_rows <= i < complete else 0.0)
        store(others, i, 1.0 if complete <= i < n_rows else 0.0)
    k, q, j, tolerance = 0, 0, held_columns, ROUNDING * n_columns
    while k + held_columns < eligible:
        place, tries = k + held_rows, eligible - k - held_columns
        best, pivot, at = 0.0, place, 0
        top = 0 if held_rows > 0 else place // LANES * LANES  # rows above are done
        while tries > 0:  # as in `eliminate`
            if j >= eligible:
                j = k + held_columns
            at = j + fill
            for i in range(0 if held_rows > 0 else place, n_rows):
                store(column, i, load(front, load(rows, i) + at))
            for m in range(q):
                value = load(pivots, m * stride + at)
                if value != 0.0:
                    add_runs(column, top, -value, panel, m * height + top, full - top)
            largest, _ = _largest(column, complete, n_rows, others)
            held = 0.0
            for i in range(held_rows):
                held = max(held, abs(load(column, i)))
            best, pivot = _largest(column, place, complete, inside)
            if best >= THRESHOLD * largest and best >= HELD * held:
                break
            j += 1
            tries -= 1
        if tries == 0:
            break
        if not is_pivot(best, tolerance, sizes[columns[j]], matrix, names[pivot]):
            return NO_PIVOT, columns[j], 0, 0
        column_swaps[done + k], row_swaps[done + k] = done + j, done + pivot
        first = begin + k
        if at > first:
            exchange_columns(front, rows, n_rows, at, first)
            for m in range(q):
                exchange(pivots, m * stride + at, m * stride + first)
            columns[j], columns[k + held_columns] = columns[k + held_columns], columns[j]
        source = rows[pivot]
        if pivot != place:
            rows[pivot], rows[place], names[pivot], names[place] = rows[place], source, names[place], names[pivot]
            exchange(column, pivot, place)
            for m in range(q):
                exchange(panel, m * height + pivot, m * height + place)
        start = first - k % LANES
        for m in range(q):
            value = load(panel, m * height + place)
            if value != 0.0:
                add_runs(front, source, -value, pivots, m * stride, begin)
                add_runs(front, source + start, -value, pivots, m * stride + start, whole(width - start))
        inverse = 1.0 / load(column, place)
        inverses[done + k] = inverse
        behind = whole(width - first - 1)
        copy_runs(upper, at_u, front, source, begin)
        copy_runs(upper, at_u + begin, front, source + first + 1, behind)
        at_u += begin + behind
        copy_runs(pivots, q * stride, front, source, begin)
        copy_runs(pivots, q * stride + start, front, source + start, whole(width - start) + LANES)
        own = q * height
        for i in range(top, full, LANES):
            set_lanes(panel, own + i, inverse, column, i)
        clear_runs(panel, own + full, LANES)
        for i in range(max(top, held_rows), place + 1):
            store(panel, own + i, 0.0)
        clear_runs(lower, at_l, whole(held_rows))
        for i in range(held_rows):
            store(lower, at_l + i, load(panel, own + i))
        at_l += whole(held_rows)
        behind = whole(n_rows - place - 1)
        copy_runs(lower, at_l, panel, own + place + 1, behind)
        at_l += behind
        clear_lane(inside, place // LANES * LANES, place % LANES)
        k, q, j = k + 1, q + 1, j + 1
        if q == LANES:
            _add_pending(work, front, held_rows + k, n_rows, width, q)
            q = 0
    if q > 0:
        _add_pending(work, front, held_rows + k, n_rows, width, q)
    return FACTORED, k, at_l, at_u
