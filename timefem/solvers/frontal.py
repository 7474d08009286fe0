"""The time-chain LU: a sparse matrix in time order, factored one time element after the other.

A frontal method. Element by element, the rows and columns of a time element enter a small dense front; columns that no
later row touches are eliminated with pivots from rows that are complete. A pivot is taken when it is within a factor
of the largest entry of its column in the whole front, else the column waits for the next element: rows of neighbouring
elements serve as pivots for each other where diagonal blocks are singular, and conditions may sit at either end.

The front is kept by columns, rows in the lanes of SIMD vectors; rows are never moved, `unused` masks those that have
been pivots.
"""

import numpy as np
from numba import njit

from ..elements.lanes import LANES, add_lanes, dot_lanes, find_lane, largest_lane, scale_lanes
from ..errors import InputError, SolveError

THRESHOLD = 0.1  # of the largest entry in its column, for a pivot that is not the largest
SINGULAR = 1e-15  # of the largest entry the column had in the matrix

FACTORED, NO_PIVOT, FRONT_FULL, STORE_FULL = 0, 1, 2, 3


class ChainLU:
    """LU factors of a square sparse matrix in time order.

    Parameters
    ----------
    indptr, indices : ndarray of int
        CSR pattern, columns increasing in each row.
    column_starts, row_starts : ndarray of int, shape (n_blocks + 1,)
        Where the columns and the rows of each time element start. Rows of one element may touch columns of that
        element and its two neighbours. Blocks may be empty and need not be square.

    Raises
    ------
    InputError
        When a row touches other columns; names the row.
    """

    def __init__(self, indptr, indices, column_starts, row_starts):
        self.indptr, self.indices, self.column_starts, self.row_starts = (
            np.ascontiguousarray(a, dtype=np.int64) for a in (indptr, indices, column_starts, row_starts))
        self.n, self.n_blocks = len(self.indptr) - 1, len(self.column_starts) - 1
        if not (self.column_starts[-1] == self.row_starts[-1] == self.n):
            raise InputError(f"column_starts and row_starts must end with n = {self.n}")
        self.last_row, self.last_column = np.zeros(self.n, np.int64), np.zeros(self.n, np.int64)
        bad = _reach(self.indptr, self.indices, self.column_starts, self.row_starts, self.last_row, self.last_column)
        if bad >= 0:
            raise InputError(f"row {bad} touches columns that are not in its own or a neighbouring block")
        columns, rows = np.diff(self.column_starts), np.diff(self.row_starts)
        self._front = _pad(4 * int(max(columns.max(), rows.max())) + 8)
        typical = _pad(2 * int(max(columns.max(), rows.max())))
        self._store = int(2 * typical * self.n * 1.1) + self._front**2  # committed by the system only as it is used
        self._marks = 4 * self.n + 8 * self._front

    def factor(self, data):
        """Factor the matrix with the given CSR values, shape (nnz,).

        Raises
        ------
        SolveError
            When the matrix is singular; names the block (time element).
        """
        while True:
            if not hasattr(self, "_values") or len(self._values) < self._store or len(self._places) < self._marks:
                self._values, self._places = np.empty(self._store), np.empty(self._marks, np.int32)
                self._table = np.empty((self.n_blocks + 1, 5), np.int64)
            code, block = _factor(self.indptr, self.indices, np.ascontiguousarray(data, dtype=float),
                                  self.column_starts, self.row_starts, self.last_row, self.last_column, self._front,
                                  self._values, self._places, self._table)
            if code == STORE_FULL:
                self._store, self._marks = 2 * self._store, 2 * self._marks
            elif code == FRONT_FULL and self._front < 16 * max(np.diff(self.column_starts)) + 64:
                self._front *= 2
            elif code == FACTORED:
                return
            else:
                raise SolveError(f"the matrix is singular: no pivot in block {block} of {self.n_blocks}")

    @property
    def fill(self):
        """Numbers stored in the factors."""
        return int(self._table[-1, 0])

    def solve(self, b):
        """Solution of A x = b, shape (n,) or (n, k)."""
        return self._apply(_solve, b)

    def solve_transposed(self, b):
        """Solution of A^T x = b, shape (n,) or (n, k)."""
        return self._apply(_solve_transposed, b)

    def _apply(self, solve, b):
        b = np.asarray(b, dtype=float)
        if b.ndim == 2:
            return np.stack([self._apply(solve, column) for column in b.T], axis=1)
        x = np.empty(self.n)
        solve(np.ascontiguousarray(b), self.row_starts, self._front, self._values, self._places, self._table, x)
        return x


def _pad(n):
    return -(-n // LANES) * LANES


@njit(cache=True)
def _reach(indptr, indices, column_starts, row_starts, last_row, last_column):
    """Last row block that touches each column, and last column block that each row touches; a bad row, or -1."""
    n_blocks = len(column_starts) - 1
    for e in range(n_blocks):
        low, high = column_starts[max(e - 1, 0)], column_starts[min(e + 2, n_blocks)]
        for r in range(row_starts[e], row_starts[e + 1]):
            last_column[r] = 0
            for k in range(indptr[r], indptr[r + 1]):
                c = indices[k]
                if c < low or c >= high or (k > indptr[r] and c <= indices[k - 1]):
                    return r
                last_row[c] = max(last_row[c], e)
            if indptr[r + 1] > indptr[r]:
                c = indices[indptr[r + 1] - 1]
                for block in range(max(e - 1, 0), min(e + 2, n_blocks)):
                    if column_starts[block] <= c:
                        last_column[r] = block
    return -1


@njit(cache=True, error_model="numpy")
def _factor(indptr, indices, data, column_starts, row_starts, last_row, last_column, capacity, values, places, table):
    """Factor; per block, `table` holds the starts of its values and places, and its rows, columns and pivots.

    `values`: per pivot the multipliers of all rows, then per pivot the row of U, over [pivot columns | rest], and its
    inverse in place of the diagonal. `places`: positions of pivot rows and of the rest in the front, column numbers.
    """
    n_blocks = len(column_starts) - 1
    front, other = np.zeros(capacity * capacity), np.zeros(capacity * capacity)
    rows, columns = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    eligible, pivot_rows, order = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    is_pivot = np.zeros(capacity, np.bool_)
    unused, complete = np.empty(capacity), np.empty(capacity)
    slot, read = np.empty(len(last_row), np.int32), indptr[:-1].copy()
    largest = np.zeros(len(last_row))
    n_rows, n_columns, at, mark = 0, 0, 0, 0
    for e in range(n_blocks):
        new_rows, new_columns = row_starts[e + 1] - row_starts[e], column_starts[e + 1] - column_starts[e]
        if n_rows + new_rows > capacity or n_columns + new_columns > capacity:
            return FRONT_FULL, e
        for r in range(row_starts[e], row_starts[e + 1]):
            rows[n_rows] = r
            n_rows += 1
        for c in range(column_starts[e], column_starts[e + 1]):
            columns[n_columns] = c
            n_columns += 1
        height, width = (n_rows + LANES - 1) // LANES * LANES, (n_columns + LANES - 1) // LANES * LANES
        if at + n_columns * (height + width) > len(values) or mark + n_rows + n_columns > len(places):
            return STORE_FULL, e
        n_eligible = 0
        for j in range(n_columns):
            slot[columns[j]] = j
            if last_row[columns[j]] <= e:
                eligible[n_eligible] = j
                n_eligible += 1
        for i in range(height):
            unused[i] = 1.0 if i < n_rows else 0.0
            complete[i] = 1.0 if i < n_rows and last_column[rows[i]] <= e else 0.0
        for i in range(n_rows):
            k, stop = read[rows[i]], indptr[rows[i] + 1]
            while k < stop and indices[k] < column_starts[e + 1]:
                front[slot[indices[k]] * capacity + i] = data[k]
                largest[indices[k]] = max(largest[indices[k]], abs(data[k]))
                k += 1
            read[rows[i]] = k

        # eliminate; columns without a good pivot are tried again as long as others make progress
        n_pivots, before = 0, -1
        while n_eligible > 0 and n_pivots > before:
            before, waiting = n_pivots, 0
            for m in range(n_eligible):
                j = eligible[m]
                column = j * capacity
                size, whole, block = 0.0, 0.0, 0
                for i in range(0, height, LANES):
                    v = largest_lane(front, column + i, complete, i)
                    if v > size:
                        size, block = v, i
                    whole = max(whole, largest_lane(front, column + i, unused, i))
                if not (whole > SINGULAR * largest[columns[j]] and whole < np.inf):
                    return NO_PIVOT, e
                if size < THRESHOLD * whole:
                    eligible[waiting] = j
                    waiting += 1
                    continue
                r = block + find_lane(front, column + block, complete, block, size)
                unused[r] = 0.0
                complete[r] = 0.0
                inverse = 1.0 / front[column + r]
                multipliers = at + n_pivots * height
                for i in range(0, height, LANES):
                    for lane in range(LANES):
                        values[multipliers + i + lane] = 0.0
                    add_lanes(values, multipliers + i, inverse, front, column + i)
                    scale_lanes(values, multipliers + i, unused, i)
                is_pivot[j] = True
                pivot_rows[n_pivots], order[n_pivots] = r, j
                n_pivots += 1
                for i in range(n_columns):
                    factor = front[i * capacity + r]
                    if factor != 0.0 and not is_pivot[i]:
                        for v in range(0, height, LANES):
                            add_lanes(front, i * capacity + v, -factor, values, multipliers + v)
            n_eligible = waiting

        # rows of U over [pivot columns | rest]
        rest = n_pivots
        for j in range(n_columns):
            if not is_pivot[j]:
                order[rest] = j
                rest += 1
        upper = at + n_pivots * height
        for k in range(n_pivots):
            for j in range(k):
                values[upper + j] = 0.0
            values[upper + k] = 1.0 / front[order[k] * capacity + pivot_rows[k]]
            for j in range(k + 1, n_columns):
                values[upper + j] = front[order[j] * capacity + pivot_rows[k]]
            for j in range(n_columns, width):
                values[upper + j] = 0.0
            upper += width
        table[e, 0], table[e, 1] = at, mark
        table[e, 2], table[e, 3], table[e, 4] = n_rows, n_columns, n_pivots
        at = upper
        for k in range(n_pivots):
            places[mark + k] = pivot_rows[k]
        mark += n_pivots
        left = 0
        for i in range(n_rows):
            if unused[i] > 0.0:
                places[mark + left] = i
                left += 1
        for j in range(n_columns):
            places[mark + left + j] = columns[order[j]]

        # what is left moves to the next front
        for j in range(n_pivots, n_columns):
            target, source = (j - n_pivots) * capacity, order[j] * capacity
            for i in range(left):
                other[target + i] = front[source + places[mark + i]]
        for i in range(left):
            pivot_rows[i] = rows[places[mark + i]]
        for i in range(left):
            rows[i] = pivot_rows[i]
        for j in range(n_pivots, n_columns):
            columns[j - n_pivots] = places[mark + left + j]
        for j in range(n_columns):
            front[j * capacity:j * capacity + height] = 0.0
            is_pivot[j] = False
        mark += left + n_columns
        n_rows, n_columns = left, n_columns - n_pivots
        front, other = other, front
    table[n_blocks, 0] = at
    return (NO_PIVOT, n_blocks - 1) if n_rows or n_columns else (FACTORED, -1)


@njit(cache=True, error_model="numpy")
def _solve(b, row_starts, capacity, values, places, table, x):
    """Forward through the blocks, then back; `x` holds the forward results by pivot on the way."""
    n_blocks = len(row_starts) - 1
    y, carried = np.zeros(capacity), np.zeros(capacity)
    n_carried, done = 0, 0
    for e in range(n_blocks):
        at, mark, n_rows, n_columns, n_pivots = table[e, 0], table[e, 1], table[e, 2], table[e, 3], table[e, 4]
        height = (n_rows + LANES - 1) // LANES * LANES
        y[:n_carried] = carried[:n_carried]
        y[n_carried:n_rows] = b[row_starts[e]:row_starts[e + 1]]
        y[n_rows:height] = 0.0
        for k in range(n_pivots):
            value = y[places[mark + k]]
            x[done + k] = value
            for i in range(0, height, LANES):
                add_lanes(y, i, -value, values, at + k * height + i)
        n_carried = n_rows - n_pivots
        for i in range(n_carried):
            carried[i] = y[places[mark + n_pivots + i]]
        done += n_pivots
    forward = x.copy()
    for e in range(n_blocks - 1, -1, -1):
        at, mark, n_rows, n_columns, n_pivots = table[e, 0], table[e, 1], table[e, 2], table[e, 3], table[e, 4]
        height, width = (n_rows + LANES - 1) // LANES * LANES, (n_columns + LANES - 1) // LANES * LANES
        upper, numbers = at + n_pivots * height, mark + n_rows
        done -= n_pivots
        y[:width] = 0.0
        for j in range(n_pivots, n_columns):
            y[j] = x[places[numbers + j]]
        for k in range(n_pivots - 1, -1, -1):
            row, value = upper + k * width, forward[done + k]
            for j in range((k + 1) // LANES * LANES, width, LANES):
                value -= dot_lanes(values, row + j, y, j)  # y[k] is still zero
            y[k] = value * values[row + k]
            x[places[numbers + k]] = y[k]


@njit(cache=True, error_model="numpy")
def _solve_transposed(b, row_starts, capacity, values, places, table, x):
    """U^T forward through the blocks, then L^T back; `x` collects the result by row."""
    n_blocks = len(row_starts) - 1
    sums, y = b.copy(), np.zeros(capacity)
    done = 0
    scaled = np.empty(len(b))
    for e in range(n_blocks):
        at, mark, n_rows, n_columns, n_pivots = table[e, 0], table[e, 1], table[e, 2], table[e, 3], table[e, 4]
        height, width = (n_rows + LANES - 1) // LANES * LANES, (n_columns + LANES - 1) // LANES * LANES
        upper, numbers = at + n_pivots * height, mark + n_rows
        for k in range(n_pivots):
            row = upper + k * width
            value = sums[places[numbers + k]] * values[row + k]
            scaled[done + k] = value
            for j in range(k + 1, n_columns):
                sums[places[numbers + j]] -= value * values[row + j]
        done += n_pivots
    # from the back, y holds the solution for the rows of the front
    after = np.zeros(capacity)
    for e in range(n_blocks - 1, -1, -1):
        at, mark, n_rows, n_columns, n_pivots = table[e, 0], table[e, 1], table[e, 2], table[e, 3], table[e, 4]
        height = (n_rows + LANES - 1) // LANES * LANES
        done -= n_pivots
        y[:height] = 0.0
        for i in range(n_rows - n_pivots):
            y[places[mark + n_pivots + i]] = after[i]
        for k in range(n_pivots - 1, -1, -1):
            value = scaled[done + k]
            for i in range(0, height, LANES):
                value -= dot_lanes(values, at + k * height + i, y, i)
            y[places[mark + k]] = value
        n_new = row_starts[e + 1] - row_starts[e]
        for i in range(n_rows - n_new):
            after[i] = y[i]
        for i in range(n_new):
            x[row_starts[e] + i] = y[n_rows - n_new + i]
