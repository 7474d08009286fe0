"""Rows that are eliminated before a system is factored: those with a slack, and with few entries."""

import numpy as np

from . import products

FEW = 2  # entries of a row, times this, are no more than the unknowns of its block


class CondensedRows:
    """Rows of `[[H, J^T], [J, -E]]` that leave `H + J^T E^-1 J`: blocks are dense, so that their orders count.

    A row with a slack has E > 0 and brings one negative eigenvalue. What is lost to rounding where E is small comes
    back by one refinement of the whole system.

    Parameters
    ----------
    scaled : Scaled

    Attributes
    ----------
    kept, kept_entries : ndarray of int
        The other rows, and the entries of J in these and in rows of other ranks.
    places : (ndarray of int, ndarray of int)
        Of what is added to H, in the lower triangle; some come twice.
    """

    def __init__(self, scaled):
        program, n, m = scaled.program, scaled.n, scaled.m
        rows, columns = (np.asarray(x) for x in program.jacobian_places)
        counts = np.bincount(rows, minlength=m)[:m]
        out = np.zeros(max(m, rows.max(initial=-1) + 1), bool)
        out[scaled.slacks.row] = True
        sizes = np.bincount(program.variable_blocks[:n])
        out[:m] &= FEW * counts <= sizes[program.row_blocks[:m]]
        out[rows[columns >= n]] = False  # what they touch is not on this rank
        self.kept, self._rows = np.flatnonzero(~out[:m]), np.flatnonzero(out[:m])
        gone = out[rows]
        self.kept_entries, entries = np.flatnonzero(~gone), np.flatnonzero(gone)
        entries = entries[np.argsort(rows[entries], kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(counts[self._rows])])
        self._columns, self._entries, self._n = columns[entries], entries, n
        self._of = np.repeat(np.arange(len(self._rows)), np.diff(self._starts))
        first, second = products.pairs_within(self._starts)
        a, b = columns[entries[first]], columns[entries[second]]
        self.places = np.maximum(a, b), np.minimum(a, b)

    def take(self, jacobian, of_rows, out):
        """Write what is added to H, with these entries of J and the diagonal -E."""
        self._jacobian, self._diagonal = jacobian[self._entries], of_rows[self._rows]
        products.of_pairs(self._starts, self._jacobian, self._diagonal, out)

    def reduced(self, of_variables, of_rows):
        """The right-hand side of variables and kept rows."""
        out = np.concatenate([of_variables, of_rows[self.kept]])
        if len(self._rows):
            products.add_product(self._columns, self._of, self._jacobian, of_rows[self._rows] / self._diagonal, -1.0,
                                 out)
        return out

    def expanded(self, x, of_rows):
        """Multipliers of all rows, x being the variables and those of kept rows."""
        if not len(self._rows):
            return x[self._n:]
        out = np.empty(len(of_rows))
        out[self.kept] = x[self._n:]
        left = of_rows[self._rows]
        products.add_product(self._of, self._columns, self._jacobian, x, -1.0, left)
        out[self._rows] = left / self._diagonal
        return out
