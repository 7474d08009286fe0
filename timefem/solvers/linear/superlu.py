"""SuperLU, from SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import SingularMatrix
from ...sparse import sparse_lu
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
