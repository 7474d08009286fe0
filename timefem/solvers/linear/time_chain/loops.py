"""Compiled loops of the time-chain LU; `lu` explains what they do and where everything is."""

import numpy as np

from ....kernels.lanes import LANES, load, store
from ....kernels.loops import compiled
from ....kernels.record import Record, aligned
from ....kernels.runs import add_runs, clear_runs, copy_reversed, copy_runs, dot_runs, keep_largest
from .pivots import (
    FACTORED,
    FRONT_FULL,
    HELD,
    NO_PIVOT,
    ROUNDING,
    STORE_FULL,
    THRESHOLD,
    VANISHED,
    eliminate_by_panels,
    exchange_columns,
    is_pivot,
    row_size,
    whole,
)


@compiled(_nrt=False)
def _column(indices, k, flipped, last):
    """Column of entry k; from the end and counted from the last column when flipped."""
    return last - indices[len(indices) - 1 - k] if flipped else np.int64(indices[k])


@compiled(_nrt=False)
def check_pattern(indptr, indices, flipped, column_starts, row_starts, open_columns, open_rows):
    """Mark columns that the next block touches and rows that touch it; return a row that cannot be used, or -1."""
    n_blocks, last = len(column_starts) - 1, column_starts[-1] - 1
    for e in range(n_blocks):
        low, start, stop = column_starts[max(e - 1, 0)], column_starts[e], column_starts[e + 1]
        high = column_starts[min(e + 2, n_blocks)]
        for r in range(row_starts[e], row_starts[e + 1]):
            for k in range(indptr[r], indptr[r + 1]):
                c = _column(indices, k, flipped, last)
                if c < low or c >= high or (k > indptr[r] and c <= _column(indices, k - 1, flipped, last)):
                    return r
                if c < start:
                    open_columns[c] = True
                if c >= stop:
                    open_rows[r] = True
    return -1


@compiled(interpreted=True)
def order_open_last(starts, is_open, order, n_open):
    """Fill in an order in which the open ones come last in their block, and how many are open in each; whether it is
    the order that they are in."""
    at, same = 0, True
    for e in range(len(starts) - 1):
        for wanted in (False, True):
            first = at
            for i in range(starts[e], starts[e + 1]):
                if is_open[i] == wanted:
                    order[at] = i
                    same = same and at == i
                    at += 1
            n_open[e] = at - first
    return same


@compiled(interpreted=True)
def estimate_work(column_starts, row_starts, n_open_columns, n_open_rows, held_columns, held_rows):
    """Multiplications of a factorisation in which columns and rows wait for each other only."""
    done, work = 0, 0.0
    for e in range(len(column_starts) - 1):
        n_rows, n_columns = row_starts[e + 1] - done, column_starts[e + 1] - done
        k = max(min(n_rows - n_open_rows[e] - held_rows, n_columns - n_open_columns[e] - held_columns), 0)
        work += k * (n_rows - k / 2) * whole(n_columns)
        done += k
    return work


class Front(Record):
    """What `factor` works on; at the end it holds the rows and columns that are left over.

    Row i of the front starts at rows[i] and is row names[i] of the matrix; zeros fill up its held columns to whole
    vectors, then come the others, and zeros again.
    """

    stride: int  # from one row to the next
    begin: int  # place in a row of the first column that is not held
    held_rows: int
    height: int  # of the columns of panels
    entries: np.ndarray  # of rows with room for as many columns
    spare: np.ndarray  # the next front
    rows: np.ndarray
    names: np.ndarray
    columns: np.ndarray  # their numbers in the matrix
    occupied: np.ndarray  # rows that are not zero in the column of the pivot
    slot: np.ndarray  # places of the columns of the matrix in rows of the front
    read: np.ndarray  # how much of the rows of the matrix is in the front
    sizes: np.ndarray  # largest magnitude so far in each column of the matrix
    counts: np.ndarray  # multiplications so far, and those there would be if no multiplier were zero
    multipliers: np.ndarray  # of a panel of pivots, by columns
    pivot_rows: np.ndarray  # of the panel
    column: np.ndarray  # that is looked at for a pivot
    inside: np.ndarray  # 1 for rows with which it may be eliminated
    others: np.ndarray  # 1 for the rest that is not held


def front_for(capacity, held_columns, held_rows, n_rows, n_columns):
    """A `Front` of that many rows and columns at most, for a matrix of this shape."""
    begin, height = whole(held_columns), whole(capacity) + LANES
    stride = begin + whole(capacity) + LANES
    return Front(stride, begin, held_rows, height, aligned(capacity * stride), aligned(capacity * stride),
                 *(np.empty(capacity, np.int64) for _ in range(4)), np.empty(n_columns, np.int32),
                 np.empty(n_rows, np.int64), np.empty(n_columns), np.zeros(2), aligned(LANES * height),
                 aligned(LANES * stride), *(aligned(height) for _ in range(3)))


def left_over(front, n_blocks, held_columns, n_rows, n_columns):
    """Row numbers, column numbers, and entries of what the last of `n_blocks` blocks left over."""
    entries = (front.spare if n_blocks % 2 else front.entries).reshape(-1, front.stride)[:n_rows]
    return front.names[:n_rows].copy(), front.columns[:n_columns].copy(), np.concatenate(
        [entries[:, :held_columns], entries[:, front.begin:front.begin + n_columns - held_columns]], axis=1)


@compiled(error_model="numpy", _nrt=False)
def eliminate(work, front, matrix, block, swaps, kept):
    """Eliminate what can be eliminated of the front; return FACTORED, the number of pivots, and the lengths used of
    `lower` and `upper`; or NO_PIVOT and the column.

    Parameters
    ----------
    work : Front
    front : its entries
    matrix : (indptr, data, flipped)
    block : numbers of rows, of columns, of complete rows, of columns that may be eliminated, of pivots of earlier
        blocks, and of held columns; lengths used of `lower` and `upper`
    swaps : (column_swaps, row_swaps)
    kept : (inverses, lower, upper)
    """
    (column_swaps, row_swaps), (inverses, lower, upper) = swaps, kept
    n_rows, n_columns, complete, eligible, done, held_columns, at_l, at_u = block
    rows, names, columns, occupied, sizes = work.rows, work.names, work.columns, work.occupied, work.sizes
    begin, held_rows = work.begin, work.held_rows
    fill, fill_rows = begin - held_columns, whole(held_rows) - held_rows
    k, j, tolerance, n_taken, n_dense = 0, held_columns, ROUNDING * n_columns, 0.0, 0.0
    while k + held_columns < eligible:
        place, tries = k + held_rows, eligible - k - held_columns
        best, pivot, at, n_entries, n_others = 0.0, place, 0, 0, 0
        while tries > 0:  # from the last pivot on, since columns before it had to wait, and then from the start
            if j >= eligible:
                j = k + held_columns
            at, best, largest, held, n_entries = j + fill, 0.0, 0.0, 0.0, 0
            for i in range(held_rows):
                value = abs(load(front, load(rows, i) + at))
                store(occupied, n_entries, i)
                n_entries += value != 0.0
                held = max(held, value)
            for i in range(complete, n_rows):
                value = abs(load(front, load(rows, i) + at))
                store(occupied, n_entries, i)
                n_entries += value != 0.0
                largest = max(largest, value)
            n_others = n_entries
            for i in range(place, complete):
                value = abs(load(front, load(rows, i) + at))
                store(occupied, n_entries, i)
                n_entries += value != 0.0
                if value > best:
                    best, pivot = value, i
            if best >= THRESHOLD * largest and best >= HELD * held:
                break
            j += 1
            tries -= 1
        if tries == 0:  # all columns have to wait
            break
        if not is_pivot(best, tolerance, sizes[columns[j]], matrix, names[pivot]):
            return NO_PIVOT, columns[j], 0, 0
        column_swaps[done + k], row_swaps[done + k] = done + j, done + pivot
        first = begin + k
        if at > first:
            exchange_columns(front, rows, n_rows, at, first)
            columns[j], columns[k + held_columns] = columns[k + held_columns], columns[j]
        source = rows[pivot]
        rows[pivot], rows[place], names[pivot], names[place] = rows[place], source, names[place], names[pivot]
        if n_others < n_entries and occupied[n_others] == place:  # now that of the pivot
            n_entries -= 1
            occupied[n_others] = occupied[n_entries]
        inverse = 1.0 / front[source + first]
        inverses[done + k] = inverse
        behind = whole(n_columns + fill - first - 1)
        copy_runs(upper, at_u, front, source, begin)
        copy_runs(upper, at_u + begin, front, source + first + 1, behind)
        at_u += begin + behind
        length = whole(held_rows) + whole(n_rows - place - 1)
        clear_runs(lower, at_l, length)
        start = first - k % LANES  # aligned vectors are faster, and columns of pivots do not matter any more
        for m in range(n_entries):
            i = load(occupied, m)
            row = load(rows, i)
            multiplier = load(front, row + first) * inverse
            store(lower, at_l + (i if i < held_rows else i + fill_rows - k - 1), multiplier)
            add_runs(front, row, -multiplier, front, source, begin)
            add_runs(front, row + start, -multiplier, front, source + start, whole(n_columns + fill - start))
        at_l += length
        n_taken += n_entries * behind
        n_dense += (n_rows - k - 1) * behind
        k += 1
        j += 1
    work.counts[0] += n_taken
    work.counts[1] += n_dense
    return FACTORED, k, at_l, at_u


class ChainPattern(Record):
    """A matrix without its numbers, and in which order it is eliminated."""

    indptr: np.ndarray
    indices: np.ndarray
    flipped: int  # whether `indices` and the data are read from the end, and columns counted from the last one
    column_starts: np.ndarray  # (n_blocks + 1,) as in `ChainLU`
    row_starts: np.ndarray
    column_order: np.ndarray  # (n,) open ones last in their block
    row_order: np.ndarray
    n_open_columns: np.ndarray  # (n_blocks,)
    n_open_rows: np.ndarray
    held_columns: int  # how many, from the first on, are never eliminated
    held_rows: int


class Factors(Record):
    """What `factor` fills in."""

    ends: np.ndarray  # (n_blocks,) number of pivots up to the end of each block
    column_swaps: np.ndarray  # (n,) place interchanged with that of pivot k, the one behind k pivots and those held
    row_swaps: np.ndarray
    inverses: np.ndarray  # (n,) 1 / pivot
    lower: np.ndarray  # multipliers by pivot; held ones first
    upper: np.ndarray  # pivot rows behind the pivot; held ones first


@compiled(error_model="numpy", _nrt=False)
def factor(pattern, data, by_panels, work, factors):
    """Factor; return a code and two numbers.

    Returns FACTORED and the lengths used of `lower` and `upper`; or what is wrong, and the column without a pivot,
    the row that vanished, or the block at which there was not enough room. Held rows and columns stay the first ones
    of the front; pivot k comes to the first place behind them, and they have a run of vectors of their own in the front
    and in what is kept. Beside held rows HELD is enough for a pivot in place of THRESHOLD: they hold how the inside
    answers to the held end, which may grow along the slab, and nothing is eliminated by them.

    Parameters
    ----------
    pattern : ChainPattern
    data : (nnz,) float
    by_panels : bool
    work : Front
    factors : Factors
    """
    indptr, indices, flipped = pattern.indptr, pattern.indices, pattern.flipped != 0
    column_starts, row_starts = pattern.column_starts, pattern.row_starts
    column_order, row_order = pattern.column_order, pattern.row_order
    n_open_columns, n_open_rows = pattern.n_open_columns, pattern.n_open_rows
    held_columns, held_rows, ends = pattern.held_columns, pattern.held_rows, factors.ends
    column_swaps, row_swaps, inverses = factors.column_swaps, factors.row_swaps, factors.inverses
    lower, upper = factors.lower, factors.upper
    n_blocks, begin, fill_rows = len(column_starts) - 1, work.begin, whole(held_rows) - held_rows
    fill, stride, capacity = begin - held_columns, work.stride, work.rows.shape[0]  # first: from columns to places
    front, spare, rows, names, columns = work.entries, work.spare, work.rows, work.names, work.columns
    slot, read, sizes = work.slot, work.read, work.sizes
    matrix, swaps, kept = (indptr, data, flipped), (column_swaps, row_swaps), (inverses, lower, upper)
    for r in range(read.shape[0]):
        read[r] = indptr[r]
    for c in range(sizes.shape[0]):
        sizes[c] = 0.0
    sign, corner, origin = (-1, column_starts[-1] - 1, len(indices) - 1) if flipped else (1, 0, 0)
    done, at_l, at_u = 0, 0, 0
    for e in range(n_blocks):
        old_rows, n_rows = row_starts[e] - done, row_starts[e + 1] - done
        old_columns, n_columns = column_starts[e] - done, column_starts[e + 1] - done
        complete, eligible = n_rows - n_open_rows[e], n_columns - n_open_columns[e]
        if n_rows > capacity or n_columns > capacity:
            return FRONT_FULL, e, 0
        if (at_l + eligible * (fill_rows + whole(n_rows) + LANES) > len(lower)
                or at_u + eligible * (begin + whole(n_columns)) > len(upper)):
            return STORE_FULL, e, 0
        for i in range(old_rows, n_rows):  # slices of which Numba checks the shapes take two seconds to compile
            names[i] = row_order[done + i]
        for j in range(old_columns, n_columns):
            columns[j] = column_order[done + j]
        for j in range(n_columns):
            slot[columns[j]] = j if j < held_columns else j + fill
        base, j = columns[0], 0
        while j < n_columns and columns[j] == base + j:
            j += 1
        dense = n_columns // 2 if j == n_columns and held_columns == 0 else n_columns  # rows of fewer entries have gaps
        for i in range(n_rows):
            row, r = i * stride, names[i]
            rows[i] = row
            old = whole(old_columns + fill) if i < old_rows else 0
            clear_runs(front, row + old, whole(n_columns + fill) + LANES - old)
            at, stop = origin + sign * read[r], origin + sign * np.int64(indptr[r + 1])
            n_entries = sign * (stop - at)
            if n_entries > dense and n_entries >= LANES:
                c = corner + sign * np.int64(load(indices, at))
                last = corner + sign * np.int64(load(indices, stop - sign))
                if last - c == n_entries - 1 and last < column_starts[e + 1]:  # without gaps: in vectors
                    for k in range(0, n_entries // LANES * LANES, LANES):
                        if flipped:
                            copy_reversed(front, row + c - base + k, data, at - k - LANES + 1)
                        else:
                            copy_runs(front, row + c - base + k, data, at + k, LANES)
                        keep_largest(sizes, c + k, front, row + c - base + k)
                    at += sign * (n_entries // LANES * LANES)
            while at != stop:
                c = corner + sign * load(indices, at)
                if c >= column_starts[e + 1]:
                    break
                value = load(data, at)
                store(front, row + load(slot, c), value)
                store(sizes, c, max(load(sizes, c), abs(value)))
                at += sign
            read[r] = sign * (at - origin)

        block = n_rows, n_columns, complete, eligible, done, held_columns, at_l, at_u
        if by_panels:
            code, k, at_l, at_u = eliminate_by_panels(work, front, matrix, block, swaps, kept)
        else:
            code, k, at_l, at_u = eliminate(work, front, matrix, block, swaps, kept)
        if code != FACTORED:
            return code, k, 0

        # what is left moves to the next front
        for j in range(held_columns + k, n_columns):
            columns[j - k] = columns[j]
        n_left, tolerance = n_columns - k, ROUNDING * n_columns
        for i in range(n_rows):
            if held_rows <= i < held_rows + k:
                continue
            row, new = rows[i], (i if i < held_rows else i - k) * stride
            names[new // stride] = names[i]
            copy_runs(spare, new, front, row, begin)
            copy_runs(spare, new + begin, front, row + begin + k, whole(n_left - held_columns))
            if held_rows <= i < complete:
                j = 0
                while j < n_left and not (abs(spare[new + j + (fill if j >= held_columns else 0)])
                                          > tolerance * sizes[columns[j]]):
                    j += 1
                if j == n_left:  # found here and now: its rounding errors would grow into a pivot on the way
                    largest = 0.0
                    for j in range(n_left + fill):
                        largest = max(largest, abs(spare[new + j]))
                    if not largest > tolerance * row_size(indptr, data, flipped, names[i]):
                        return VANISHED, names[i], 0
        front, spare = spare, front
        done += k
        ends[e] = done
    return FACTORED, at_l, at_u


@compiled(error_model="numpy", _nrt=False)
def forward(starts, held, ends, swaps, scales, factors, y):
    """Eliminate from the right-hand side y, padded by 8 zeros, in the order of the chain's rows.

    Held ones come first, then the pivots, then what is left over. For the matrix, `starts`, `held` and
    `swaps` are those of the rows, `factors` is `lower` and `scales` is empty; for the transposed matrix they are those
    of the columns, `upper` and `inverses`.
    """
    k, at = 0, 0
    for e in range(len(ends)):
        while k < ends[e]:
            place, other = held + k, load(swaps, k)
            value = load(y, other)
            store(y, other, load(y, place))
            if len(scales) > 0:
                value *= scales[k]
            store(y, place, value)
            add_runs(y, 0, -value, factors, at, whole(held))
            at += whole(held)
            add_runs(y, place + 1, -value, factors, at, whole(starts[e + 1] - place - 1))
            at += whole(starts[e + 1] - place - 1)
            k += 1


@compiled(error_model="numpy", _nrt=False)
def backward(starts, held, ends, swaps, scales, factors, y):
    """Recover the solution from y, which holds it in the places of what is held and left over; `upper` where `forward`
    has `lower`."""
    k, at = ends[-1] - 1, len(factors)
    for e in range(len(ends) - 1, -1, -1):
        while k >= (ends[e - 1] if e > 0 else 0):
            place, length = held + k, whole(starts[e + 1] - held - k - 1)
            at -= length
            value = load(y, place) - dot_runs(factors, at, y, place + 1, length)
            if held > 0:
                at -= whole(held)
                value -= dot_runs(factors, at, y, 0, whole(held))
            if len(scales) > 0:
                value *= scales[k]
            store(y, place, load(y, load(swaps, k)))
            store(y, load(swaps, k), value)
            k -= 1
