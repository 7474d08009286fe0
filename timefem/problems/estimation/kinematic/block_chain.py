"""Symmetric positive definite matrices of equal blocks in a chain: Cholesky factors, solves, and blocks of the inverse.

    S_0 = K_00, S_i = X_i^-1 X_i^-T, W_i = X_i K_(i,i+1), S_(i+1) = K_(i+1,i+1) - W_i^T W_i
    Z_NN = X_N^T X_N, Z_(i+1,i) = -Z_(i+1,i+1) F_i^T, Z_ii = X_i^T X_i + F_i Z_(i+1,i+1) F_i^T with F_i = X_i^T W_i

The inverses X of the Cholesky factors are kept: products with them are several times as fast as substitutions. Frames
of motion capture have blocks of some ten to a hundred unknowns, where LAPACK's own calls are all the time there is.
"""

import numpy as np
import scipy

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

    Attributes
    ----------
    diagonal, coupling : ndarray, shapes (n, size, size), (n - 1, size, size)
        Blocks K_ii, of which the lower triangle counts, and K_(i,i+1); `factor` writes over them.
    log_determinant : float
        Of the whole matrix, once factored.
    """

    def __init__(self, n, size):
        self.n, self.size = n, size
        self.diagonal, self.coupling = np.empty((n, size, size)), np.empty((max(n - 1, 0), size, size))
        self.log_determinant = np.nan

    def factor(self, b=None):
        """Cholesky factors in the place of the blocks; of b, shape (n, size, m), substituted forwards, if it is given.

        Raises
        ------
        NotPositive
        """
        lapack, blas = scipy.linalg.lapack, scipy.linalg.blas
        potrf, trtri, syrk, trmm = lapack.dpotrf, lapack.dtrtri, blas.dsyrk, blas.dtrmm
        halves, w = np.empty((self.n, self.size)), None
        y = None if b is None else np.empty_like(b)
        for i, block in enumerate(self.diagonal):
            s = block.T  # Fortran's order, in which LAPACK works in place
            last = i == self.n - 1
            before = s.diagonal().copy() if last else None
            if w is not None:
                syrk(-1.0, w, beta=1.0, c=s, lower=1, overwrite_c=1)
            schur = np.tril(s) if last else None
            _, failed = potrf(s, lower=1, overwrite_a=1, clean=1)
            if last:
                self._check_last(schur, before, failed)
            elif failed:
                raise NotPositive(i, np.eye(self.size)[failed - 1])
            halves[i] = s.diagonal()
            trtri(s, lower=1, overwrite_c=1)
            if y is not None:
                y[i] = s.dot(b[i] if w is None else b[i] - w.dot(y[i - 1]))
            if not last:
                w = self.coupling[i].T
                trmm(1.0, s, w, side=1, lower=1, trans_a=1, overwrite_b=1)
        self.log_determinant = 2 * float(np.log(halves).sum())
        return y

    def _check_last(self, schur, before, failed):
        """What chains of couplings that are regular leave undetermined shows in the last block alone."""
        scale = 1 / np.sqrt(np.maximum(before, np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(schur * scale[:, None] * scale)
        if failed or not values[0] > 8 * self.size * np.finfo(float).eps:
            raise NotPositive(self.n - 1, vectors[:, 0] * scale)

    def solve(self, b):
        """K^-1 b, shape (n, size) or (n, size, m)."""
        y = np.array(b, float)
        flat = y if y.ndim == 3 else y[..., None]
        for i in range(self.n):
            flat[i] = self.diagonal[i].T.dot(flat[i] - self.coupling[i - 1].T.dot(flat[i - 1]) if i else flat[i])
        return self.substituted(flat).reshape(y.shape)

    def substituted(self, y):
        """The same of what `factor` has substituted forwards, in its place."""
        for i in range(self.n - 1, -1, -1):
            last = i == self.n - 1
            y[i] = self.diagonal[i].dot(y[i] if last else y[i] - self.coupling[i].dot(y[i + 1]))
        return y

    def inverse_blocks(self, coupled=False):
        """Diagonal blocks of the inverse, shape (n, size, size); with `coupled` also those (i + 1, i) beside them."""
        blas = scipy.linalg.blas
        gemm, trmm = blas.dgemm, blas.dtrmm
        z = np.empty_like(self.diagonal)
        beside = np.empty_like(self.coupling) if coupled else None
        for i in range(self.n - 1, -1, -1):
            x, own = self.diagonal[i].T, z[i].T
            gemm(1.0, x, x, c=own, trans_a=1, overwrite_c=1)
            if i < self.n - 1:
                f = trmm(1.0, x, self.coupling[i].T, side=1, lower=1)  # F^T
                h = gemm(1.0, z[i + 1].T, f)
                gemm(1.0, f, h, beta=1.0, c=own, trans_a=1, overwrite_c=1)
                if coupled:
                    np.negative(h, out=beside[i])
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
    diagonal, coupling : ndarray
        As of a `BlockChain`, of which those of the slab are used, and the block behind it, which is what this slab adds
        to that of the next rank.
    """

    def __init__(self, comm, n, size, own):
        self.comm, self.n, self.size, self.own = comm, n, size, own
        self.diagonal, self.coupling = np.empty((n, size, size)), np.empty((n - 1, size, size))
        self._left, self._right = int(own.start > 0), int(own.stop < n)  # whether a block between is beside
        self._inner = BlockChain(own.stop - own.start - self._left, size)
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
        inside = slice(a + left, self.own.stop)
        added = self.diagonal[self.own.stop:][:1] if self._right else None
        before, _ = swap(self.comm, None, added)
        if before is not None:
            self.diagonal[a] += before[0]
        inner.diagonal, inner.coupling = self.diagonal[inside], self.coupling[inside][:inner.n - 1]
        m = b.shape[2]
        whole = np.zeros((inner.n, size, m + size * (left + self._right)))
        whole[:, :, :m] = b[left:]
        if left:
            whole[0, :, m:m + size] = self.coupling[a].T
        if self._right:
            whole[-1, :, whole.shape[2] - size:] = self.coupling[self.own.stop - 1]
        y = self._agreed(inner.factor, whole, a + left)
        ends = y[:, :, m:].reshape(-1, whole.shape[2] - m)
        schur, pulled = -(ends.T @ ends), -(ends.T @ y[:, :, :m].reshape(len(ends), m))
        own = np.tril(self.diagonal[a]) + np.tril(self.diagonal[a], -1).T if left else None
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
