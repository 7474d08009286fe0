"""The embedded time-chain LU as a linear solver."""

from dataclasses import dataclass

from ..base import LinearOptions, LinearSolver
from .lu import ChainLU


class TimeChainSolver(LinearSolver):
    """Block by block in time, with pivots from neighbouring blocks where needed."""

    name = "chain"

    def __init__(self, pattern):
        super().__init__(pattern)
        self._lu = ChainLU(pattern.indptr, pattern.indices, pattern.column_starts, pattern.row_starts)

    def _factor(self, matrix):
        self._lu.factor(matrix.data)

    def solve(self, b):
        return self._lu.solve(b)

    def solve_transposed(self, b):
        return self._lu.solve_transposed(b)

    @property
    def factor_size(self):
        return self._lu.fill


@dataclass(frozen=True)
class TimeChain(LinearOptions):
    """The time-chain LU: blocks of elements in time order, pivots across neighbouring blocks; needs nothing."""

    name = "chain"

    def make(self, pattern):
        return TimeChainSolver(pattern)
