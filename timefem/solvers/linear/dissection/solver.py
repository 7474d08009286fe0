"""Nested dissection of space and time as a linear solver."""

from ..base import LinearSolver
from .lu import DissectionLU


class DissectionSolver(LinearSolver):
    """Front by front, children first.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`.
    fronts : list of Front
        From `dissect`.
    """

    name, ordering = "chain", "space and time"

    def __init__(self, pattern, fronts):
        super().__init__(pattern)
        self._lu = DissectionLU(pattern, fronts)

    def _factor(self, matrix):
        self._lu.factor(matrix.data)

    def solve(self, b):
        return self._lu.solve(b)

    def solve_transposed(self, b):
        return self._lu.solve_transposed(b)

    @property
    def factor_size(self):
        return self._lu.fill
