"""The embedded time-chain LU as a linear solver."""

from dataclasses import dataclass

import numpy as np

from .... import validate
from ..base import LinearOptions, LinearSolver
from ..dissection.order import dissect
from ..dissection.solver import DissectionSolver
from .lu import ChainLU

WIDE = 128  # unknowns of a block: below, dissection has not been faster
SLOWER = 1.5  # a multiplication by dissection, in those of the time chain; 1.3 to 2.2 were measured


class TimeChainSolver(LinearSolver):
    """Block by block in time, with pivots from neighbouring blocks where needed."""

    name, ordering = "chain", "time"

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

    @property
    def work(self):
        """Estimated multiplications of a factorisation."""
        return self._lu.work


@dataclass(frozen=True)
class TimeChain(LinearOptions):
    """The embedded sparse LU; needs nothing.

    Parameters
    ----------
    order : {"auto", "time", "dissection"}
        "time": blocks of elements one after the other, pivots across neighbouring blocks; the work grows with the cube
        of the unknowns of an element. "dissection": nested dissection of space and time, for long beams and chains of
        bodies. "auto": in time, unless elements are wide and the estimated work is less by dissection. The report says
        which was taken (`statistics["ordering"]`).

    Raises
    ------
    InputError
        For another order.
    """

    name = "chain"

    order: str = "auto"

    def __post_init__(self):
        validate.choice("order", self.order, ("auto", "time", "dissection"))

    def make(self, pattern):
        if self.order == "time" or (self.order == "auto" and np.diff(pattern.column_starts).max() < WIDE):
            return TimeChainSolver(pattern)
        fronts = dissect(pattern)
        if self.order == "dissection" and fronts is not None:
            return DissectionSolver(pattern, fronts)
        chain = TimeChainSolver(pattern)  # tells more about a singular pattern
        if fronts is None or SLOWER * sum(f.work for f in fronts) >= chain.work:
            return chain
        return DissectionSolver(pattern, fronts)
