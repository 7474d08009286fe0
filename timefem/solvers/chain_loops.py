"""Compiled loops of the time-chain LU; `chain` explains what they do and where everything is."""

import numpy as np
from numba import njit

from ..elements.lanes import LANES, add_lanes, aligned_zeros, copy_lanes, dot_runs

THRESHOLD = 0.1  # of the largest entry in its column, for a pivot
EPS = np.finfo(float).eps
TINY = 1e-300  # its inverse is still finite

FACTORED, NO_PIVOT, VANISHED, FRONT_FULL, STORE_FULL = range(5)


@njit(cache=True)
def whole(n):
    """Numbers rounded up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@njit(cache=True)
def check_pattern(indptr, indices, column_starts, row_starts, open_columns, open_rows):
    """Mark columns that the next block touches and rows that touch it; return a row that cannot be used, or -1."""
    n_blocks = len(column_starts) - 1
    for e in range(n_blocks):
        low, start, stop = column_starts[max(e - 1, 0)], column_starts[e], column_starts[e + 1]
        high = column_starts[min(e + 2, n_blocks)]
        for r in range(row_starts[e], row_starts[e + 1]):
            for k in range(indptr[r], indptr[r + 1]):
                c = indices[k]
                if c < low or c >= high or (k > indptr[r] and c <= indices[k - 1]):
                    return r
                if c < start:
                    open_columns[c] = True
                if c >= stop:
                    open_rows[r] = True
    return -1


@njit(cache=True)
def _row_size(indptr, data, row):
    """Largest magnitude in a row of the matrix."""
    largest = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        largest = max(largest, abs(data[k]))
    return largest


@njit(cache=True, error_model="numpy")
def factor(indptr, indices, data, column_starts, row_starts, column_order, row_order, n_open_columns, n_open_rows,
           capacity, ends, column_swaps, row_swaps, inverses, lower, upper):
    """Factor; return a code and two numbers.

    Returns FACTORED and the lengths used of `lower` and `upper`; or what is wrong, and the column without a pivot,
    the row that vanished, or the block at which there was not enough room.

    Parameters
    ----------
    indptr, indices, data : the matrix
    column_starts, row_starts : (n_blocks + 1,) as in `ChainLU`
    column_order, row_order : (n,) open ones last in their block
    n_open_columns, n_open_rows : (n_blocks,)
    capacity : most rows and columns of the front
    ends : (n_blocks,) filled in: number of pivots up to the end of each block
    column_swaps, row_swaps : (n,) filled in: place that place k is interchanged with
    inverses : (n,) filled in: 1 / pivot
    lower, upper : filled in: multipliers by pivot, and pivot rows behind the pivot
    """
    # row i of the front starts at front[rows[i]] and is row names[i] of the matrix; behind its columns are zeros
    n_blocks, stride = len(column_starts) - 1, whole(capacity) + LANES
    front, spare, zeros = aligned_zeros(capacity * stride), aligned_zeros(capacity * stride), aligned_zeros(LANES)
    rows, names, columns = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    slot, read = np.empty(len(column_order), np.int32), indptr[:-1].copy()
    sizes = np.zeros(len(column_order))  # largest magnitude so far in each column of the matrix
    done, at_l, at_u = 0, 0, 0
    for e in range(n_blocks):
        old_rows, n_rows = row_starts[e] - done, row_starts[e + 1] - done
        old_columns, n_columns = column_starts[e] - done, column_starts[e + 1] - done
        complete, eligible = n_rows - n_open_rows[e], n_columns - n_open_columns[e]
        if n_rows > capacity or n_columns > capacity:
            return FRONT_FULL, e, 0
        if at_l + eligible * whole(n_rows) > len(lower) or at_u + eligible * whole(n_columns) > len(upper):
            return STORE_FULL, e, 0
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
            while k < stop and indices[k] < column_starts[e + 1]:
                c = indices[k]
                front[row + slot[c]] = data[k]
                sizes[c] = max(sizes[c], abs(data[k]))
                k += 1
            read[r] = k

        k, tolerance = 0, EPS * n_columns
        while k < eligible:
            j, best, pivot = k, 0.0, k
            while j < eligible:
                best = 0.0
                for i in range(k, complete):
                    value = abs(front[rows[i] + j])
                    if value > best:
                        best, pivot = value, i
                largest = best
                for i in range(complete, n_rows):
                    largest = max(largest, abs(front[rows[i] + j]))
                if best >= THRESHOLD * largest:
                    break
                j += 1
            if j == eligible:  # all columns have to wait
                break
            if not (best > TINY and best < np.inf):
                return NO_PIVOT, columns[j], 0
            if not best > tolerance * sizes[columns[j]]:
                # small for its column; rounding error only if it is small for its row as well, else badly scaled
                if not best > tolerance * _row_size(indptr, data, names[pivot]):
                    return NO_PIVOT, columns[j], 0
            if j > k:
                for i in range(n_rows):
                    row = rows[i]
                    front[row + j], front[row + k] = front[row + k], front[row + j]
                columns[j], columns[k] = columns[k], columns[j]
            source = rows[pivot]
            rows[pivot], rows[k] = rows[k], source
            names[pivot], names[k] = names[k], names[pivot]
            column_swaps[done + k], row_swaps[done + k] = done + j, done + pivot
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

        # what is left moves to the next front
        for i in range(k, n_rows):
            row = rows[i]
            if i < complete:
                j = k
                while j < n_columns and not abs(front[row + j]) > tolerance * sizes[columns[j]]:
                    j += 1
                if j == n_columns:  # found here and now: its rounding errors would grow into a pivot on the way
                    largest = 0.0
                    for j in range(k, n_columns):
                        largest = max(largest, abs(front[row + j]))
                    if not largest > tolerance * _row_size(indptr, data, names[i]):
                        return VANISHED, names[i], 0
            names[i - k] = names[i]
            for v in range(0, n_columns - k, LANES):
                copy_lanes(spare, (i - k) * stride + v, front, row + k + v)
        for j in range(k, n_columns):
            columns[j - k] = columns[j]
        front, spare = spare, front
        done += k
        ends[e] = done
    return FACTORED, at_l, at_u


@njit(cache=True, error_model="numpy")
def solve(column_starts, row_starts, ends, column_swaps, row_swaps, inverses, lower, upper, y):
    """Overwrite the right-hand side y, padded by 8 zeros, with the solution; both in the order of the chain."""
    k, at = 0, 0
    for e in range(len(ends)):
        while k < ends[e]:
            other = row_swaps[k]
            value = y[other]
            y[other] = y[k]
            y[k] = value
            k += 1
            for v in range(k, row_starts[e + 1], LANES):
                add_lanes(y, v, -value, lower, at)
                at += LANES
    at = len(upper)
    for e in range(len(ends) - 1, -1, -1):
        while k > (ends[e - 1] if e > 0 else 0):
            length = whole(column_starts[e + 1] - k)
            at -= length
            behind = dot_runs(upper, at, y, k, length)
            k -= 1
            other = column_swaps[k]
            value = (y[k] - behind) * inverses[k]
            y[k] = y[other]
            y[other] = value


@njit(cache=True, error_model="numpy")
def solve_transposed(column_starts, row_starts, ends, column_swaps, row_swaps, inverses, lower, upper, y):
    """As `solve`, for the transposed matrix."""
    k, at = 0, 0
    for e in range(len(ends)):
        while k < ends[e]:
            other = column_swaps[k]
            value = y[other] * inverses[k]
            y[other] = y[k]
            y[k] = value
            k += 1
            for v in range(k, column_starts[e + 1], LANES):
                add_lanes(y, v, -value, upper, at)
                at += LANES
    at = len(lower)
    for e in range(len(ends) - 1, -1, -1):
        while k > (ends[e - 1] if e > 0 else 0):
            length = whole(row_starts[e + 1] - k)
            at -= length
            behind = dot_runs(lower, at, y, k, length)
            k -= 1
            other = row_swaps[k]
            value = y[k] - behind
            y[k] = y[other]
            y[other] = value
