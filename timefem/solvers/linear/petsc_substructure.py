"""Time-chain substructuring as a PETSc preconditioner.

Each rank eliminates the inside of its slab of elements with the time-chain LU; what is left, the unknowns of the nodes
between slabs and those without a pivot inside, is eliminated in a tree of ranks, and then each rank recovers its
inside. With up-to-date factors this is a direct solver.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ... import validate
from ...errors import InputError, SingularMatrix
from ...parallel import Counted, agree, swap
from .time_chain.lu import SlabLU


class Substructure:
    """Context of a PETSc preconditioner of type python.

    Parameters
    ----------
    pattern : object
        As in `SlabRows`.
    comm : PETSc communicator
    lag : int
        Factor in every lag-th call of `factor` only.

    Attributes
    ----------
    current : bool
        Whether the factors belong to the last matrix.
    factor_size : int
        Numbers stored for the factors of all slabs; those of the tree of ranks, which are few, are not counted.
    """

    def __init__(self, pattern, comm, lag=1):
        self.mpi = Counted(comm.tompi4py())
        self.lag, self._age = validate.integer("pc_chain_lag", lag, minimum=1), 0
        self.rows = r = SlabRows(pattern, self.mpi)
        self.lu = SlabLU(r.indptr, r.indices, r.column_starts, r.row_starts, r.left, r.right)
        self.tree = RankTree(r, self.mpi) if self.mpi.size > 1 else None
        self.current = False

    def factor(self, data, finite=False, now=False):
        """Take the matrix with the values `data` of the owned rows, known to be `finite` or not, and factor it when it
        is time, or `now`.

        Raises
        ------
        SingularMatrix, SolveError
            On all ranks, when a slab, or what is left of the slabs, cannot be factored.
        """
        if self._age and self._age < self.lag and not now:
            self._age, self.current = self._age + 1, False
            return
        self._age, self.current = 0, False
        values, error = self.rows.values(data), None
        try:
            self.lu.factor(values, finite)
        except Exception as failure:
            error = failure
        if self.tree is not None:
            error = self.tree.factor(self.lu, error)
        agree(self.mpi if self.mpi.size > 1 else None, error, f"slab {self.mpi.rank} of {self.mpi.size}")
        self._age, self.current = 1, True

    @property
    def factor_size(self):
        return self.mpi.allreduce(self.lu.fill) if self.mpi.size > 1 else self.lu.fill

    @property
    def facts(self):
        """Columns of this rank's slab without a pivot inside, and what it has sent to other ranks [bytes]."""
        return {"left_over": len(getattr(self.lu, "columns", ())), "messages": self.mpi.messages,
                "bytes_sent": self.mpi.bytes, "largest_message": self.mpi.largest, "factor_bytes": 8 * self.lu.fill}

    def apply(self, pc, b, x):
        """x = A^-1 b."""
        x.array[:] = self._solve(self.rows.to_slab(b.array_r), False)[self.rows.left[0]:]

    def applyTranspose(self, pc, b, x):
        """x = A^-T b."""
        x.array[:] = self.rows.to_owned(self._solve(np.concatenate([np.zeros(self.rows.left[0]), b.array_r]), True))

    def _solve(self, b, transposed):
        if self.tree is not None:
            return self.tree.solve(b, transposed)
        return self.lu.solve_transposed(b) if transposed else self.lu.solve(b)

    def view(self, pc, viewer):
        """Print what this is."""
        viewer.printfASCII(f"  time-chain substructuring, {self.mpi.size} slabs, factored in every call\n"
                           if self.lag == 1 else f"  time-chain substructuring, {self.mpi.size} slabs, factored in "
                           f"every call of {self.lag}\n")


# ---- rows of a distributed chain matrix, brought to the slabs that eliminate them

class SlabRows:
    """From the rows that a rank owns to the matrix of its slab of elements.

    A slab has the rows of its blocks and, when it is not the first, those of the node it shares with the slab before.
    A shared row is split between both slabs: columns before those of the right slab belong to the left one. So every
    entry belongs to one slab, and only entries at the ends of slabs change hands.

    Parameters
    ----------
    pattern : object
        `indptr`, `indices`: CSR pattern of the owned rows with global columns. `column_starts`, `row_starts`: where the
        blocks of the slab start, global, and the end; the columns are the owned ones. `n_node`: (number of columns,
        number of rows) of a shared node, which are the last ones of their slab.
    comm : mpi4py communicator
        Ranks in the order of the slabs.

    Attributes
    ----------
    indptr, indices : ndarray of int32 (int64 where too small)
        CSR pattern of the slab, local columns.
    first_row, first_column : int
        Global numbers of its first row and column.
    column_starts, row_starts : ndarray of int64
        Local starts of its blocks; the first block includes the left shared node.
    left, right : (int, int)
        Columns and rows of the shared nodes.
    """

    def __init__(self, pattern, comm):
        if not hasattr(pattern, "column_starts"):
            raise InputError("pc_type 'python' needs a matrix of a chain of elements")
        self.comm = comm
        none, node = (0, 0), tuple(int(n) for n in getattr(pattern, "n_node", (0, 0)))
        self.left, self.right = node if comm.rank > 0 else none, node if comm.rank < comm.size - 1 else none
        columns, rows = pattern.column_starts, pattern.row_starts
        self.columns, self.rows = (columns[0], columns[-1]), (rows[0], rows[-1])
        self.first_column, self.first_row = columns[0] - self.left[0], rows[0] - self.left[1]
        n_own = len(pattern.indptr) - 1
        first_own = comm.exscan(n_own) or 0 if comm.size > 1 else 0
        self.own = first_own, first_own + n_own
        self.column_starts, self.row_starts = columns - self.first_column, rows - self.first_row
        self.column_starts[0] = self.row_starts[0] = 0

        # only these rows at the start and at the end may have entries that change hands
        head = int(np.clip(self.rows[0] - first_own, 0, n_own))
        tail = int(np.clip(self.rows[1] - self.right[1] - first_own, head, n_own))
        head_entries, tail_entries = pattern.indptr[head], pattern.indptr[tail]
        self._inside = slice(head_entries, tail_entries)
        row, column = _entries(pattern, 0, head, first_own)
        leaves = column < self.columns[0]
        self._to_left, self._head = np.flatnonzero(leaves), np.flatnonzero(~leaves)
        to_left = row[leaves], column[leaves]
        kept_head = row[~leaves], column[~leaves]
        row, column = _entries(pattern, tail, n_own, first_own)
        leaves = (column >= self.columns[1]) | (row >= self.rows[1])
        self._to_right, self._tail = (tail_entries + np.flatnonzero(k) for k in (leaves, ~leaves))
        to_right = row[leaves], column[leaves]
        kept_tail = row[~leaves], column[~leaves]

        received = [pair or (row[:0], column[:0]) for pair in swap(comm, to_left, to_right)]
        counts = np.zeros(self.rows[1] - self.first_row, np.int64)
        for rows_of_piece, _ in (received[0], kept_head, kept_tail, received[1]):
            np.add.at(counts, rows_of_piece - self.first_row, 1)
        counts[first_own + head - self.first_row:first_own + tail - self.first_row] += \
            np.diff(pattern.indptr[head:tail + 1])
        n_entries = int(counts.sum())
        kind = np.int32 if max(n_entries, len(counts)) < 2**31 else np.int64
        self.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(kind)
        self.indices = np.empty(n_entries, kind)
        pieces = (received[0][1], kept_head[1], pattern.indices[self._inside], kept_tail[1], received[1][1])
        np.concatenate(pieces, out=self.indices, casting="unsafe")
        self.indices -= kind(self.first_column)
        self._values = np.empty(n_entries if comm.size > 1 else 0)

    def values(self, data):
        """Values of the slab's entries, of those of the owned rows; valid until the next call."""
        inside = data[self._inside]
        if self.comm.size == 1:
            return inside
        from_left, from_right = (np.zeros(0) if v is None else v
                                 for v in swap(self.comm, data[self._to_left], data[self._to_right]))
        pieces = from_left, data[self._head], inside, data[self._tail], from_right
        return np.concatenate(pieces, out=self._values)  # fresh memory would cost as much again

    def to_slab(self, b):
        """Right-hand side of the slab's rows, of that of the owned ones; 0 in the left shared rows, which have it
        in the slab before."""
        return np.concatenate([np.zeros(self.left[1]), self._move(b, self.own, self.rows)])

    def to_owned(self, u):
        """Values in the owned rows, of those in the rows of the slab."""
        return self._move(u[self.left[1]:], self.rows, self.own)

    def _move(self, values, old, new):
        if self.comm.size == 1:
            return values
        low, high = (int(np.clip(end - old[0], 0, len(values))) for end in new)
        from_left, from_right = swap(self.comm, values[:low], values[high:])
        return np.concatenate([v for v in (from_left, values[low:high], from_right) if v is not None])


def _entries(pattern, start, stop, first_row):
    """Row and column of each entry of the local rows `start` to `stop`."""
    counts = np.diff(pattern.indptr[start:stop + 1])
    entries = slice(pattern.indptr[start], pattern.indptr[stop])
    return np.repeat(np.arange(start, stop) + first_row, counts), np.asarray(pattern.indices[entries])


# ---- the interface system of slabs, eliminated pair by pair: log2(p) steps on p ranks
# What is left of a slab are the nodes at its ends, and columns and rows that found no pivot inside. Two neighbours put
# theirs together, on the rank of the left one, which eliminates the node between them and what it can of the rest; the
# outcome is what is left of one slab of twice the length. The last pair has no ends that are shared. A solve takes the
# same way up with the right-hand side, and down with the solution.

BETWEEN = ("singular matrix (to working precision): the unknowns of the nodes between the slabs depend on each other; "
           "constraints that repeat each other, unknowns without an equation, missing conditions at an end, or "
           "unknowns far from a solution make it so")


class Rest(NamedTuple):
    """What is left of a slab: its matrix, rows and columns in time order, and (columns, rows) of the ends."""

    matrix: np.ndarray
    left: tuple
    right: tuple


class _Part:
    """A factored slab, or pair of slabs, and the order of what is left of it."""

    def __init__(self, lu, left, right):
        self.lu, (rows, columns) = lu, map(np.argsort, (lu.rows, lu.columns))
        self.orders = columns, rows
        self.rest = Rest(lu.left_over[rows][:, columns], left, right)

    def eliminate(self, b, transposed):
        self.work, reduced = self.lu.eliminate(b, transposed)
        return reduced[self.orders[0 if transposed else 1]]

    def recover(self, x, transposed):
        unordered = np.empty(len(x))
        unordered[self.orders[1 if transposed else 0]] = x
        return self.lu.recover(self.work, unordered, transposed)


class RankTree:
    """The tree of ranks, for one pattern and many matrices.

    Parameters
    ----------
    rows : SlabRows
    comm : mpi4py communicator
        Ranks in the order of the slabs.
    """

    def __init__(self, rows, comm):
        self.comm, self.ends, self.above, self.below = comm, (rows.left, rows.right), None, []
        step = 1
        while step < comm.size and self.above is None:
            if comm.rank % (2 * step):
                self.above = comm.rank - step
            elif comm.rank + step < comm.size:
                self.below.append(comm.rank + step)
            step *= 2
        self._pairs, self._parts = [None] * len(self.below), []

    def factor(self, lu, error):
        """Eliminate what is left of this rank's slab and of those of the ranks below.

        Parameters
        ----------
        lu : SlabLU
            Factored, unless there is an `error`: then the ranks above stop, too.

        Returns
        -------
        error : Exception or None
            That arose on this rank.
        """
        self._parts = [] if error else [_Part(lu, *self.ends)]
        stopped = error is not None
        for number, rank in enumerate(self.below):
            rest = self.comm.recv(source=rank)
            stopped = stopped or rest is None
            if not stopped:
                try:
                    self._parts.append(self._joined(number, self._parts[-1].rest, rest))
                except SingularMatrix:
                    error, stopped = SingularMatrix(BETWEEN), True
        if self.above is not None:
            self.comm.send(None if stopped else self._parts[-1].rest, dest=self.above)
        return error

    def _joined(self, number, a, b):
        """The `_Part` of two neighbours: rows and columns of the node between them are added."""
        n_columns, n_rows = a.right
        height, width = a.matrix.shape[0], a.matrix.shape[1]
        shape = height + b.matrix.shape[0] - n_rows, width + b.matrix.shape[1] - n_columns
        matrix = np.zeros(shape)
        matrix[:height, :width] = a.matrix
        matrix[height - n_rows:, width - n_columns:] += b.matrix
        key, pair = (shape, a.left, b.right), self._pairs[number]
        if pair is None or pair[0] != key:
            indptr = np.arange(shape[0] + 1) * shape[1]
            one_block = (np.array([0, n]) for n in shape[::-1])
            pair = key, SlabLU(indptr, np.tile(np.arange(shape[1]), shape[0]), *one_block, a.left, b.right)
            self._pairs[number] = pair
        pair[1].factor(matrix.ravel())
        return _Part(pair[1], a.left, b.right)

    def solve(self, b, transposed):
        """Solution of all columns (rows) of this rank's slab, of the right-hand side of its rows (columns).

        That of shared rows may be split between the slabs in any way.
        """
        side, reduced = (0 if transposed else 1), self._parts[0].eliminate(b, transposed)
        for (lower, part), rank in zip(pairwise(self._parts), self.below, strict=True):
            other, n = self.comm.recv(source=rank), lower.rest.right[side]
            both = np.zeros(len(reduced) + len(other) - n)
            both[:len(reduced)] = reduced
            both[len(reduced) - n:] += other
            reduced = part.eliminate(both, transposed)
        x = reduced  # nothing is left at the top
        if self.above is not None:
            self.comm.send(reduced, dest=self.above)
            x = self.comm.recv(source=self.above)
        for (part, lower), rank in zip(pairwise(self._parts[::-1]), self.below[::-1], strict=True):
            whole, n = part.recover(x, transposed), lower.rest.right[1 - side]
            n_lower = lower.rest.matrix.shape[side]  # columns, or rows for the transposed matrix
            self.comm.send(whole[n_lower - n:], dest=rank)
            x = whole[:n_lower]
        return self._parts[0].recover(x, transposed)
