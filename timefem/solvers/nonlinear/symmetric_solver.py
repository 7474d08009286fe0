"""The tangent of an optimality system as a linear solver: symmetric factors, and those of an LU where they fail."""

from functools import cached_property

import numpy as np

from ..interior_point.block_ldl.factors import BlockLDL
from ..linear.base import REFINE_ABOVE, LinearSolver
from .options import OPTIONS


class SymmetricSolver(LinearSolver):
    """`BlockLDL` in time order, half the work of an LU, whose pivots are not chosen across elements.

    So it leaves to the LU, which does, matrices with a small pivot, and those of which one step of refinement gives no
    solution as accurate as asked for. That also tells which matrices are singular.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`, of symmetric matrices.
    blocks : ndarray of int, shape (n,)
        Block of each unknown, as of `BlockLDL`.
    lu : LinearSolver
        The other one.
    """

    name = "chain"
    needs_numbers_only = True

    def __init__(self, pattern, blocks, lu):
        super().__init__(pattern)
        self._blocks, self._lu, self._by_lu, self.ordering = blocks, lu, False, lu.ordering

    @staticmethod
    def fits(pattern):
        """Whether the places of the entries are worth their memory."""
        return len(pattern.indices) <= 2 * OPTIONS.most_entries

    @cached_property
    def _ldl(self):
        rows, columns = np.repeat(np.arange(len(self._blocks)), np.diff(self.pattern.indptr)), self.pattern.indices
        lower = np.flatnonzero(rows >= columns)
        return BlockLDL(self._blocks, rows[lower], columns[lower], lower)

    def _factor(self, matrix):
        self._by_lu = not (self._ldl.factor(matrix.data) and self._ldl.least_pivot > OPTIONS.small_pivot * self.norm())
        if self._by_lu:
            self._lu.factor(matrix.data)

    @property
    def negative(self):
        """Negative eigenvalues of the last matrix, None where the LU took over."""
        return None if self._by_lu else self._ldl.negative

    def solve(self, b):
        return self._lu.solve(b) if self._by_lu else self._ldl.solve(b)

    def solve_transposed(self, b):
        return self.solve(b)

    def solve_checked(self, b, transposed=False, refine_above=REFINE_ABOVE):
        if not self._by_lu:
            x = self.solve(b)
            error, residual = self.backward_error(x, b)
            if error > refine_above:
                x = x + self.solve(residual)
                error, _ = self.backward_error(x, b)
            if error <= refine_above:
                return x, error
            self._by_lu = True
            self._lu.factor(self._matrix.data)
        return self._lu.solve_checked(b, transposed, refine_above)
