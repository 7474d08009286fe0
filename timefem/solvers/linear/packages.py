"""Linear solvers of other packages: SuperLU and CHOLMOD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ...errors import SingularMatrix, SolveError
from ...sparse import estimated_norm, sparse_lu
from .base import LinearOptions, LinearSolver


class SuperLUSolver(LinearSolver):
    """Columns in time order, which is a good order already."""

    name = "superlu"

    def _factor(self, matrix):
        try:
            self._lu = sparse_lu(matrix.tocsc(), permc_spec="NATURAL")
        except RuntimeError as error:
            raise SingularMatrix(f"backend 'superlu': {error}") from error

    def solve(self, b):
        return self._lu.solve(b)

    def solve_transposed(self, b):
        return self._lu.solve(b, trans="T")

    @property
    def factor_size(self):
        return self._lu.nnz


@dataclass(frozen=True)
class SuperLU(LinearOptions):
    """SuperLU with partial pivoting, columns in time order (X. S. Li, ACM TOMS 31 (2005)); needs nothing."""

    name = "superlu"

    def make(self, pattern: Any) -> Any:
        return SuperLUSolver(pattern)


CONDITION_LIMIT = 1e15  # of A^T A: beyond it, refinement no longer converges


class CholmodSolver(LinearSolver):
    """`A^T A x = A^T b` by Cholesky, refined on `A x = b`; `A^T x = b` as `x = A y` of `A^T A y = b`.

    The condition number is squared. The solver estimates it and refuses when no digits would be left.
    """

    name = "sksparse"

    def _factor(self, matrix):
        from sksparse.cholmod import CholmodError, cholesky

        self._rows = 1 / np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        self._scaled = scipy.sparse.diags(self._rows) @ matrix
        normal = (self._scaled.T @ self._scaled).tocsc()
        try:
            self._cholesky = cholesky(normal)
        except CholmodError as error:
            raise SolveError("backend 'sksparse': the normal equations are not positive definite to working "
                             "precision (their condition is that of the tangent squared); use backend 'chain'"
                             ) from error
        inverse = scipy.sparse.linalg.LinearOperator(normal.shape, matvec=self._cholesky, rmatvec=self._cholesky,
                                                     dtype=float)
        condition = estimated_norm(inverse) * abs(normal).sum(axis=0).max()
        if condition > CONDITION_LIMIT:
            raise SolveError(f"backend 'sksparse': the normal equations have condition {condition:.1e}, so that no "
                             "digits would be left; use backend 'chain', or shorter windows")

    def solve(self, b):
        b = b * self._rows
        return _refined(lambda b: self._cholesky(self._scaled.T @ b), lambda x: b - self._scaled @ x, b)

    def solve_transposed(self, b):
        return self._rows * _refined(lambda b: self._scaled @ self._cholesky(b), lambda x: b - self._scaled.T @ x, b)

    @property
    def factor_size(self):
        return self._cholesky.L().nnz


def _refined(solve, residual, b):
    """Solution, refined until its corrections are rounding: this gains the digits that squaring the condition lost."""
    x = solve(b)
    for _ in range(10):
        correction = solve(residual(x))
        x = x + correction
        if np.abs(correction).max() <= 1e-15 * np.abs(x).max():
            break
    return x


@dataclass(frozen=True)
class Cholmod(LinearOptions):
    """CHOLMOD on the normal equations; needs scikit-sparse."""

    name = "sksparse"
    needs = ("sksparse",)
    install = "make env, or pip install 'timefem[sparse]'"

    def make(self, pattern: Any) -> Any:
        return CholmodSolver(pattern)
