"""Rows and columns of the tangent of an optimality system, without SciPy, which takes long to import."""

import numpy as np

from ...solvers.linear.time_chain.lu import ChainLU


class TangentParts:
    """Parts of the tangent of the last evaluation."""

    def __init__(self, equations):
        self._pattern = p = equations.pattern
        self._rows, self._columns = np.repeat(np.arange(p.n_rows), np.diff(p.indptr)), p.indices
        self._values = equations.data

    def _part(self, rows, columns):
        """Places in these rows and columns, and values."""
        p = self._pattern
        row, column = np.full(p.n_rows, -1), np.full(p.n_columns, -1)
        row[rows], column[columns] = np.arange(len(rows)), np.arange(len(columns))
        row, column = row[self._rows], column[self._columns]
        here = (row >= 0) & (column >= 0)
        return row[here], column[here], self._values[here]

    def rows_of(self, columns):
        """Rows with entries in these columns, rising."""
        return np.unique(self._rows[np.isin(self._columns, columns)])

    def factors(self, rows, columns):
        """`ChainLU` of rising rows and columns."""
        i, j, values = self._part(rows, columns)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(rows)))])
        lu = ChainLU(indptr, j, np.searchsorted(columns, self._pattern.column_starts),
                     np.searchsorted(rows, self._pattern.row_starts))
        lu.factor(values)
        return lu

    def dense(self, rows, columns):
        """Rows and columns, none of them twice, as a dense matrix."""
        i, j, values = self._part(rows, columns)
        out = np.zeros((len(rows), len(columns)))
        out[i, j] = values
        return out

    def transposed_product(self, rows, columns, right):
        """Their transpose times dense columns, shapes (n_rows, k) -> (n_columns, k)."""
        i, j, values = self._part(rows, columns)
        return np.stack([np.bincount(j, values * b[i], len(columns)) for b in right.T], axis=1)
