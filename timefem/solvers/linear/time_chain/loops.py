"""Compiled loops of the time-chain LU; `chain` explains what they do and where everything is."""

import numpy as np

from ....kernels.lanes import LANES, add_lanes, aligned_zeros, copy_lanes, dot_runs
from ....kernels.loops import compiled

THRESHOLD = 0.01  # of the largest entry in its column, for a pivot: with 0.1 many more columns have to wait
ROUNDING = 0.1 * np.finfo(float).eps / THRESHOLD  # of a sum of products with multipliers up to 1 / THRESHOLD
TINY = 1e-300  # its inverse is still finite

FACTORED, NO_PIVOT, VANISHED, FRONT_FULL, STORE_FULL = range(5)


@compiled()
def whole(n):
    """Numbers rounded up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@compiled()
def _column(indices, k, flipped, last):
    """Column of entry k; from the end and counted from the last column when flipped."""
    return last - indices[len(indices) - 1 - k] if flipped else np.int64(indices[k])


@compiled()
def _value(data, k, flipped):
    return data[len(data) - 1 - k] if flipped else data[k]


@compiled()
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


@compiled()
def estimate_work(column_starts, row_starts, n_open_columns, n_open_rows, held_columns, held_rows):
    """Multiplications of a factorisation in which columns and rows wait for each other only."""
    done, work = 0, 0.0
    for e in range(len(column_starts) - 1):
        n_rows, n_columns = row_starts[e + 1] - done, column_starts[e + 1] - done
        k = max(min(n_rows - n_open_rows[e] - held_rows, n_columns - n_open_columns[e] - held_columns), 0)
        work += k * (n_rows - k / 2) * whole(n_columns)
        done += k
    return work


@compiled()
def _row_size(indptr, data, flipped, row):
    """Largest magnitude in a row of the matrix."""
    largest = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        largest = max(largest, abs(_value(data, k, flipped)))
    return largest


@compiled(error_model="numpy")
def factor(indptr, indices, data, flipped, column_starts, row_starts, column_order, row_order, n_open_columns,
           n_open_rows, held_columns, held_rows, capacity, ends, column_swaps, row_swaps, inverses, lower, upper):
    """Factor; return a code, two numbers, and what is left in the last front: row numbers, column numbers, entries.

    Returns FACTORED and the lengths used of `lower` and `upper`; or what is wrong, and the column without a pivot,
    the row that vanished, or the block at which there was not enough room. A pivot leaves the places behind those of
    the held rows and columns, so that these stay the first ones of the front.

    Parameters
    ----------
    indptr, indices, data : the matrix
    flipped : whether `indices` and `data` are read from the end, and columns counted from the last one
    column_starts, row_starts : (n_blocks + 1,) as in `ChainLU`
    column_order, row_order : (n,) open ones last in their block
    n_open_columns, n_open_rows : (n_blocks,)
    held_columns, held_rows : how many, from the first on, are never eliminated
    capacity : most rows and columns of the front
    ends : (n_blocks,) filled in: number of pivots up to the end of each block
    column_swaps, row_swaps : (n,) filled in: place that is interchanged with the first place not held, and this
        with place k
    inverses : (n,) filled in: 1 / pivot
    lower, upper : filled in: multipliers by pivot, and pivot rows behind the pivot
    """
    # row i of the front starts at front[rows[i]] and is row names[i] of the matrix; behind its columns are zeros
    n_blocks, stride = len(column_starts) - 1, whole(capacity) + LANES
    front, spare, zeros = aligned_zeros(capacity * stride), aligned_zeros(capacity * stride), aligned_zeros(LANES)
    rows, names, columns = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    slot, read = np.empty(len(column_order), np.int32), indptr[:-1].copy()
    sizes = np.zeros(len(column_order))  # largest magnitude so far in each column of the matrix
    none, empty = rows[:0], np.empty((0, 0))
    done, at_l, at_u, last = 0, 0, 0, column_starts[-1] - 1
    for e in range(n_blocks):
        old_rows, n_rows = row_starts[e] - done, row_starts[e + 1] - done
        old_columns, n_columns = column_starts[e] - done, column_starts[e + 1] - done
        complete, eligible = n_rows - n_open_rows[e], n_columns - n_open_columns[e]
        if n_rows > capacity or n_columns > capacity:
            return FRONT_FULL, e, 0, none, none, empty
        if at_l + eligible * whole(n_rows) > len(lower) or at_u + eligible * whole(n_columns) > len(upper):
            return STORE_FULL, e, 0, none, none, empty
        names[old_rows:n_rows] = row_order[row_starts[e]:row_starts[e + 1]]
        columns[old_columns:n_columns] = column_order[column_starts[e]:column_starts[e + 1]]
        for j in range(n_columns):
            slot[columns[j]] = j
        for i in range(n_rows):
            row, r = i * stride, names[i]
            rows[i] = row
            for v in range(whole(old_columns) if i < old_rows else 0, whole(n_columns) + LANES, LANES):
                copy_lanes(front, row + v, zeros, 0)
            k, stop = read[r], indptr[r + 1]
            while k < stop:
                c, value = _column(indices, k, flipped, last), _value(data, k, flipped)
                if c >= column_starts[e + 1]:
                    break
                front[row + slot[c]] = value
                sizes[c] = max(sizes[c], abs(value))
                k += 1
            read[r] = k

        k, j, tolerance = 0, held_columns, ROUNDING * n_columns
        while k + held_columns < eligible:
            best, pivot, tries = 0.0, k + held_rows, eligible - k - held_columns
            while tries > 0:  # from the last pivot on, since columns before it had to wait, and then from the start
                if j >= eligible:
                    j = k + held_columns
                best = 0.0
                for i in range(k + held_rows, complete):
                    value = abs(front[rows[i] + j])
                    if value > best:
                        best, pivot = value, i
                largest = best
                for i in range(k, k + held_rows):
                    largest = max(largest, abs(front[rows[i] + j]))
                for i in range(complete, n_rows):
                    largest = max(largest, abs(front[rows[i] + j]))
                if best >= THRESHOLD * largest:
                    break
                j += 1
                tries -= 1
            if tries == 0:  # all columns have to wait
                break
            if not (best > TINY and best < np.inf):
                return NO_PIVOT, columns[j], 0, none, none, empty
            if not best > tolerance * sizes[columns[j]]:
                # small for its column; rounding error only if it is small for its row as well, else badly scaled
                if not best > tolerance * _row_size(indptr, data, flipped, names[pivot]):
                    return NO_PIVOT, columns[j], 0, none, none, empty
            column_swaps[done + k], row_swaps[done + k] = done + j, done + pivot
            between = k + held_columns
            if j > k:
                for i in range(n_rows):
                    row = rows[i]
                    value = front[row + j]
                    front[row + j] = front[row + between]
                    front[row + between] = front[row + k]
                    front[row + k] = value
                column = columns[j]
                columns[j] = columns[between]
                columns[between] = columns[k]
                columns[k] = column
            between = k + held_rows
            source, name = rows[pivot], names[pivot]
            rows[pivot], names[pivot] = rows[between], names[between]
            rows[between], names[between] = rows[k], names[k]
            rows[k], names[k] = source, name
            inverse = 1.0 / front[source + k]
            inverses[done + k] = inverse
            for v in range(k + 1, n_columns, LANES):
                copy_lanes(upper, at_u, front, source + v)
                at_u += LANES
            first = k - k % LANES  # aligned vectors are faster, and columns up to k do not matter any more
            for i in range(k + 1, n_rows):
                row = rows[i]
                multiplier = front[row + k] * inverse
                lower[at_l + i - k - 1] = multiplier
                if multiplier != 0.0:
                    for v in range(first, n_columns, LANES):
                        add_lanes(front, row + v, -multiplier, front, source + v)
            length = n_rows - k - 1
            for i in range(length, whole(length)):
                lower[at_l + i] = 0.0
            at_l += whole(length)
            k += 1
            j += 1

        # what is left moves to the next front
        for i in range(k, n_rows):
            row = rows[i]
            if k + held_rows <= i < complete:
                j = k
                while j < n_columns and not abs(front[row + j]) > tolerance * sizes[columns[j]]:
                    j += 1
                if j == n_columns:  # found here and now: its rounding errors would grow into a pivot on the way
                    largest = 0.0
                    for j in range(k, n_columns):
                        largest = max(largest, abs(front[row + j]))
                    if not largest > tolerance * _row_size(indptr, data, flipped, names[i]):
                        return VANISHED, names[i], 0, none, none, empty
            names[i - k] = names[i]
            for v in range(0, n_columns - k, LANES):
                copy_lanes(spare, (i - k) * stride + v, front, row + k + v)
        for j in range(k, n_columns):
            columns[j - k] = columns[j]
        front, spare = spare, front
        done += k
        ends[e] = done
    n_rows, n_columns = row_starts[n_blocks] - done, column_starts[n_blocks] - done
    left_over = np.empty((n_rows, n_columns))
    for i in range(n_rows):
        for j in range(n_columns):
            left_over[i, j] = front[i * stride + j]
    return FACTORED, at_l, at_u, names[:n_rows].copy(), columns[:n_columns].copy(), left_over


@compiled()
def _to_front(y, k, between, other):
    """Interchange places `other` and `between`, then `between` and k; return what is now at k."""
    value = y[other]
    y[other] = y[between]
    y[between] = y[k]
    y[k] = value
    return value


@compiled()
def _from_front(y, k, between, other, value):
    """Put `value` at k and undo `_to_front`."""
    y[k] = y[between]
    y[between] = y[other]
    y[other] = value


@compiled(error_model="numpy")
def forward(starts, held, ends, swaps, scales, factors, y):
    """Eliminate from the right-hand side y, padded by 8 zeros, in the order of the chain's rows.

    Behind the pivots' places is then the right-hand side of what is left over. For the matrix, `starts`, `held` and
    `swaps` are those of the rows, `factors` is `lower` and `scales` is empty; for the transposed matrix they are those
    of the columns, `upper` and `inverses`.
    """
    k, at = 0, 0
    for e in range(len(ends)):
        while k < ends[e]:
            value = _to_front(y, k, k + held, swaps[k])
            if len(scales) > 0:
                value *= scales[k]
                y[k] = value
            k += 1
            for v in range(k, starts[e + 1], LANES):
                add_lanes(y, v, -value, factors, at)
                at += LANES


@compiled(error_model="numpy")
def backward(starts, held, ends, swaps, scales, factors, y):
    """Recover the solution from y, which holds it behind the pivots' places; `upper` where `forward` has `lower`."""
    k, at = ends[-1], len(factors)
    for e in range(len(ends) - 1, -1, -1):
        while k > (ends[e - 1] if e > 0 else 0):
            length = whole(starts[e + 1] - k)
            at -= length
            value = y[k - 1] - dot_runs(factors, at, y, k, length)
            k -= 1
            if len(scales) > 0:
                value *= scales[k]
            _from_front(y, k, k + held, swaps[k], value)
