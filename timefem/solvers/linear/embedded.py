"""The embedded LUs as linear solvers."""

import math

from .base import LinearSolver


class EmbeddedSolver(LinearSolver):
    """A sparse LU of timefem.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`.
    lu : ChainLU or DissectionLU
    ordering : str
        In which order it eliminates.
    """

    name = "chain"
    needs_numbers_only = True

    def __init__(self, pattern, lu, ordering):
        super().__init__(pattern)
        self._lu, self.ordering = lu, ordering

    def _factor(self, matrix):
        self._lu.factor(matrix.data, math.isfinite(self._norms[False]))

    def solve(self, b):
        return self._lu.solve(b)

    def solve_transposed(self, b):
        return self._lu.solve_transposed(b)

    @property
    def factor_size(self):
        return self._lu.fill
