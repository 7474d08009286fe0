"""The time-chain LU of a slab of elements whose ends are shared with neighbours.

Rows and columns of the nodes at the ends are not eliminated; what is left of the slab then is a small dense matrix of
these and of columns, and as many rows, that found no pivot inside. A slab that is shared at one end is eliminated
towards it, without fill, unless the other direction is less work all the same. The rows and columns of the end where
the elimination starts stay in the front all the way.
"""

import numpy as np

from .loops import left_over
from .lu import ChainLU


class SlabLU(ChainLU):
    """Partial factors of one slab.

    Parameters
    ----------
    indptr, indices
        As in `ChainLU`; the first rows and columns are those of the left shared node, the last ones those of the right.
    column_starts, row_starts : (n_blocks + 1,) int
        As in `ChainLU`; the first block includes the left shared node.
    left, right : (int, int)
        Number of columns and of rows of the shared nodes, (0, 0) for an end that is not shared.

    Attributes
    ----------
    rows, columns : ndarray of int
        Which are left over.
    left_over : ndarray, shape (len(rows), len(columns))
        Their Schur complement.
    """

    def __init__(self, indptr, indices, column_starts, row_starts, left=(0, 0), right=(0, 0)):
        self._left, self._right = left, right
        super().__init__(indptr, indices, column_starts, row_starts)

    def factor(self, data, finite=False):
        """Eliminate the inside; as in `ChainLU`."""
        super().factor(data, finite)
        n_pivots, (held_columns, _) = self._factors[0][-1], self._held
        rows, columns, self.left_over = left_over(self._front, self.n_blocks, held_columns, self._n_rows - n_pivots,
                                                  self._n_columns - n_pivots)
        self.rows, self.columns = self._natural(rows, False), self._natural(columns, True)

    def eliminate(self, b, transposed=False):
        """Eliminate the inside from a right-hand side.

        Parameters
        ----------
        b : (n_rows,) float; (n_columns,) for the transposed matrix

        Returns
        -------
        work : ndarray
            For `recover`.
        reduced : ndarray
            Right-hand side of the rows, for the transposed matrix of the columns, that are left over.
        """
        y = self._forward(b, transposed)
        return y, y[self._left_places(not transposed)]

    def recover(self, work, x, transposed=False):
        """Solution of all columns (rows) of the slab, of its part `x` at those that are left over."""
        n_pivots, (of_columns, of_rows) = self._factors[0][-1], self._held
        old, new = (of_columns, of_rows) if transposed else (of_rows, of_columns)
        work[new:new + n_pivots] = work[old:old + n_pivots].copy()
        work[new + n_pivots:] = 0.0
        work[self._left_places(transposed)] = x
        return self._backward(work, transposed)

    def _left_places(self, of_rows):
        """Where a work vector has what belongs to the rows (columns) left over."""
        n_pivots, held = self._factors[0][-1], self._held[1 if of_rows else 0]
        return np.r_[:held, held + n_pivots:self._n_rows if of_rows else self._n_columns]

    def _count_columns(self, column_starts):
        return column_starts[-1]
