"""The time-chain LU: a sparse matrix in time order, factored one time element after the other.

Rows and columns fall into blocks, one per time element, and a row touches columns of its own and the two neighbouring
blocks. Block by block, rows and columns enter a small dense front. Columns that no later row touches are eliminated,
with pivots from rows that touch no later column. A pivot must come within a factor of the largest entry of its column
in the whole front, else the column waits for the next block: rows of neighbouring elements stand in for each other
where diagonal blocks are singular, and conditions may sit at either end. What is left over moves to the next front.

Rows that touch the next block come last in their block, and so do columns that the next block touches. In this order
both are interchanged as in dense LU, and pivot k keeps the multipliers of the rows behind it and the pivot row behind
it, each up to the end of the block in which it was eliminated. Each run is filled up with zeros to whole vectors of 8.
"""

import numpy as np

from ..elements.lanes import LANES
from ..errors import InputError, SingularMatrix, SolveError
from . import chain_loops as loops


class ChainLU:
    """LU factors of a square sparse matrix in time order.

    The pattern is analysed once; `factor` can be called again with other numbers in the same pattern.

    Parameters
    ----------
    indptr, indices : (n + 1,), (nnz,) int
        CSR pattern, columns ascending in each row.
    column_starts, row_starts : (n_blocks + 1,) int
        First column and first row of each block, and n. Blocks may be empty and need not be square.

    Attributes
    ----------
    n, n_blocks : int
    fill : int
        Numbers stored for the factors, 0 before `factor`.

    Raises
    ------
    InputError
        When the starts do not rise from 0 to n, or a row touches blocks that are not its neighbours or has columns
        that are out of range or not ascending; names the row.
    """

    def __init__(self, indptr, indices, column_starts, row_starts):
        self._indptr, self._indices, self._column_starts, self._row_starts = (
            np.ascontiguousarray(a, dtype=np.int64) for a in (indptr, indices, column_starts, row_starts))
        self.n, self.n_blocks, self.fill = len(self._indptr) - 1, len(self._column_starts) - 1, 0
        for name, starts in (("column_starts", self._column_starts), ("row_starts", self._row_starts)):
            if (len(starts) != self.n_blocks + 1 or len(starts) < 2 or starts[0] != 0 or starts[-1] != self.n
                    or np.any(np.diff(starts) < 0)):
                raise InputError(f"{name} must rise from 0 to the number of columns, {self.n}, and have one number "
                                 "more than there are blocks, for rows as for columns")
        if self._indptr[0] != 0 or self._indptr[-1] != len(self._indices) or np.any(np.diff(self._indptr) < 0):
            raise InputError(f"indptr must rise from 0 to the number of indices, {len(self._indices)}")
        open_columns, open_rows = np.zeros((2, self.n), bool)
        bad = loops.check_pattern(self._indptr, self._indices, self._column_starts, self._row_starts,
                                  open_columns, open_rows)
        if bad >= 0:
            self._refuse(bad)
        self._column_order, n_open_columns = _order(self._column_starts, open_columns)
        self._row_order, n_open_rows = _order(self._row_starts, open_rows)
        self._orders = self._column_order, self._row_order, n_open_columns, n_open_rows
        # more than a front and factors need when few columns wait; both grow on demand, and the system commits no
        # memory before it is used
        self._largest_block = int(max(np.diff(self._column_starts).max(), np.diff(self._row_starts).max()))
        self._capacity = 4 * self._largest_block + LANES
        self._store = self.n * loops.whole(2 * self._largest_block) + self._capacity * loops.whole(self._capacity)
        self._memory = self._factors = None

    def factor(self, data):
        """Factor the matrix with the numbers `data`.

        Parameters
        ----------
        data : (nnz,) float

        Raises
        ------
        InputError
            When there are not nnz numbers.
        SingularMatrix
            When the matrix is singular to working precision; names the block.
        SolveError
            When it is not finite; names the row.
        """
        data = np.ascontiguousarray(data, dtype=float)
        if data.shape != self._indices.shape:
            raise InputError(f"data must have shape {self._indices.shape}, not {data.shape}")
        self._factors, self.fill = None, 0
        if not np.isfinite(data.sum()) and not np.all(np.isfinite(data)):  # the sum is faster, but may overflow
            row = np.searchsorted(self._indptr, np.flatnonzero(~np.isfinite(data))[0], side="right") - 1
            raise SolveError(f"the matrix is not finite in row {row}")
        while True:
            if self._memory is None:
                self._memory = (np.empty(self.n_blocks, np.int64), np.empty(self.n, np.int64),
                                np.empty(self.n, np.int64), np.empty(self.n), *map(_aligned, 2 * [self._store]))
            code, *what = loops.factor(self._indptr, self._indices, data, self._column_starts, self._row_starts,
                                       *self._orders, self._capacity, *self._memory)
            if code == loops.FACTORED:
                *others, lower, upper = self._memory
                self._factors = (*others, lower[:what[0]], upper[:what[1]])
                self.fill = sum(what) + self.n
                return
            if code == loops.FRONT_FULL and self._capacity <= 16 * self._largest_block + 64:
                self._capacity *= 2
            elif code == loops.STORE_FULL:
                self._store, self._memory = 2 * self._store, None
            else:
                self._give_up(code, what[0])

    def solve(self, b):
        """Solve A x = b.

        Parameters
        ----------
        b : (n,) or (n, k) float

        Returns
        -------
        ndarray, shape of b

        Raises
        ------
        InputError
            When b does not have n rows.
        SolveError
            When there are no factors.
        """
        return self._apply(loops.solve, b, self._row_order, self._column_order)

    def solve_transposed(self, b):
        """Solve A^T x = b on the same factors; as `solve`."""
        return self._apply(loops.solve_transposed, b, self._column_order, self._row_order)

    def _apply(self, solve, b, order_before, order_after):
        b = np.asarray(b, dtype=float)
        if b.ndim not in (1, 2) or len(b) != self.n:
            raise InputError(f"b must have shape ({self.n},) or ({self.n}, k), not {b.shape}")
        if self._factors is None:
            raise SolveError("there are no factors to solve with: call factor first")
        x, y = np.empty_like(b), np.zeros(self.n + LANES)  # whole vectors reach past the end
        for source, target in zip(np.atleast_2d(b.T), np.atleast_2d(x.T)):
            y[:self.n] = source[order_before]
            solve(self._column_starts, self._row_starts, *self._factors, y)
            target[order_after] = y[:self.n]
        return x

    def _refuse(self, row):
        columns = self._indices[self._indptr[row]:self._indptr[row + 1]]
        if np.any(np.diff(columns) <= 0) or columns[0] < 0 or columns[-1] >= self.n:
            raise InputError(f"columns of row {row} must ascend and lie in 0, ..., {self.n - 1}")
        first, last = _block(self._column_starts, columns[[0, -1]])
        raise InputError(f"row {row} of block {_block(self._row_starts, row)} touches blocks {first} to {last}; the "
                         "chain LU takes rows that touch their own block and its neighbours")

    def _give_up(self, code, number):
        if code == loops.FRONT_FULL:
            raise SolveError(f"no pivots for hundreds of columns up to block {number} of {self.n_blocks}: the matrix "
                             "is nearly singular there, or its conditions are far from where they are needed")
        starts, what = {
            loops.NO_PIVOT: (self._column_starts, f"no pivot for column {number}"),
            loops.VANISHED: (self._row_starts, f"row {number} depends on the rows before and around it")}[code]
        raise SingularMatrix(
            f"singular matrix (to working precision) in block {_block(starts, number)} of {self.n_blocks}, which is "
            f"the number of the time element: {what}; look for redundant constraints, unknowns without an equation, "
            "or missing conditions at an end")


def _block(starts, number):
    return np.searchsorted(starts, number, side="right") - 1


def _order(starts, is_open):
    """Order in which the open ones come last in their block, and how many are open in each."""
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.argsort(2 * block + is_open, kind="stable"), np.bincount(block[is_open], minlength=len(starts) - 1)


def _aligned(n):
    """Empty array that starts at a cache line, so that no vector straddles two."""
    memory = np.empty(n + LANES)
    skip = -memory.ctypes.data // memory.itemsize % LANES
    return memory[skip:skip + n]
