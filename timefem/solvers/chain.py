"""The time-chain LU: a sparse matrix in time order, factored one time element after the other.

The columns fall into consecutive blocks, one per time element, and a row touches at most two neighbouring blocks. Rows
are taken in the order of their first column; column c then has a pivot chosen among the rows that have entered so far
and have not been pivots yet, whichever block they come from. Nothing else is needed to pivot across blocks: a row that
is not used in its first block waits, and has entries in the next block only. This is the frontal form of the almost
block diagonal solvers (Diaz, Fairweather and Keast, COLROW, ACM TOMS 9, 1983), with rows interchanged only.

Storage follows the columns. With `entered[c]` rows whose first column is at most c, column c keeps the pivot, the
`entered[c] - c - 1` multipliers of the other candidates, and the pivot row from column c + 1 to the end of the next
block; both are filled up with zeros to whole vectors of 8.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..elements.lanes import _VECTOR, LANES, _load, _pointer, _reduce, add_lanes
from ..errors import InputError, SolveError

MAX_WIDTH = np.iinfo(np.uint16).max
EPS = np.finfo(float).eps
TINY = 1e-300  # its inverse is still finite


@intrinsic
def _copy_lanes(typing, y, i, x, j):
    """y[i:i+8] = x[j:j+8], offsets counted in doubles."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        builder.store(_load(context, builder, tx, x, j), _pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


@intrinsic
def _raise_lanes(typing, y, i, x, j):
    """y[i:i+8] = max(y[i:i+8], |x[j:j+8]|)."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        fabs = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), "llvm.fabs.v8f64")
        old, new = _load(context, builder, ty, y, i), builder.call(fabs, [_load(context, builder, tx, x, j)])
        larger = builder.select(builder.fcmp_ordered(">", new, old), new, old)
        builder.store(larger, _pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


@intrinsic
def _dot(typing, x, i, y, j, n):
    """Sum of x[i:i+n] * y[j:j+n], n a multiple of 8; one vector of partial sums."""

    def emit(context, builder, signature, args):
        tx, _, ty, _, _ = signature.args
        x, i, y, j, n = args
        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), "llvm.fma.v8f64")
        with cgutils.for_range_slice(builder, n.type(0), n, n.type(LANES)) as (k, _):
            factors = [_load(context, builder, tx, x, builder.add(i, k)), _load(context, builder, ty, y, builder.add(j, k))]
            builder.store(builder.call(fma, [*factors, builder.load(total)]), total)
        return _reduce(builder, builder.load(total), builder.fadd)

    return types.float64(x, types.int64, y, types.int64, types.int64), emit


@njit(cache=True)
def _analyse(indptr, indices, starts, first, places):
    """Fill in the first column of each row (n when empty) and each entry's place behind the start of that block.

    Returns a row that cannot be used, or -1.
    """
    n = len(first)
    block = 0
    for r in range(n):
        begin, end = indptr[r], indptr[r + 1]
        first[r] = n
        if begin < end:
            c = indices[begin]
            for k in range(begin + 1, end):
                if indices[k] <= indices[k - 1]:
                    return r
            if c < 0 or indices[end - 1] >= n:
                return r
            while starts[block] > c:
                block -= 1
            while starts[block + 1] <= c:
                block += 1
            if indices[end - 1] >= starts[min(block + 2, len(starts) - 1)]:
                return r
            first[r] = c
            for k in range(begin, end):
                places[k] = indices[k] - starts[block]
    return -1


@njit(cache=True, error_model="numpy")
def _factor(indptr, places, data, starts, order, entered, swaps, inverses, lower, upper, work):
    """Fill swaps, inverses, lower and upper; return the column without a pivot, or -1."""
    front, spare, scale, rows, names = work
    stride, n_blocks = len(scale), len(starts) - 1
    at_l, at_u, waiting = 0, 0, 0
    scale[:] = 0.0
    for e in range(n_blocks):
        start, end = starts[e], starts[e + 1]
        size, width = end - start, starts[min(e + 2, n_blocks)] - start
        height = entered[end - 1] - start
        front[waiting * stride:height * stride] = 0.0
        for i in range(waiting, height):
            row, r = i * stride, order[start + i]
            names[i] = r
            for k in range(indptr[r], indptr[r + 1]):
                front[row + places[k]] = data[k]
            for v in range(0, width, LANES):
                _raise_lanes(scale, v, front, row + v)
        for i in range(height):
            rows[i] = i * stride

        best, pivot, seen = 0.0, 0, 0
        for j in range(size):
            n_rows = entered[start + j] - start
            for i in range(seen, n_rows):
                value = abs(front[rows[i] + j])
                if value > best:
                    best, pivot = value, i
            seen = n_rows
            if not (best > max(EPS * width * scale[j], TINY) and best < np.inf):
                # a pivot that is small for its column may still be fine for its row
                if not (best > TINY and best < np.inf):
                    return start + j
                largest, r = 0.0, names[pivot]
                for k in range(indptr[r], indptr[r + 1]):
                    largest = max(largest, abs(data[k]))
                if not best > EPS * width * largest:
                    return start + j
            source = rows[pivot]
            rows[pivot], rows[j] = rows[j], source
            names[pivot], names[j] = names[j], names[pivot]
            swaps[start + j] = start + pivot
            inverse = 1.0 / front[source + j]
            inverses[start + j] = inverse
            for v in range(j + 1, width, LANES):
                _copy_lanes(upper, at_u, front, source + v)
                at_u += LANES
            best = 0.0
            first = j - j % LANES  # whole aligned vectors; columns up to j do not matter any more
            for i in range(j + 1, n_rows):
                row = rows[i]
                factor = front[row + j] * inverse
                lower[at_l + i - j - 1] = factor
                if factor != 0.0:
                    for v in range(first, width, LANES):
                        add_lanes(front, row + v, -factor, front, source + v)
                value = abs(front[row + j + 1])
                if value > best:
                    best, pivot = value, i
            at_l += (n_rows - j + LANES - 2) // LANES * LANES

        waiting = height - size
        spare[:waiting * stride] = 0.0
        for i in range(waiting):
            for v in range(0, width - size, LANES):
                _copy_lanes(spare, i * stride + v, front, rows[size + i] + size + v)
            names[i] = names[size + i]
        front, spare = spare, front
        for k in range(stride):
            scale[k] = scale[k + size] if k + size < width else 0.0
    return -1


@njit(cache=True, error_model="numpy")
def _solve(starts, entered, swaps, inverses, lower, upper, y, transposed):
    """Overwrite y: rows in order -> columns, or columns -> rows in order when transposed."""
    n, n_blocks = len(entered), len(starts) - 1
    at = 0
    if transposed:
        for e in range(n_blocks):
            last = starts[min(e + 2, n_blocks)]
            for c in range(starts[e], starts[e + 1]):
                y[c] *= inverses[c]
                for v in range(c + 1, last, LANES):
                    add_lanes(y, v, -y[c], upper, at)
                    at += LANES
        at = len(lower)
        for c in range(n - 1, -1, -1):
            length = (entered[c] - c + LANES - 2) // LANES * LANES
            at -= length
            value = y[c] - _dot(lower, at, y, c + 1, length)
            y[c] = y[swaps[c]]
            y[swaps[c]] = value
    else:
        for c in range(n):
            value = y[swaps[c]]
            y[swaps[c]] = y[c]
            y[c] = value
            for v in range(c + 1, entered[c], LANES):
                add_lanes(y, v, -value, lower, at)
                at += LANES
        at = len(upper)
        for e in range(n_blocks - 1, -1, -1):
            last = starts[min(e + 2, n_blocks)]
            for c in range(starts[e + 1] - 1, starts[e] - 1, -1):
                length = (last - c + LANES - 2) // LANES * LANES
                at -= length
                y[c] = (y[c] - _dot(upper, at, y, c + 1, length)) * inverses[c]


def _aligned(n):
    """Zeros that start at a cache line, so that no vector straddles two."""
    values = np.zeros(n + LANES)
    skip = -values.ctypes.data // values.itemsize % LANES
    return values[skip:skip + n]


def _whole(n):
    """Numbers rounded up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


class ChainLU:
    """LU factors of a square sparse matrix in time order.

    The pattern is analysed once; `factor` can be called again with other numbers in the same pattern.

    Parameters
    ----------
    indptr, indices : (n + 1,), (nnz,) int
        CSR pattern, columns ascending in each row.
    block_starts : (n_blocks + 1,) int
        First column of each block, and n.

    Attributes
    ----------
    n, n_blocks : int
    fill : int
        Numbers stored for the factors.

    Raises
    ------
    InputError
        When block_starts does not rise from 0 to n, or a row touches blocks that are not neighbours or has columns
        that are out of range or not ascending; names the row.
    """

    def __init__(self, indptr, indices, block_starts):
        indptr, indices, starts = (np.ascontiguousarray(a, dtype=np.int64) for a in (indptr, indices, block_starts))
        self.n, self.n_blocks = n, _ = len(indptr) - 1, len(starts) - 1
        if self.n_blocks < 1 or starts[0] != 0 or starts[-1] != n or np.any(np.diff(starts) < 1):
            raise InputError(f"block_starts must rise strictly from 0 to the number of columns, {n}")
        ends = np.append(starts[2:], [n, n])[:self.n_blocks]  # of the block behind
        if (ends - starts[:-1]).max() > MAX_WIDTH:
            raise InputError(f"two neighbouring blocks may have {MAX_WIDTH} columns together, not "
                             f"{(ends - starts[:-1]).max()}")
        self._indptr, self._starts = indptr, starts
        first, self._places = np.empty(n, np.int64), np.empty(len(indices), np.uint16)
        bad = _analyse(indptr, indices, starts, first, self._places)
        if bad >= 0:
            self._refuse(bad, indices[indptr[bad]:indptr[bad + 1]])
        self._order = np.argsort(first, kind="stable")
        self._entered = np.cumsum(np.bincount(first, minlength=n)[:n])

        columns = np.arange(n)
        multipliers = np.maximum(self._entered - columns - 1, 0)
        behind = np.repeat(ends, np.diff(starts)) - columns - 1
        self._lower, self._upper = _aligned(_whole(multipliers).sum()), _aligned(_whole(behind).sum())
        self._swaps, self._inverses = np.empty(n, np.int64), np.empty(n)
        stride = _whole((ends - starts[:-1]).max()) + LANES  # a vector may start at any column
        height = max((self._entered[starts[1:] - 1] - starts[:-1]).max(), 1)
        self._work = (_aligned(stride * height), _aligned(stride * height), _aligned(stride),
                      np.empty(height, np.int64), np.empty(height, np.int64))
        self.fill = len(self._lower) + len(self._upper) + n
        self._factored = False

    def factor(self, data):
        """Factor the matrix with the numbers `data`.

        Parameters
        ----------
        data : (nnz,) float

        Raises
        ------
        InputError
            When there are not nnz numbers.
        SolveError
            When the matrix is singular to working precision or not finite; names the block.
        """
        data = np.ascontiguousarray(data, dtype=float)
        if data.shape != self._places.shape:
            raise InputError(f"data must have shape {self._places.shape}, not {data.shape}")
        self._factored = False
        column = _factor(self._indptr, self._places, data, self._starts, self._order, self._entered,
                         self._swaps, self._inverses, self._lower, self._upper, self._work)
        if column >= 0:
            self._give_up(column, data)
        self._factored = True

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
        return self._solve(b, transposed=False)

    def solve_transposed(self, b):
        """Solve A^T x = b on the same factors; as `solve`."""
        return self._solve(b, transposed=True)

    def _solve(self, b, transposed):
        b = np.asarray(b, dtype=float)
        if b.ndim not in (1, 2) or len(b) != self.n:
            raise InputError(f"b must have shape ({self.n},) or ({self.n}, k), not {b.shape}")
        if not self._factored:
            raise SolveError("there are no factors to solve with: call factor first")
        x = np.empty_like(b)
        y = np.zeros(self.n + LANES)  # whole vectors reach past the end
        for source, target in zip(np.atleast_2d(b.T), np.atleast_2d(x.T)):
            y[:self.n] = source if transposed else source[self._order]
            _solve(self._starts, self._entered, self._swaps, self._inverses, self._lower, self._upper, y, transposed)
            target[self._order if transposed else slice(None)] = y[:self.n]
        return x

    def _block(self, column):
        return np.searchsorted(self._starts, column, side="right") - 1

    def _refuse(self, row, columns):
        if np.any(np.diff(columns) <= 0) or columns[0] < 0 or columns[-1] >= self.n:
            raise InputError(f"columns of row {row} must ascend and lie in 0, ..., {self.n - 1}")
        raise InputError(f"row {row} touches blocks {self._block(columns[0])} to {self._block(columns[-1])}; "
                         "the chain LU takes rows that touch at most two neighbouring blocks")

    def _give_up(self, column, data):
        if not np.all(np.isfinite(data)):
            row = np.searchsorted(self._indptr, np.flatnonzero(~np.isfinite(data))[0], side="right") - 1
            raise SolveError(f"the matrix is not finite in row {row}")
        raise SolveError(
            f"singular matrix: no pivot for column {column}, in block (time element) {self._block(column)} of "
            f"{self.n_blocks}: with what comes before it, its unknowns are not determined by the equations; look for "
            "redundant constraints or missing conditions at an end")
