"""The block elimination of `block_ldl` over ranks: each eliminates its slab of blocks, and all what is between them.

The unknowns x of the block before a slab that it is coupled to get a copy x', with multipliers nu of `x - x' = 0`. Then
slabs are coupled by the x' to their left and the nu to their right only: each can be eliminated on its own, as a chain
that starts from a given x' is, and what is left is a short chain of (x', nu), one block for each cut. Negative
eigenvalues sum up (Haynsworth, see `BlockLDL`), less one for each copy, which its multiplier brings.
"""

import numpy as np

from .block_ldl import BlockLDL


class SharedLDL:
    """`BlockLDL` of a matrix of which each rank has a slab.

    Parameters
    ----------
    comm : mpi4py communicator
        Ranks in the order of the blocks.
    blocks : ndarray of int
    entries : (rows, columns, sources)
    border, last
        As in `BlockLDL`, of this rank; the border of each rank is what is held of the last block of the one before, in
        the same order.

    Attributes
    ----------
    negative : int
        Negative eigenvalues of the whole matrix, -1 where it is singular; on all ranks.
    negative_here : int
        Those of the matrix of this rank.
    """

    def __init__(self, comm, blocks, entries, border, last):
        self.comm, self._own, self.negative = comm, BlockLDL(blocks, *entries, border, last), -1
        self._widths = comm.allgather(border)  # of the cut before each rank
        starts = 2 * np.cumsum([0, *self._widths])
        self._copies = [np.arange(start, start + w) for start, w in zip(starts, self._widths, strict=False)]
        places = []
        for unknowns in map(self._unknowns, range(comm.size)):
            i, j = (a.ravel() for a in np.meshgrid(unknowns, unknowns, indexing="ij"))
            places.append((i[i >= j], j[i >= j]))
        for copies in self._copies:
            places.append((copies + len(copies), copies))
        cut = np.repeat(np.arange(comm.size) - 1, 2 * np.array(self._widths))
        self._between = BlockLDL(cut, *(np.concatenate(x) for x in zip(*places, strict=True)))

    def _unknowns(self, rank):
        """Numbers of the copies at the left end of a slab and of the multipliers at its right end."""
        following = self._copies[rank + 1] + self._widths[rank + 1] if rank + 1 < self.comm.size else np.zeros(0, int)
        return np.concatenate([self._copies[rank], following])

    def factor(self, values):
        """As in `BlockLDL`, on all ranks alike."""
        self._own.factor(values)
        self.negative_here = self._own.negative
        found = self.comm.allgather((self.negative_here, self._own.ends))
        self.negative = -1
        if min(negative for negative, _ in found) < 0:
            return False
        entries = [ends[np.tril_indices(len(ends))] for _, ends in found]
        ties = -np.ones(sum(self._widths))
        if not self._between.factor(np.concatenate([*entries, ties])):
            return False
        self.negative = sum(negative for negative, _ in found) + self._between.negative - sum(self._widths)
        return True

    def solve(self, b):
        """Solution of the last matrix, of the right-hand side of this rank's unknowns."""
        work, ends = self._own.eliminate(b)
        total = np.zeros(2 * sum(self._widths))
        for rank, part in enumerate(self.comm.allgather(ends)):
            total[self._unknowns(rank)] = part
        return self._own.recover(work, self._between.solve(total)[self._unknowns(self.comm.rank)])
