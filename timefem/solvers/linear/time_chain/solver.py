"""The embedded time-chain LU."""

from ..base import LinearSolver
from .lu import ChainLU


class Solver(LinearSolver):
    """Block by block in time, with pivots from neighbouring blocks where needed."""

    name = "chain"

    def __init__(self, pattern, options):
        super().__init__(pattern, options)
        self.lu = ChainLU(pattern.indptr, pattern.indices, pattern.column_starts, pattern.row_starts)

    def _factor(self, matrix):
        self.lu.factor(matrix.data)

    def solve(self, b):
        return self.lu.solve(b)
