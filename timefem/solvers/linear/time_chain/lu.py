"""The time-chain LU: a sparse matrix in time order, factored one time element after the other.

Rows and columns fall into blocks, one per time element, and a row touches columns of its own and the two neighbouring
blocks. Block by block, rows and columns enter a small dense front. Columns that no later row touches are eliminated,
with pivots from rows that touch no later column. A pivot must come within a factor of the largest entry of its column
in the whole front, else the column waits for the next block: rows of neighbouring elements stand in for each other
where diagonal blocks are singular, and conditions may sit at either end. What is left over moves to the next front.

Rows that touch the next block come last in their block, and so do columns that the next block touches. In this order
both are interchanged as in dense LU, and pivot k keeps the multipliers of the rows behind it and the pivot row behind
it, each up to the end of the block in which it was eliminated. Each run is filled up with zeros to whole vectors of 8.

Blocks that are large and dense are eliminated by panels of 8 pivots (`pivots`), which gives the same factors bit by
bit; whether they pay is counted in the first factorisation of a pattern.
"""

import weakref

import numpy as np

from ....errors import InputError, SingularMatrix, SolveError
from ....kernels.lanes import LANES
from . import loops
from .loops import left_over

# Multiplications per block, times the square of their share of those of dense blocks, from which panels are faster. In
# blocks with many zeros a panel adds what single pivots skip. Measured: 0.9 to 1.0 times at 24 000 (heavy top, BG(2)),
# 33 000 (four-bar, mG(1)) and 37 000 (double pendulum, BG(2)); 1.1 at 44 000 (30 unknowns, dense), 1.2 to 1.4 above
PANELS_FROM = 40_000


class ChainLU:
    """LU factors of a square sparse matrix in time order.

    The pattern is analysed once; `factor` can be called again with other numbers in the same pattern.

    Parameters
    ----------
    indptr, indices : (n + 1,), (nnz,) int
        CSR pattern, columns ascending in each row. Two arrays of int32 are taken as they are.
    column_starts, row_starts : (n_blocks + 1,) int
        First column and first row of each block, and n. Blocks may be empty and need not be square.

    Attributes
    ----------
    n, n_blocks : int
    backwards : bool
        Whether it is eliminated from the last block to the first, which is chosen where it takes less work.
    work : float
        Estimated multiplications of a factorisation.
    expected_fill : int
        Numbers for which there is room at first.
    fill : int
        Numbers stored for the factors, 0 before `factor`.

    Raises
    ------
    InputError
        When the starts do not rise from 0 to n, or a row touches blocks that are not its neighbours or has columns
        that are out of range or not ascending; names the row.
    """

    _left = _right = 0, 0  # columns and rows that are not eliminated: the first ones, and the last ones

    def __init__(self, indptr, indices, column_starts, row_starts):
        self._n_rows = len(indptr) - 1
        self.n = self._n_columns = self._count_columns(column_starts)
        short = all(np.asarray(a).dtype == np.int32 for a in (indptr, indices))
        self._indptr, self._indices = (np.ascontiguousarray(a, dtype=np.int32 if short else np.int64)
                                       for a in (indptr, indices))
        self._column_starts, self._row_starts = (np.ascontiguousarray(a, dtype=np.int64)
                                                 for a in (column_starts, row_starts))
        self.n_blocks, self.fill = len(self._column_starts) - 1, 0
        for name, starts, n in (("column_starts", self._column_starts, self._n_columns),
                                ("row_starts", self._row_starts, self._n_rows)):
            if (len(starts) != self.n_blocks + 1 or len(starts) < 2 or starts[0] != 0 or starts[-1] != n
                    or np.any(np.diff(starts) < 0)):
                raise InputError(f"{name} must rise from 0 to the number of {name.split('_')[0]}s, {n}, and have one "
                                 "number more than there are blocks, for rows as for columns")
        if self._indptr[0] != 0 or self._indptr[-1] != len(self._indices) or np.any(np.diff(self._indptr) < 0):
            raise InputError(f"indptr must rise from 0 to the number of indices, {len(self._indices)}")
        self._choose_direction()
        # more than a front and factors need when few columns wait; both grow on demand, and the system commits no
        # memory before it is used
        self._largest_block = int(max(np.diff(starts).max() for starts in self._starts))
        self._capacity = 4 * self._largest_block + LANES
        usual_block = int(max(np.diff(starts).max() for starts in (self._column_starts, self._row_starts)))
        self._store = self._n_columns * loops.whole(2 * usual_block) + self._capacity * loops.whole(self._capacity)
        self.expected_fill = 2 * self._store
        self._memory = self._front = self._factors = self._by_panels = None

    def factor(self, data, finite=False):
        """Factor the matrix with the numbers `data`.

        Parameters
        ----------
        data : (nnz,) float
        finite : bool
            Whether they are known to be finite.

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
        if not (finite or np.isfinite(data.sum()) or np.all(np.isfinite(data))):  # the sum is faster, but may overflow
            row = np.searchsorted(self._indptr, np.flatnonzero(~np.isfinite(data))[0], side="right") - 1
            raise SolveError(f"the matrix is not finite in row {row}")
        while True:
            if self._memory is None:
                self._memory = (np.empty(self.n_blocks, np.int64), np.empty(self._n_columns, np.int64),
                                np.empty(self._n_columns, np.int64), np.empty(self._n_columns),
                                borrow(self, self._store), borrow(self, self._store))
                self._filled = loops.Factors(*self._memory)
            if self._front is None:
                self._front = loops.front_for(self._capacity, *self._held, self._n_rows, self._n_columns)
            code, *what = loops.factor(self._pattern, data, bool(self._by_panels), self._front, self._filled)
            if code == loops.FACTORED:
                *others, lower, upper = self._memory
                self._factors = (*others, lower[:what[0]], upper[:what[1]])
                self.fill = sum(what) + self._n_columns
                if self._by_panels is None:
                    taken, dense = self._front.counts.astype(float)
                    self._by_panels = bool(taken**3 > PANELS_FROM * self.n_blocks * dense**2)
                return
            if code == loops.FRONT_FULL and self._capacity <= 16 * self._largest_block + 64:
                self._capacity, self._front = 2 * self._capacity, None
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
        return self._apply(b, False)

    def solve_transposed(self, b):
        """Solve A^T x = b on the same factors; as `solve`."""
        return self._apply(b, True)

    def _apply(self, b, transposed):
        b = np.asarray(b, dtype=float)
        if b.ndim not in (1, 2) or len(b) != self.n:
            raise InputError(f"b must have shape ({self.n},) or ({self.n}, k), not {b.shape}")
        x = np.empty_like(b)
        for source, target in zip(np.atleast_2d(b.T), np.atleast_2d(x.T)):
            target[:] = self._backward(self._forward(source, transposed), transposed)
        return x

    def _forward(self, b, transposed):
        """Work vector: right-hand side of what is held, of the pivots, and of what is left over."""
        if self._factors is None:
            raise SolveError("there are no factors to solve with: call factor first")
        y = np.zeros(max(self._n_rows, self._n_columns) + LANES)  # whole vectors reach past the end
        y[:len(b)] = b[self._order(transposed)]
        loops.forward(*self._half(transposed), y)
        return y

    def _backward(self, y, transposed):
        """Solution from a work vector as of `_forward`, with the solution of what is held and left over."""
        loops.backward(*self._half(not transposed), y)
        x = np.empty(self._n_rows if transposed else self._n_columns)
        x[self._order(not transposed)] = y[:len(x)]
        return x

    def _half(self, of_columns):
        ends, column_swaps, row_swaps, inverses, lower, upper = self._factors
        if of_columns:
            return self._starts[0], self._held[0], ends, column_swaps, inverses, upper
        return self._starts[1], self._held[1], ends, row_swaps, inverses[:0], lower

    def _order(self, of_columns):
        which = 0 if of_columns else 1
        if self._in_order[which]:
            return slice(None, None, -1 if self.backwards else 1)
        return self._natural(self._orders[which], of_columns)

    def _natural(self, numbers, of_columns):
        """Numbers of columns or rows in the matrix, of those in the direction of elimination."""
        return (self._n_columns if of_columns else self._n_rows) - 1 - numbers if self.backwards else numbers

    def _choose_direction(self):
        """Eliminate forwards or backwards in time, whatever is less work.

        Backwards, a block ends before the columns and rows by which blocks are coupled instead of behind them.
        """
        forwards = self._analyse(False, self._column_starts, self._row_starts)
        if forwards is None:
            self._refuse()
        opens = self._open
        shifted = [_shifted(starts, is_open) for starts, is_open in zip((self._column_starts, self._row_starts), opens,
                                                                        strict=True)]
        choices = [c for c in (forwards, self._analyse(True, *shifted)) if c is not None]
        best = min(choices, key=lambda choice: choice[0])
        self.work, self.backwards, self._pointers, self._starts, self._in_order, self._orders = best
        self._held = self._orders[-2:]
        self._pattern = loops.ChainPattern(self._pointers, self._indices, self.backwards, *self._starts, *self._orders)
        del self._open

    def _analyse(self, flipped, column_starts, row_starts):
        """Work, direction, row pointers, starts and orders in one direction; None when it cannot be taken."""
        pointers, sizes = self._indptr, (self._n_columns, self._n_rows)
        held, kept = self._left, self._right
        starts = column_starts, row_starts
        if flipped:
            pointers = np.ascontiguousarray(len(self._indices) - pointers[::-1])
            starts = tuple(np.ascontiguousarray(n - s[::-1]) for n, s in zip(sizes, starts, strict=True))
            held, kept = kept, held
        self._open = tuple(np.zeros(n, bool) for n in sizes)
        if loops.check_pattern(pointers, self._indices, flipped, *starts, *self._open) >= 0:
            return None
        for is_open, n_held, n_kept in zip(self._open, held, kept, strict=True):
            is_open[:n_held] = False
            is_open[len(is_open) - n_kept:] = True
        (columns, n_open_columns, *same), (rows, n_open_rows, *alike) = map(_order, starts, self._open)
        work = loops.estimate_work(*starts, n_open_columns, n_open_rows, *held)
        return work, flipped, pointers, starts, same + alike, (columns, rows, n_open_columns, n_open_rows, *held)

    def _count_columns(self, column_starts):
        return self._n_rows

    def _refuse(self):
        row = loops.check_pattern(self._indptr, self._indices, False, self._column_starts, self._row_starts,
                                  *self._open)
        columns = self._indices[self._indptr[row]:self._indptr[row + 1]]
        if np.any(np.diff(columns) <= 0) or columns[0] < 0 or columns[-1] >= self._n_columns:
            raise InputError(f"columns of row {row} must ascend and lie in 0, ..., {self._n_columns - 1}")
        first, last = _block(self._column_starts, columns[[0, -1]])
        raise InputError(f"row {row} of block {_block(self._row_starts, row)} touches blocks {first} to {last}; the "
                         "chain LU takes rows that touch their own block and its neighbours")

    def _give_up(self, code, number):
        if code != loops.FRONT_FULL:
            number = self._natural(number, code == loops.NO_PIVOT)
        elif self.backwards:
            number = self.n_blocks - 1 - number
        if code == loops.FRONT_FULL:
            raise SolveError(f"no pivots for hundreds of columns up to block {number} of {self.n_blocks}: the matrix "
                             "is nearly singular there, or its conditions are far from where they are needed")
        starts, what = {
            loops.NO_PIVOT: (self._column_starts, f"no pivot for column {number}"),
            loops.VANISHED: (self._row_starts, f"row {number} depends on the rows before and around it")}[code]
        raise SingularMatrix(
            f"singular matrix (to working precision) in block {_block(starts, number)} of {self.n_blocks}, which is "
            f"the number of the time element: {what}; constraints that repeat each other, unknowns without an "
            "equation, missing conditions at an end, or unknowns far from a solution make it so")


def _block(starts, number):
    return np.searchsorted(starts, number, side="right") - 1


def _shifted(starts, is_open):
    """Ends of blocks moved before their first open column or row."""
    where = np.flatnonzero(is_open)
    first = np.append(where, len(is_open))[np.searchsorted(where, starts[:-1])]
    return np.concatenate([starts[:1], np.minimum(first[:-1], starts[1:-1]), starts[-1:]])


def _order(starts, is_open):
    """Order in which the open ones come last in their block, how many are open in each, and whether they are so."""
    order, n_open = np.empty(starts[-1], np.int64), np.empty(len(starts) - 1, np.int64)
    return order, n_open, loops.order_open_last(starts, is_open, order, n_open)


# ---- work memory that is used again: the first touch of fresh memory can cost more than the work on it

MOST_KEPT = 2**30  # bytes, in all

_kept = []  # arrays that nobody uses


def borrow(owner, n):
    """An array of at least n floats for as long as `owner` lives, from a cache line on; its values are arbitrary."""
    fitting = [i for i, a in enumerate(_kept) if n <= len(a) <= 4 * n]
    array = _kept.pop(min(fitting, key=lambda i: len(_kept[i]))) if fitting else _aligned(n)
    if array.nbytes <= MOST_KEPT:
        weakref.finalize(owner, _keep, array).atexit = False
    return array


def _keep(array):
    _kept.append(array)
    while sum(a.nbytes for a in _kept) > MOST_KEPT:
        del _kept[0]


def _aligned(n):
    """Empty array that starts at a cache line, so that no vector straddles two."""
    memory = np.empty(n + LANES)
    skip = -memory.ctypes.data // memory.itemsize % LANES
    return memory[skip:skip + n]


class SlabLU(ChainLU):
    """Partial factors of one slab.

    Parameters
    ----------
    indptr, indices
        As in `ChainLU`; the first rows and columns are those of the left shared node, the last ones those of the right.
    column_starts, row_starts : (n_blocks + 1,) int
        As in `ChainLU`; the first block includes the left shared node.
    left, right : (int, int)
        Number of columns and of rows of the shared nodes, (0, 0) for an end that is not shared.

    Attributes
    ----------
    rows, columns : ndarray of int
        Which are left over.
    left_over : ndarray, shape (len(rows), len(columns))
        Their Schur complement.
    """

    def __init__(self, indptr, indices, column_starts, row_starts, left=(0, 0), right=(0, 0)):
        self._left, self._right = left, right
        super().__init__(indptr, indices, column_starts, row_starts)

    def factor(self, data, finite=False):
        """Eliminate the inside; as in `ChainLU`."""
        super().factor(data, finite)
        n_pivots, (held_columns, _) = self._factors[0][-1], self._held
        rows, columns, self.left_over = left_over(self._front, self.n_blocks, held_columns, self._n_rows - n_pivots,
                                                  self._n_columns - n_pivots)
        self.rows, self.columns = self._natural(rows, False), self._natural(columns, True)

    def eliminate(self, b, transposed=False):
        """Eliminate the inside from a right-hand side.

        Parameters
        ----------
        b : (n_rows,) float; (n_columns,) for the transposed matrix

        Returns
        -------
        work : ndarray
            For `recover`.
        reduced : ndarray
            Right-hand side of the rows, for the transposed matrix of the columns, that are left over.
        """
        y = self._forward(b, transposed)
        return y, y[self._left_places(not transposed)]

    def recover(self, work, x, transposed=False):
        """Solution of all columns (rows) of the slab, of its part `x` at those that are left over."""
        n_pivots, (of_columns, of_rows) = self._factors[0][-1], self._held
        old, new = (of_columns, of_rows) if transposed else (of_rows, of_columns)
        work[new:new + n_pivots] = work[old:old + n_pivots].copy()
        work[new + n_pivots:] = 0.0
        work[self._left_places(transposed)] = x
        return self._backward(work, transposed)

    def _left_places(self, of_rows):
        """Where a work vector has what belongs to the rows (columns) left over."""
        n_pivots, held = self._factors[0][-1], self._held[1 if of_rows else 0]
        return np.r_[:held, held + n_pivots:self._n_rows if of_rows else self._n_columns]

    def _count_columns(self, column_starts):
        return column_starts[-1]
