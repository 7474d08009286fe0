"""CHOLMOD, from scikit-sparse, on the normal equations."""

import numpy as np
import scipy

from ...errors import SolveError
from .base import LinearSolver

CONDITION_LIMIT = 1e15  # of A^T A: beyond it, refinement no longer converges


class Solver(LinearSolver):
    """A^T A x = A^T b by Cholesky, refined on A x = b.

    The condition number is squared. The solver estimates it and refuses when no digits would be left.
    """

    name = "sksparse"

    def _factor(self, matrix):
        from sksparse.cholmod import CholmodError, cholesky

        self.rows = 1 / np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        self.scaled = scipy.sparse.diags(self.rows) @ matrix
        normal = (self.scaled.T @ self.scaled).tocsc()
        try:
            self.cholesky = cholesky(normal)
        except CholmodError as error:
            raise SolveError("backend 'sksparse': the normal equations are not positive definite to working "
                             "precision (their condition is that of the tangent squared); use backend 'chain'"
                             ) from error
        inverse = scipy.sparse.linalg.LinearOperator(normal.shape, matvec=self.cholesky, rmatvec=self.cholesky,
                                                     dtype=float)
        condition = scipy.sparse.linalg.onenormest(inverse) * abs(normal).sum(axis=0).max()
        if condition > CONDITION_LIMIT:
            raise SolveError(f"backend 'sksparse': the normal equations have condition {condition:.1e}, so that no "
                             "digits would be left; use backend 'chain', or shorter windows")

    def solve(self, b):
        b = b * self.rows
        x = self.cholesky(self.scaled.T @ b)
        for _ in range(10):  # refinement gains the digits that squaring the condition lost
            correction = self.cholesky(self.scaled.T @ (b - self.scaled @ x))
            x = x + correction
            if np.abs(correction).max() <= 1e-15 * np.abs(x).max():
                break
        return x
