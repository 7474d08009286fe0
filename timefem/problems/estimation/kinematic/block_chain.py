"""Symmetric positive definite matrices of equal blocks in a chain: Cholesky factors, solves, and blocks of the inverse.

    S_0 = K_00, S_i = U_i^T U_i, W_i = U_i^-T K_(i,i+1), S_(i+1) = K_(i+1,i+1) - W_i^T W_i
    Z_NN = S_N^-1, Z_(i+1,i) = -Z_(i+1,i+1) F_i^T, Z_ii = S_i^-1 + F_i Z_(i+1,i+1) F_i^T with F_i = S_i^-1 K_(i,i+1)

Couplings are dense between some unknowns of a block, and from each other one to itself alone: see `Blocks`. W is made
again where it is wanted, which costs less than memory for it.
"""

import numpy as np

from ....kernels.record import aligned
from ....parallel import swap
from .chain_loops import Blocks, expand, factor, invert_blocks, scratch, substitute, whole


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
