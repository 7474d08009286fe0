"""The time-chain LU: a sparse matrix in time order, factored one time element after the other.

The columns fall into consecutive blocks, one per time element, and a row touches at most two neighbouring blocks.
Rows are taken in the order of their first column, and column c gets its pivot from all rows that have entered so far
and are not pivots yet, whichever block they come from. That is all it takes to pivot across blocks: a row that is
not used up in its first block waits, and by then has entries in the next block only. This is the frontal form of
the solvers for almost block diagonal matrices (Diaz, Fairweather and Keast, ACM TOMS 9, 1983), but with row
interchanges only.

Where everything is follows from `entered`, the number of rows whose first column is at most c. In that order of
rows, column c keeps its pivot, the multipliers of rows c + 1, ..., entered[c] - 1, and the pivot row from column
c + 1 to the end of the next block. Each run is filled up with zeros to whole vectors of 8, and runs follow each
other without gaps in the order in which `factor` makes them.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..elements.lanes import _VECTOR, LANES, _load, _pointer, _reduce, add_lanes
from ..errors import InputError, SolveError

EPS = np.finfo(float).eps
TINY = 1e-300  # its inverse is still finite


@intrinsic
def _copy_lanes(typing, y, i, x, j):
    """y[i:i+8] = x[j:j+8], offsets counted in doubles from the start of C-contiguous arrays."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        builder.store(_load(context, builder, tx, x, j), _pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


@intrinsic
def _raise_lanes(typing, y, i, x, j):
    """y[i:i+8] = max(y[i:i+8], |x[j:j+8]|); NaN does not count."""

    def emit(context, builder, signature, args):
        ty, _, tx, _ = signature.args
        y, i, x, j = args
        fabs = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR]),
                                              "llvm.fabs.v8f64")
        old, new = _load(context, builder, ty, y, i), builder.call(fabs, [_load(context, builder, tx, x, j)])
        larger = builder.select(builder.fcmp_ordered(">", new, old), new, old)
        builder.store(larger, _pointer(context, builder, ty, y, i), align=8)
        return context.get_dummy_value()

    return types.void(y, types.int64, x, types.int64), emit


@intrinsic
def _dot(typing, x, i, y, j, n):
    """Sum of x[i:i+n] * y[j:j+n], n a multiple of 8, with one partial sum per lane."""

    def emit(context, builder, signature, args):
        tx, _, ty, _, _ = signature.args
        x, i, y, j, n = args
        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3),
                                             "llvm.fma.v8f64")
        with cgutils.for_range_slice(builder, n.type(0), n, n.type(LANES)) as (k, _):
            factors = [_load(context, builder, ty, y, builder.add(j, k)),
                       _load(context, builder, tx, x, builder.add(i, k))]
            builder.store(builder.call(fma, [*factors, builder.load(total)]), total)
        return _reduce(builder, builder.load(total), builder.fadd)

    return types.float64(x, types.int64, y, types.int64, types.int64), emit


@njit(cache=True)
def _whole(n):
    """Numbers rounded up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@njit(cache=True)
def _first_columns(indptr, indices, starts, first):
    """Fill in the first column of each row (n when empty); return a row that cannot be used, or -1."""
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
    return -1


@njit(cache=True, error_model="numpy")
def _factor(indptr, indices, data, starts, order, entered, swaps, inverses, lower, upper, work):
    """Factor; return the first column without a pivot, or -1.

    Step e works on a dense front: candidate rows by the columns of blocks e and e + 1, each row `stride` long.

    Parameters
    ----------
    indptr, indices, data : the matrix
    starts : (n_blocks + 1,) first column of each block, and n
    order : (n,) rows by first column
    entered : (n,) number of rows whose first column is at most c
    swaps : (n,) filled in: place that place c of the row order is interchanged with, when column c is eliminated
    inverses : (n,) filled in: 1 / pivot
    lower, upper : filled in: multipliers by column, and pivot rows behind the pivot
    work : front and spare, (height * stride,) each; scale (stride,); rows and names, (height,) int64 each
        Candidate i starts at `front[rows[i]]` and is row `names[i]` of the matrix; `scale` has the largest
        magnitude in each column of the front before elimination.
    """
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
                front[row + indices[k] - start] = data[k]
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
            if not (best > TINY and best < np.inf):
                return start + j
            if not best > EPS * width * scale[j]:
                # small for its column; rounding error only if it is small for its row as well, else badly scaled
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
            first = j - j % LANES  # aligned vectors are faster, and columns up to j do not matter any more
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
            at_l += _whole(n_rows - j - 1)

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
    """Overwrite the right-hand side y, padded by 8 zeros, with the solution; rows are in `order`."""
    n, n_blocks = len(entered), len(starts) - 1
    at = 0
    if transposed:
        for e in range(n_blocks):
            last = starts[min(e + 2, n_blocks)]
            for c in range(starts[e], starts[e + 1]):
                value = y[c] * inverses[c]
                y[c] = value
                for v in range(c + 1, last, LANES):
                    add_lanes(y, v, -value, upper, at)
                    at += LANES
        at = len(lower)
        for c in range(n - 1, -1, -1):
            length = _whole(entered[c] - c - 1)
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
                length = _whole(last - c - 1)
                at -= length
                y[c] = (y[c] - _dot(upper, at, y, c + 1, length)) * inverses[c]


def _aligned(n):
    """Zeros that start at a cache line, so that no vector straddles two."""
    values = np.zeros(n + LANES)
    skip = -values.ctypes.data // values.itemsize % LANES
    return values[skip:skip + n]


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
        self._indptr, self._indices, self._starts = (
            np.ascontiguousarray(a, dtype=np.int64) for a in (indptr, indices, block_starts))
        starts = self._starts
        self.n, self.n_blocks = n, _ = len(self._indptr) - 1, len(starts) - 1
        if self.n_blocks < 1 or starts[0] != 0 or starts[-1] != n or np.any(np.diff(starts) < 1):
            raise InputError(f"block_starts must rise strictly from 0 to the number of columns, {n}")
        if self._indptr[0] != 0 or self._indptr[-1] != len(self._indices):
            raise InputError(f"indptr must start at 0 and end at the number of indices, {len(self._indices)}")
        first = np.empty(n, np.int64)
        bad = _first_columns(self._indptr, self._indices, starts, first)
        if bad >= 0:
            self._refuse(bad)
        self._order = np.argsort(first, kind="stable")
        self._entered = np.cumsum(np.bincount(first, minlength=n)[:n])

        columns = np.arange(n)
        ends = np.append(starts[2:], [n, n])[:self.n_blocks]
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
        if data.shape != self._indices.shape:
            raise InputError(f"data must have shape {self._indices.shape}, not {data.shape}")
        self._factored = False
        column = _factor(self._indptr, self._indices, data, self._starts, self._order, self._entered,
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

    def _refuse(self, row):
        columns = self._indices[self._indptr[row]:self._indptr[row + 1]]
        if np.any(np.diff(columns) <= 0) or columns[0] < 0 or columns[-1] >= self.n:
            raise InputError(f"columns of row {row} must ascend and lie in 0, ..., {self.n - 1}")
        raise InputError(f"row {row} touches blocks {self._block(columns[0])} to {self._block(columns[-1])}; "
                         "the chain LU takes rows that touch at most two neighbouring blocks")

    def _give_up(self, column, data):
        if not np.all(np.isfinite(data)):
            row = np.searchsorted(self._indptr, np.flatnonzero(~np.isfinite(data))[0], side="right") - 1
            raise SolveError(f"the matrix is not finite in row {row}")
        block = self._block(column)
        place = column - self._starts[block]
        left = np.sort(self._work[-1][place:max(self._entered[column] - self._starts[block], place)])
        origin = self._block(self._indices[self._indptr[left]])
        rows = ", ".join(f"{row} (from block {e})" for row, e in zip(left[:5], origin))
        raise SolveError(
            f"the matrix is singular to working precision: no pivot for column {column}, in block {block} of "
            f"{self.n_blocks}; " + (f"left are rows {rows}{', ...' if len(left) > 5 else ''}, which depend on others "
            "up to there" if rows else "no row is left") + ". Blocks are time elements; look for redundant "
            "constraints, unknowns without an equation, or missing conditions at an end")
