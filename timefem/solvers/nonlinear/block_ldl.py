"""Symmetric indefinite matrices in time order: L D L^T block by block, with the inertia."""

import numpy as np

from ...kernels.lanes import LANES, aligned_zeros
from . import block_ldl_loops as loops
from . import block_ldl_solves as solves


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
    sources : ndarray of int, shape (n_entries,), optional
        Where the entries are in the values that are factored; default: in this order.
    border : int
        Unknowns n, n + 1, ... that come before the first block, are coupled to it, and are not eliminated.
    last : ndarray of int
        Unknowns of the last block that what follows is coupled to, rising.

    Attributes
    ----------
    negative : int
        Negative eigenvalues of the last matrix, -1 where it is singular.
    ends : ndarray, shape (border + len(last), border + len(last))
        `-[C E]^T A^-1 [C E]` with the coupling C to the border and the columns E of the last unknowns.
    """

    def __init__(self, blocks, rows, columns, sources=None, border=0, last=()):
        n, n_blocks = len(blocks), int(blocks.max()) + 1
        blocks = np.concatenate([blocks, np.full(border, -1)])
        swap = blocks[rows] < blocks[columns]
        rows, columns = np.where(swap, columns, rows), np.where(swap, rows, columns)
        apart = blocks[rows] - blocks[columns]
        if np.any(apart > 1):
            first, second = (blocks[x][apart > 1][0] for x in (columns, rows))
            raise ValueError(f"blocks {first} and {second} are coupled, but are no neighbours")
        couples = apart == 1
        held = np.zeros(n + border, bool)
        held[columns[couples]] = True
        held[np.asarray(last, int)] = True
        held[n:] = False
        self._order = np.lexsort((held, blocks))[border:]
        sizes = np.bincount(blocks[:n], minlength=n_blocks)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._held = np.bincount(blocks[held], minlength=n_blocks)
        place = np.concatenate([np.empty(n, int), np.arange(border)])  # of each unknown in its block
        place[self._order] = np.arange(n) - self._starts[blocks[self._order]]
        i, j = place[rows], place[columns]
        i, j = np.where(couples, i, np.maximum(i, j)), np.where(couples, j, np.minimum(i, j))
        block = blocks[rows]
        skipped = np.concatenate([[0], (sizes - self._held)[:-1]])  # unknowns of the block before that are not held
        before = np.concatenate([[border], self._held[:-1]])
        strides, heights = _whole(sizes), _whole(sizes + self._held + border)
        places = np.where(couples, (j - skipped[block]) * strides[block] + i, j * heights[block] + i)
        sources = np.arange(len(rows)) if sources is None else sources
        self._entries = [_by_block(block, np.flatnonzero(chosen), places, sources, n_blocks)
                         for chosen in (~couples, couples)]
        corner = (int((self._held + border).max()) + LANES) * int(heights.max())
        self._memory = (aligned_zeros(int(sizes @ heights) + corner), aligned_zeros(int(_whole(before) @ strides)),
                        np.empty(n, np.int64), np.empty(n), np.empty(n))
        self._border, width = border, border + int(self._held[-1])
        self.ends = np.zeros((width, width))
        self.negative = -1

    def factor(self, values):
        """Factor the matrix with these entries; False where a block is singular or not finite."""
        negative, singular = loops.factor(self._starts, self._held, self._border, *self._entries, values, *self._memory,
                                          self.ends)
        self.negative = negative if singular < 0 else -1
        return singular < 0

    @property
    def least_pivot(self):
        """The least magnitude of a pivot of the last matrix; of those of order 2, determinant over largest entry."""
        _, _, _, d, off = self._memory
        least, first = np.abs(d), np.flatnonzero(off)
        one, other, beside = d[first], d[first + 1], off[first]
        largest = np.maximum(np.maximum(least[first], least[first + 1]), np.abs(beside))
        least[first] = least[first + 1] = np.abs(one * other - beside * beside) / largest
        return least.min()

    def solve(self, b):
        """Solution of the last matrix, shape (n,)."""
        work, ends = self.eliminate(b)
        return self.recover(work, np.zeros(len(ends)))

    def eliminate(self, b):
        """What `recover` needs of a right-hand side, and `-[C E]^T A^-1 b`."""
        work, ends = np.empty(len(b)), np.empty(len(self.ends))
        solves.forward(self._starts, self._held, self._border, *self._memory, self._order, b, work, ends)
        return work, ends

    def recover(self, work, ends):
        """The x of `A x + [C E] ends = b`, shape (n,)."""
        out = np.empty_like(work)
        solves.backward(self._starts, self._held, self._border, *self._memory, self._order, work, ends, out)
        return out


def _whole(n):
    return loops.whole.py_func(n)


def _by_block(block, chosen, places, sources, n_blocks):
    chosen = chosen[np.argsort(block[chosen], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(block[chosen], minlength=n_blocks))])
    return starts, sources[chosen].astype(np.int32), places[chosen].astype(np.int32)  # half of the memory to pass over
