"""Symmetric indefinite matrices in time order: L D L^T block by block, with the inertia."""

import numpy as np

from . import block_ldl_loops as loops


class BlockLDL:
    """Factors of a symmetric matrix whose blocks touch their neighbours only, and the signs of its eigenvalues.

    Blocks are eliminated from the first to the last: `S_e = K_e - B_e S_(e-1)^-1 B_e^T`. With pivots inside blocks
    only, the numbers of negative eigenvalues of all S_e sum up to that of the matrix (Haynsworth, Linear Algebra Appl.
    1 (1968)). It is regular where a chain of equations determines each block from the one before; what is lost to
    pivots that are not chosen across blocks comes back by one step of refinement.

    Parameters
    ----------
    blocks : ndarray of int, shape (n,)
        Block of each unknown, rising from 0.
    rows, columns : ndarray of int, shape (n_entries,)
        Places of the entries, each in one of the triangles; those that come twice are added.

    Attributes
    ----------
    negative : int
        Negative eigenvalues of the last matrix, -1 where it is singular.
    """

    def __init__(self, blocks, rows, columns):
        n, n_blocks = len(blocks), int(blocks.max()) + 1
        swap = blocks[rows] < blocks[columns]
        rows, columns = np.where(swap, columns, rows), np.where(swap, rows, columns)
        apart = blocks[rows] - blocks[columns]
        if np.any(apart > 1):
            first, second = (blocks[x][apart > 1][0] for x in (columns, rows))
            raise ValueError(f"blocks {first} and {second} are coupled, but are no neighbours")
        couples = apart == 1
        held = np.zeros(n, bool)
        held[columns[couples]] = True
        self._order = np.lexsort((held, blocks))
        sizes = np.bincount(blocks, minlength=n_blocks)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._held = np.bincount(blocks[held], minlength=n_blocks)
        place = np.empty(n, int)  # of each unknown in its block
        place[self._order] = np.arange(n) - self._starts[blocks[self._order]]
        i, j = place[rows], place[columns]
        i, j = np.where(couples, i, np.maximum(i, j)), np.where(couples, j, np.minimum(i, j))
        block = blocks[rows]
        skipped = np.concatenate([[0], (sizes - self._held)[:-1]])  # unknowns of the block before that are not held
        places = np.where(couples, (j - skipped[block]) * sizes[block] + i, i * sizes[block] + j)
        self._entries = [_by_block(block, np.flatnonzero(chosen), places, n_blocks) for chosen in (~couples, couples)]
        before = np.concatenate([[0], self._held[:-1]])
        room = (sizes**2).sum(), (before * sizes).sum(), (self._held * sizes).sum()
        self._memory = (*(np.empty(count) for count in room), np.empty(n, np.int64), np.empty(n), np.empty(n))
        self.negative = -1

    def factor(self, values):
        """Factor the matrix with these entries; False where a block is singular or not finite."""
        negative, singular = loops.factor(self._starts, self._held, *self._entries, values, *self._memory)
        self.negative = negative if singular < 0 else -1
        return singular < 0

    def solve(self, b):
        """Solution of the last matrix, shape (n,)."""
        x = b[self._order]
        loops.solve(self._starts, self._held, *self._memory, x)
        out = np.empty_like(x)
        out[self._order] = x
        return out


def _by_block(block, chosen, places, n_blocks):
    chosen = chosen[np.argsort(block[chosen], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(block[chosen], minlength=n_blocks))])
    return starts, chosen, places[chosen]
