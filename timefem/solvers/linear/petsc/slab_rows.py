"""Rows of a distributed chain matrix, brought to the slabs that eliminate them."""

import numpy as np

from ....errors import InputError
from ....parallel import swap


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
