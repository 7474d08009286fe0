"""Symmetric positive definite matrices of equal blocks in a chain: Cholesky factors, solves, and blocks of the inverse.

    S_0 = K_00, S_i = X_i^-1 X_i^-T, W_i = X_i K_(i,i+1), S_(i+1) = K_(i+1,i+1) - W_i^T W_i
    Z_NN = X_N^T X_N, Z_(i+1,i) = -Z_(i+1,i+1) F_i^T, Z_ii = X_i^T X_i + F_i Z_(i+1,i+1) F_i^T with F_i = X_i^T W_i

The inverses X of the Cholesky factors are kept: products with them are several times as fast as substitutions. Frames
of motion capture have blocks of some ten to a hundred unknowns, where LAPACK's own calls are all the time there is.
"""

import numpy as np
import scipy


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
            before = s.diagonal().copy()
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
        gemm = blas.dgemm
        z = np.empty_like(self.diagonal)
        beside = np.empty_like(self.coupling) if coupled else None
        for i in range(self.n - 1, -1, -1):
            x, own = self.diagonal[i].T, z[i].T
            gemm(1.0, x, x, c=own, trans_a=1, overwrite_c=1)
            if i < self.n - 1:
                f = gemm(1.0, self.coupling[i].T, x)  # F^T
                h = gemm(1.0, z[i + 1].T, f)
                gemm(1.0, f, h, beta=1.0, c=own, trans_a=1, overwrite_c=1)
                if coupled:
                    np.negative(h, out=beside[i])
        return (z, beside) if coupled else z
