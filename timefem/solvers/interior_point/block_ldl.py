"""Symmetric indefinite matrices in time order: L D L^T block by block, with the inertia.

Over ranks each eliminates its slab of blocks, and all what is between them. The unknowns x of the block before a slab
that it is coupled to get a copy x' there, with multipliers nu of `x - x' = 0`. A share of `(x'^2 - x^2) / 2`, which is
zero then, makes x' determined by its slab, so that rows of the slab may depend on each other once x' is given: what is
left is a short chain of nu, one block for each cut. Negative eigenvalues sum up (Haynsworth, see `BlockLDL`), less one
for each copy, which its multiplier brings.
"""

import numpy as np

from ...kernels.lanes import LANES, aligned_zeros
from ...kernels.loops import compiled
from . import ldl_loops
from .ldl_inside import InsideFirst


class BlockLDL:
    """Factors of a symmetric matrix whose blocks touch their neighbours only, and the signs of its eigenvalues.

    Blocks are eliminated from the first to the last: `S_e = K_e - B_e S_(e-1)^-1 B_e^T`. With pivots inside blocks
    only, the numbers of negative eigenvalues of all S_e sum up to that of the matrix (Haynsworth, Linear Algebra Appl.
    1 (1968)). It is regular where a chain of equations determines each block from the one before; what is lost to
    pivots that are not chosen across blocks comes back by one step of refinement.

    Where many blocks are alike, what is inside of them is eliminated first (`InsideFirst`).

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
    condenses : bool
        Whether what is inside of blocks may be eliminated first.

    Attributes
    ----------
    negative : int
        Negative eigenvalues of the last matrix, -1 where it is singular.
    ends : ndarray, shape (border + len(last), border + len(last))
        `-[C E]^T A^-1 [C E]` with the coupling C to the border and the columns E of the last unknowns.
    """

    def __init__(self, blocks, rows, columns, sources=None, border=0, last=(), condenses=True):
        n, n_blocks = len(blocks), int(blocks.max()) + 1
        blocks = np.concatenate([blocks, np.full(border, -1)])
        rows, columns, last = map(_whole_numbers, (rows, columns, last))
        sources = np.arange(len(rows)) if sources is None else sources
        (held, place), (own, coupled) = np.zeros((2, n + border), int), np.zeros((2, n_blocks + 1), int)
        wrong = count(blocks, rows, columns, last, n, held, own, coupled)
        if wrong >= 0:
            first, second = sorted((blocks[rows[wrong]], blocks[columns[wrong]]))
            raise ValueError(f"blocks {first} and {second} are coupled, but are no neighbours")
        sizes = np.bincount(blocks[:n], minlength=n_blocks)
        block_starts, unknowns = np.concatenate([[0], np.cumsum(sizes)]), np.empty(n, int)
        n_held = np.bincount(blocks[:n], held[:n], n_blocks).astype(int)
        following = np.empty((2, n_blocks), int)
        order(blocks, n, held, block_starts, n_held, following, unknowns, place)
        skipped = np.concatenate([[0], (sizes - n_held)[:-1]])  # unknowns of the block before that are not held
        before = np.concatenate([[border], n_held[:-1]])
        strides, heights = _whole(sizes), _whole(sizes + n_held + border)
        own, coupled = np.cumsum(own), np.cumsum(coupled)
        following[:] = own[:-1], coupled[:-1]
        entries = [part for starts in (own, coupled)
                   for part in (starts, *np.empty((2, starts[-1]), np.int32))]  # half of the memory to pass over
        corner = (int((n_held + border).max()) + LANES) * int(heights.max())
        memory = (_aligned(int(sizes @ heights) + corner), _aligned(int(_whole(before) @ strides)),
                  np.empty(n, np.int64), np.empty(n), np.empty(n))
        self._chain = ldl_loops.Chain(block_starts, n_held, border, *entries, *memory, unknowns)
        settle(self._chain, blocks, (rows, columns, sources), place, skipped, heights, strides, following)
        width = border + int(n_held[-1])
        self.ends = np.zeros((width, width))
        self.negative, self._by = -1, None
        self._inside = InsideFirst(self._chain, blocks[:n], last, BlockLDL) if condenses else None

    def factor(self, values):
        """Factor the matrix with these entries; False where a block is singular or not finite."""
        self._by = self._inside.factor(values) if self._inside else None
        if self._by is not None:
            self.negative, self.ends[:] = self._by.negative, self._by.ends
            return True
        negative, singular = ldl_loops.factor(self._chain, values, self.ends)
        self.negative = negative if singular < 0 else -1
        return singular < 0

    @property
    def least_pivot(self):
        """The least magnitude of a pivot of the last matrix; of those of order 2, determinant over largest entry."""
        if self._by is not None:
            return self._by.least_pivot
        d, off = self._chain.d, self._chain.off
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
        if self._by is not None:
            return self._by.eliminate(b)
        work, ends = np.empty(len(b)), np.empty(len(self.ends))
        ldl_loops.forward(self._chain, b, work, ends)
        return work, ends

    def recover(self, work, ends):
        """The x of `A x + [C E] ends = b`, shape (n,)."""
        if self._by is not None:
            return self._by.recover(work, ends)
        out = np.empty_like(work)
        ldl_loops.backward(self._chain, work, ends, out)
        return out


class SharedLDL:
    """`BlockLDL` of a matrix of which each rank has a slab.

    Parameters
    ----------
    comm : mpi4py communicator
        Ranks in the order of the blocks.
    blocks : ndarray of int, shape (n,)
    entries : (rows, columns, sources)
        As in `BlockLDL`, of this rank; unknowns n, n + 1, ... are those of the block before that it is coupled to.
    border, last
        As in `BlockLDL`, of this rank; the border of each rank is what is held of the last block of the one before, in
        the same order.
    n_rows : int
        How many of the border, the last ones, are multipliers of rows.

    Attributes
    ----------
    negative : int
        Negative eigenvalues of the whole matrix, -1 where it is singular; on all ranks.
    """

    def __init__(self, comm, blocks, entries, border, last, n_rows=0):
        n, (rows, columns, sources) = len(blocks), entries
        sources = np.arange(len(rows)) if sources is None else sources
        self.comm, self.negative, self._n, self._border = comm, -1, n, border
        self._n_values = int(sources.max()) + 1
        cuts = [*comm.allgather((border, n_rows)), (0, 0)]  # before each rank
        widths, copies = [w for w, _ in cuts[:-1]], n + np.arange(border)
        # shares fall, since equal ones at both ends would leave nothing of what does not change along a slab
        first, following = ((0.5 - 0.5 * cut / comm.size) * np.repeat([1.0, -1.0], [width - of_rows, of_rows])
                            for cut, (width, of_rows) in enumerate(cuts[comm.rank:comm.rank + 2], comm.rank))
        added = np.concatenate([np.full(border, -1.0), first, -following])
        self._shares, self._diagonal = np.concatenate([first, -following]), sources[(rows == columns) & (rows < n)]
        self._values = np.concatenate([np.empty(self._n_values), added])
        self._own = BlockLDL(np.concatenate([blocks, np.zeros(border, int)]),
                             np.concatenate([rows, copies + border, copies, last]),
                             np.concatenate([columns, copies, copies, last]),
                             np.concatenate([sources, self._n_values + np.arange(len(added))]), border, last)
        starts = np.cumsum([0, *widths])
        self._cuts = [np.arange(*ends) for ends in zip(starts, [*starts[2:], starts[-1]], strict=False)][:comm.size]
        self._n_cuts, places = int(starts[-1]), []
        for cut in self._cuts:
            i, j = (a.ravel() for a in np.meshgrid(cut, cut, indexing="ij"))
            places.append((i[i >= j], j[i >= j]))
        cut = np.repeat(np.arange(comm.size) - 1, widths)
        self._between = BlockLDL(cut, *(np.concatenate(x) for x in zip(*places, strict=True)))

    def factor(self, values):
        """As in `BlockLDL`, on all ranks alike."""
        self._values[:self._n_values] = values[:self._n_values]
        curved = np.abs(values[self._diagonal])
        curved = curved[curved > 0]
        size = min(self.comm.allgather(np.median(curved) if len(curved) else 1.0))
        self._values[len(self._values) - len(self._shares):] = size * self._shares
        self._own.factor(self._values)
        found, self.negative = self.comm.allgather((self._own.negative, self._own.ends)), -1
        if min(negative for negative, _ in found) < 0:
            return False
        if not self._between.factor(np.concatenate([ends[np.tril_indices(len(ends))] for _, ends in found])):
            return False
        self.negative = sum(negative for negative, _ in found) + self._between.negative - self._n_cuts
        return True

    def solve(self, b):
        """Solution of the last matrix, of the right-hand side of this rank's unknowns."""
        work, ends = self._own.eliminate(np.concatenate([b, np.zeros(self._border)]))
        total = np.zeros(self._n_cuts)
        for cut, part in zip(self._cuts, self.comm.allgather(ends), strict=True):
            total[cut] += part
        return self._own.recover(work, self._between.solve(total)[self._cuts[self.comm.rank]])[:self._n]


def _whole(n):
    return ldl_loops.whole.py_func(n)


def _aligned(n):
    return aligned_zeros.py_func(n)  # what a compiled loop returns is copied, to any address


def _whole_numbers(values):
    return np.ascontiguousarray(values, np.int64)


@compiled(error_model="numpy", _nrt=False)
def count(blocks, rows, columns, last, n, held, own, coupled):
    """Mark the unknowns that the next block is coupled to, or what follows (`last`), and count entries behind blocks.

    Returns the first entry that couples blocks that are no neighbours, -1 without one.

    Parameters
    ----------
    blocks : (n + border,) int
        Block of each unknown, -1 of those of the border.
    rows, columns : (n_entries,) int
    last : int array
    n : int
    held : (n + border,) int
        Zeros, becomes 1 for those that are held.
    own, coupled : (n_blocks + 1,) int
        Zeros, become the numbers of entries of each block, at the place behind it, and of its coupling.
    """
    for t in range(len(rows)):
        low, high = blocks[rows[t]], blocks[columns[t]]
        before = rows[t]
        if low > high:
            low, high, before = high, low, columns[t]
        if high - low > 1:
            return t
        if high > low:
            coupled[high + 1] += 1
            held[before] = 1
        else:
            own[high + 1] += 1
    for i in last:
        held[i] = 1
    for i in range(n, len(blocks)):
        held[i] = 0
    return -1


@compiled(error_model="numpy", _nrt=False)
def order(blocks, n, held, starts, n_held, following, order, place):
    """Put the unknowns of each block in order, held ones last; `following` is scratch of shape (2, n_blocks)."""
    for e in range(len(n_held)):
        following[0, e], following[1, e] = 0, starts[e + 1] - starts[e] - n_held[e]
    for i in range(n):
        e = blocks[i]
        place[i] = following[held[i], e]
        order[starts[e] + place[i]] = i
        following[held[i], e] += 1
    for i in range(n, len(blocks)):
        place[i] = i - n


@compiled(error_model="numpy", _nrt=False)
def settle(chain, blocks, entries, place, skipped, heights, strides, following):
    """Sort entries by blocks, each with its source and its place in the front, or in the coupling, of its block.

    Parameters
    ----------
    chain : Chain
        Its sources and places are set.
    entries : (rows, columns, sources)
    place : (n + border,) int
        Of each unknown in its block.
    skipped : (n_blocks,) int
        Unknowns of the block before that are not held.
    heights, strides : (n_blocks,) int
        Lengths of the columns of the front and of the coupling.
    following : (2, n_blocks) int
        First entries of each block, and of its coupling; is changed.
    """
    rows, columns, sources = entries
    for t in range(len(rows)):
        i, j = rows[t], columns[t]
        e, before = blocks[i], blocks[j]
        if e < before:
            i, j, e, before = j, i, before, e
        if e == before:
            k = following[0, e]
            following[0, e] = k + 1
            chain.own_sources[k] = sources[t]
            chain.own_places[k] = min(place[i], place[j]) * heights[e] + max(place[i], place[j])
        else:
            k = following[1, e]
            following[1, e] = k + 1
            chain.coupled_sources[k] = sources[t]
            chain.coupled_places[k] = (place[j] - skipped[e]) * strides[e] + place[i]
