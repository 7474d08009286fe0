"""The interface system of slabs, eliminated pair by pair: log2(p) steps on p ranks.

What is left of a slab are the nodes at its ends, and columns and rows that found no pivot inside. Two neighbours put
theirs together, on the rank of the left one, which eliminates the node between them and what it can of the rest; the
outcome is what is left of one slab of twice the length. The last pair has no ends that are shared. A solve takes the
same way up with the right-hand side, and down with the solution.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ....errors import SingularMatrix
from ..time_chain.slab_lu import SlabLU

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
