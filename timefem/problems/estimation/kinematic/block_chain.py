"""Symmetric positive definite matrices of equal blocks in a chain: Cholesky factors, solves, and blocks of the inverse.

    S_0 = K_00, S_i = U_i^T U_i, W_i = U_i^-T K_(i,i+1), S_(i+1) = K_(i+1,i+1) - W_i^T W_i
    Z_NN = S_N^-1, Z_(i+1,i) = -Z_(i+1,i+1) F_i^T, Z_ii = S_i^-1 + F_i Z_(i+1,i+1) F_i^T with F_i = S_i^-1 K_(i,i+1)

Couplings are dense between some unknowns of a block, and from each other one to itself alone: see `Blocks`. W is made
again where it is wanted, which costs less than memory for it.
"""

import numpy as np

from ....kernels.lanes import LANES, load, store, transpose_eight
from ....kernels.loops import compiled
from ....kernels.record import Record, aligned
from ....kernels.runs import add_runs, clear_runs, copy_runs, take_eight_runs
from ....parallel import swap


class NotPositive(ArithmeticError):
    """The matrix is singular or indefinite to rounding.

    Attributes
    ----------
    index : int
        Block at which that shows.
    direction : ndarray, shape (size,)
        Motion of that block which costs nothing.
    """

    def __init__(self, index, direction):
        super().__init__(f"block {index} of a chain is not positive definite")
        self.index, self.direction = index, direction


class BlockChain:
    """Memory of a chain, which is filled and factored again and again.

    Parameters
    ----------
    n, size : int
        Number of blocks, and unknowns of each.
    levels, n_dense : int
        Of the unknowns of a block, as of `Blocks`; all are dense unless they are given.

    Attributes
    ----------
    diagonal, coupling, apart : ndarray
        As of `Blocks`; `factor` writes over the diagonal blocks, of which the upper triangle counts.
    log_determinant : float
        Of the whole matrix, once factored.
    """

    def __init__(self, n, size, levels=1, n_dense=None):
        self.n, self.size, self.levels = n, size, levels
        self.n_dense = size // levels if n_dense is None else n_dense
        self.diagonal = np.empty((n, size, size))
        self.coupling = np.zeros((max(n - 1, 0), levels * self.n_dense, levels * self.n_dense))
        self.apart = np.zeros((max(n - 1, 0), levels, levels))
        self.log_determinant = np.nan

    @property
    def _blocks(self):
        return Blocks(self.levels, self.n_dense, self.size, self.diagonal, self.coupling, self.apart)

    def part(self, blocks):
        """The chain of some of the blocks, a slice, in the same memory."""
        out = object.__new__(BlockChain)
        out.__dict__.update(self.__dict__, diagonal=self.diagonal[blocks])
        out.n = len(out.diagonal)
        out.coupling, out.apart = (x[blocks][:out.n - 1] for x in (self.coupling, self.apart))
        return out

    def coupled(self, i):
        """K_(i,i+1), shape (size, size)."""
        out = np.zeros((self.size, self.size))
        expand(self._blocks, i, out)
        return out

    def factor(self, b=None):
        """Cholesky factors instead of the blocks; of b, shape (n, size, m), substituted forwards, if it is given.

        Raises
        ------
        NotPositive
        """
        y = np.zeros((self.n, self.size, 0)) if b is None else np.array(b, float)
        last, before = np.empty((self.size, self.size)), self.diagonal[-1].diagonal().copy()
        i, place = factor(self._blocks, y, y.shape[2], last, scratch(self.size, y.shape[2]))
        if 0 <= i < self.n - 1:
            raise NotPositive(i, np.eye(self.size)[place])
        self._check_last(last, before, i >= 0)
        self.log_determinant = 2 * float(np.log(np.einsum("iaa->ia", self.diagonal)).sum())
        return y if b is not None else None

    def _check_last(self, schur, before, failed):
        """What chains of couplings that are regular leave undetermined shows in the last block alone."""
        scale = 1 / np.sqrt(np.maximum(before, np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(schur * scale[:, None] * scale, "U")
        if failed or not values[0] > 8 * self.size * np.finfo(float).eps:
            raise NotPositive(self.n - 1, vectors[:, 0] * scale)

    def substituted(self, y):
        """K^-1 b of what `factor` has substituted forwards, in its place."""
        substitute(self._blocks, y, y.shape[2], np.empty(self.size))
        return y

    def inverse_blocks(self, coupled=False):
        """Diagonal blocks of the inverse, shape (n, size, size); with `coupled` also those (i + 1, i) beside them."""
        z, wide = np.empty_like(self.diagonal), whole(self.size)
        beside = np.empty((self.n - 1 if coupled else 0, self.size, self.size))
        invert_blocks(self._blocks, z, beside, tuple(aligned(wide * wide) for _ in range(6)))
        return (z, beside) if coupled else z


class SharedBlockChain:
    """A `BlockChain` over ranks: each eliminates the inner blocks of a slab, and all what is between the slabs.

    The first block of each slab but the first one is between; inner ones see it, and that of the next slab, as further
    right-hand sides. All ranks call all methods; of arrays with a row for each block each has those of its slab.

    Parameters
    ----------
    comm : mpi4py communicator
    n, size : int
        Of the whole chain.
    own : slice
        The slab of this rank, of two blocks at least.

    Attributes
    ----------
    diagonal, coupling, apart : ndarray
        As of a `BlockChain`, of which those of the slab are used, and the block behind it, which is what this slab adds
        to that of the next rank.
    """

    def __init__(self, comm, n, size, own, levels=1, n_dense=None):
        self.comm, self.n, self.size, self.own = comm, n, size, own
        self._whole = BlockChain(n, size, levels, n_dense)
        self.diagonal, self.coupling, self.apart = self._whole.diagonal, self._whole.coupling, self._whole.apart
        self._left, self._right = int(own.start > 0), int(own.stop < n)  # whether a block between is beside
        self._inner = self._whole.part(slice(own.start + self._left, own.stop))
        self._between = BlockChain(comm.size - 1, size)
        self._seen = list(range(comm.rank - self._left, comm.rank + self._right))  # of those between

    def factor(self, b):
        """As of a `BlockChain`; what `substituted` takes.

        Raises
        ------
        NotPositive
            On all ranks alike.
        """
        a, size, inner, left = self.own.start, self.size, self._inner, self._left
        added = self.diagonal[self.own.stop:][:1] if self._right else None
        before, _ = swap(self.comm, None, added)
        if before is not None:
            self.diagonal[a] += before[0]
        m = b.shape[2]
        whole = np.zeros((inner.n, size, m + size * (left + self._right)))
        whole[:, :, :m] = b[left:]
        if left:
            whole[0, :, m:m + size] = self._whole.coupled(a).T
        if self._right:
            whole[-1, :, whole.shape[2] - size:] = self._whole.coupled(self.own.stop - 1)
        y = self._agreed(inner.factor, whole, a + left)
        ends = y[:, :, m:].reshape(-1, whole.shape[2] - m)
        schur, pulled = -(ends.T @ ends), -(ends.T @ y[:, :, :m].reshape(len(ends), m))
        own = np.triu(self.diagonal[a]) + np.triu(self.diagonal[a], 1).T if left else None
        found = self.comm.allgather((schur, pulled, own, b[0] if left else None))
        between, right = self._between, np.empty((self.comm.size - 1, size, m))
        for rank, (schur, pulled, own, beside) in enumerate(found):
            first = size if rank else 0  # of what the rank says of the block behind it
            if rank:
                between.diagonal[rank - 1] += own + schur[:size, :size]
                right[rank - 1] += beside + pulled[:size]
            if rank < self.comm.size - 1:
                between.diagonal[rank], right[rank] = schur[first:, first:], pulled[first:]
                if rank:
                    between.coupling[rank - 1] = schur[:size, first:]
        starts = self.comm.allgather(a)
        try:
            forwards = between.factor(right)
        except NotPositive as error:
            raise NotPositive(starts[error.index + 1], error.direction) from None
        self._ends = y[:, :, m:]
        return y[:, :, :m], forwards

    def _agreed(self, factor, right, first):
        """What a factorisation gives, or the first error of a rank on all of them."""
        y = failed = None
        try:
            y = factor(right)
        except NotPositive as error:
            failed = error.index + first, error.direction
        told = next((one for one in self.comm.allgather(failed) if one is not None), None)
        if told is not None:
            raise NotPositive(*told)
        return y

    def substituted(self, forwards):
        """As of a `BlockChain`, of what `factor` gave."""
        y, between = forwards
        x = self._between.substituted(between.copy())
        inner = self._inner.substituted(y - self._ends @ x[self._seen].reshape(-1, x.shape[2]))
        return np.concatenate([x[self.comm.rank - 1:self.comm.rank], inner]) if self._left else inner

    def inverse_blocks(self):
        """Diagonal blocks of the inverse, of the slab."""
        r, size = self.comm.rank, self.size
        z, coupled = self._between.inverse_blocks(coupled=True)
        own = np.block([[z[i] if i == j else coupled[j] if i > j else coupled[i].T for j in self._seen]
                        for i in self._seen])
        reached = self._inner.substituted(self._ends.copy())
        inner = self._inner.inverse_blocks()
        inner += reached @ own @ reached.swapaxes(1, 2)
        return np.concatenate([z[r - 1:r].reshape(-1, size, size), inner]) if self._left else inner


class Blocks(Record):
    """A chain of `BlockChain`.

    Attributes
    ----------
    levels, n_dense, size : int
        Level l of unknown j < n_dense is place l (size / levels) + j of a block; those behind are coupled to the same
        unknown of the next block alone.
    diagonal : ndarray, shape (n, size, size)
    coupling : ndarray, shape (n - 1, levels n_dense, levels n_dense)
        Of the dense unknowns.
    apart : ndarray, shape (n - 1, levels, levels)
        Of each other one to itself.
    """

    levels: int
    n_dense: int
    size: int
    diagonal: np.ndarray
    coupling: np.ndarray
    apart: np.ndarray


def whole(n):
    """A number rounded up to whole vectors."""
    return -(-n // LANES) * LANES


def scratch(size, m):
    """Two blocks of rows `[S K b]`, each of them of whole vectors."""
    n = whole(size) * (2 * whole(size) + whole(m))
    return aligned(n), aligned(n)


@compiled(error_model="numpy", _nrt=False)
def _fill(blocks, i, b, m, work, stride, wide):
    """Rows of block i, its coupling to the next one, and right-hand sides."""
    size = blocks.size
    for r in range(size):
        row = r * stride
        for c in range(size):
            store(work, row + c, blocks.diagonal[i, r, c])
        for c in range(size, stride):
            store(work, row + c, 0.0)
        for c in range(m):
            store(work, row + 2 * wide + c, b[i, r, c])
    clear_runs(work, size * stride, (wide - size) * stride)
    if i + 1 < len(blocks.diagonal):
        _couple(blocks, i, work, stride, wide)


@compiled(error_model="numpy", _nrt=False)
def _couple(blocks, i, work, stride, first):
    """What is not zero of K_(i,i+1), in rows of some stride, from a place in them on."""
    d, n = blocks.n_dense, blocks.size // blocks.levels
    for a in range(blocks.levels):
        for other in range(blocks.levels):
            for j in range(d):
                row = (a * n + j) * stride + first + other * n
                for c in range(d):
                    store(work, row + c, blocks.coupling[i, a * d + j, other * d + c])
            for j in range(d, n):
                store(work, (a * n + j) * stride + first + other * n + j, blocks.apart[i, a, other])


@compiled(error_model="numpy", _nrt=False)
def expand(blocks, i, out):
    """K_(i,i+1), where it is not zero, instead of entries of `out`, shape (size, size)."""
    _couple(blocks, i, out, blocks.size, 0)


@compiled(error_model="numpy", _nrt=False)
def _take_before(work, before, stride, wide, size, n_right):
    """S -= W^T W and b -= W^T y, of the block before."""
    for first in range(0, size, LANES):
        for r in range(first, min(first + LANES, size)):
            for k in range(0, size, LANES):
                factors = k * stride + wide + r, stride
                take_eight_runs(work, r * stride + first, wide - first, before, (k * stride + wide + first, stride),
                                before, factors)
                take_eight_runs(work, r * stride + 2 * wide, n_right, before, (k * stride + 2 * wide, stride), before,
                                factors)


@compiled(error_model="numpy", _nrt=False)
def _eliminate(work, stride, size):
    """Rows become `U [1 W y]` with S = U^T U; the place of the first pivot that is not positive, or -1."""
    for first in range(0, size, LANES):
        width = stride - first
        for r in range(first, min(first + LANES, size)):
            row = r * stride
            for k in range(0, first, LANES):
                take_eight_runs(work, row + first, width, work, (k * stride + first, stride), work,
                                (k * stride + r, stride))
            for k in range(first, r):
                add_runs(work, row + first, -load(work, k * stride + r), work, k * stride + first, width)
            pivot = load(work, row + r)
            if not pivot > 0.0:
                return r
            root = 1.0 / np.sqrt(pivot)
            for c in range(first, stride):
                store(work, row + c, load(work, row + c) * root)
    return -1


@compiled(error_model="numpy", _nrt=False)
def factor(blocks, b, m, last, scratch):
    """Factors `U_i` instead of the diagonal blocks, above the diagonal, and `U^-T b` in that of right-hand sides.

    Returns the block and the place of the first pivot that is not positive, or -1, -1. `last` becomes the last block
    before its own elimination.
    """
    size, n = blocks.size, len(blocks.diagonal)
    wide, n_right = (size + LANES - 1) // LANES * LANES, (m + LANES - 1) // LANES * LANES
    stride = 2 * wide + n_right
    work, before = scratch
    for i in range(n):
        _fill(blocks, i, b, m, work, stride, wide)
        if i > 0:
            _take_before(work, before, stride, wide, size, n_right)
        if i == n - 1:
            for r in range(size):
                for c in range(size):
                    last[r, c] = load(work, r * stride + c)
        failed = _eliminate(work, stride, size)
        if failed >= 0:
            return i, failed
        for r in range(size):
            for c in range(r, size):
                blocks.diagonal[i, r, c] = load(work, r * stride + c)
            for c in range(m):
                b[i, r, c] = load(work, r * stride + 2 * wide + c)
        work, before = before, work
    return -1, -1


@compiled(error_model="numpy", _nrt=False, fastmath={"reassoc", "contract"})
def substitute(blocks, y, m, v):
    """`U^-1 (y_i - U^-T K x_(i+1))` from the last block on, instead of y."""
    size, levels, d, diagonal = blocks.size, blocks.levels, blocks.n_dense, blocks.diagonal
    n = size // levels
    for i in range(len(diagonal) - 1, -1, -1):
        for c in range(m):
            if i < len(diagonal) - 1:
                for a in range(levels):
                    for j in range(n):
                        value = 0.0
                        for other in range(levels):
                            if j < d:
                                for k in range(d):
                                    value += blocks.coupling[i, a * d + j, other * d + k] * y[i + 1, other * n + k, c]
                            else:
                                value += blocks.apart[i, a, other] * y[i + 1, other * n + j, c]
                        v[a * n + j] = value
                for k in range(size):
                    v[k] = value = v[k] / diagonal[i, k, k]
                    for j in range(k + 1, size):
                        v[j] -= value * diagonal[i, k, j]
                for k in range(size):
                    v[k] = y[i, k, c] - v[k]
            else:
                for k in range(size):
                    v[k] = y[i, k, c]
            for k in range(size - 1, -1, -1):
                value = v[k]
                for j in range(k + 1, size):
                    value -= diagonal[i, k, j] * v[j]
                v[k] = value / diagonal[i, k, k]
            for k in range(size):
                y[i, k, c] = v[k]


@compiled(error_model="numpy", _nrt=False)
def _times_coupling(blocks, i, x, out, wide):
    """K_(i,i+1) x, of rows of whole vectors."""
    d, n = blocks.n_dense, blocks.size // blocks.levels
    clear_runs(out, 0, wide * wide)
    for a in range(blocks.levels):
        for other in range(blocks.levels):
            for j in range(d):
                for c in range(d):
                    add_runs(out, (a * n + j) * wide, blocks.coupling[i, a * d + j, other * d + c], x,
                             (other * n + c) * wide, wide)
            for j in range(d, n):
                add_runs(out, (a * n + j) * wide, blocks.apart[i, a, other], x, (other * n + j) * wide, wide)


@compiled(error_model="numpy", _nrt=False)
def _invert(factor, size, wide, v, p):
    """`p = U^-1 U^-T`, of whole rows, by way of `v = U^-T`."""
    clear_runs(v, 0, wide * wide)
    clear_runs(p, 0, wide * wide)
    for r in range(size):
        first, row = r // LANES * LANES, r * wide
        store(v, row + r, 1.0)
        for k in range(first):
            add_runs(v, row, -factor[k, r], v, k * wide, (k // LANES + 1) * LANES)
        for k in range(first, r):
            add_runs(v, row, -factor[k, r], v, k * wide, first + LANES)
        root = 1.0 / factor[r, r]
        for c in range(r + 1):
            store(v, row + c, load(v, row + c) * root)
    for k in range(0, size, LANES):
        for i in range(min(k + LANES, size)):
            take_eight_runs(p, i * wide, k + LANES, v, (k * wide, wide), v, (k * wide + i, wide))
    for i in range(size):
        for c in range(wide):
            store(p, i * wide + c, -load(p, i * wide + c))


@compiled(error_model="numpy", _nrt=False)
def invert_blocks(blocks, z, beside, scratch):
    """Diagonal blocks Z_ii of the inverse, and those (i + 1, i) beside them unless `beside` is empty.

    `scratch` has six arrays for size rows, both rounded up to whole vectors.
    """
    v, p, last, t, x, b = scratch
    size, n = blocks.size, len(blocks.diagonal)
    wide = (size + LANES - 1) // LANES * LANES
    for i in range(n - 1, -1, -1):
        _invert(blocks.diagonal[i], size, wide, v, p)
        if i < n - 1:
            _times_coupling(blocks, i, last, t, wide)  # K Z
            if len(beside) > 0:
                for r in range(size):
                    clear_runs(b, r * wide, wide)
                    for k in range(0, size, LANES):
                        take_eight_runs(b, r * wide, wide, t, (k * wide, wide), p, (r * wide + k, 1))
                    for c in range(size):
                        beside[i, c, r] = load(b, r * wide + c)
            for r in range(0, wide, LANES):
                for c in range(0, wide, LANES):
                    transpose_eight(x, r * wide + c, wide, t, c * wide + r, wide)
            _times_coupling(blocks, i, x, t, wide)  # K Z K^T
            copy_runs(last, 0, p, 0, wide * wide)
            for r in range(size):
                clear_runs(b, 0, wide)
                for k in range(0, size, LANES):
                    take_eight_runs(b, 0, wide, t, (k * wide, wide), p, (r * wide + k, 1))
                first = r // LANES * LANES
                for k in range(0, size, LANES):
                    take_eight_runs(last, r * wide + first, wide - first, p, (k * wide + first, wide), b, (k, 1))
            for r in range(size):
                for c in range(r):
                    store(last, r * wide + c, load(last, c * wide + r))
        else:
            copy_runs(last, 0, p, 0, wide * wide)
        for r in range(size):
            for c in range(size):
                z[i, r, c] = load(last, r * wide + c)
