"""Rows that are eliminated before a system is factored: those with a slack, and with few entries."""

import numpy as np

from . import products
from .options import OPTIONS


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
        out[:m] &= OPTIONS.few_entries * counts <= sizes[program.row_blocks[:m]]
        out[rows[columns >= n]] = False  # what they touch is not on this rank
        self.kept, self._rows = np.flatnonzero(~out[:m]), np.flatnonzero(out[:m])
        gone = out[rows]
        self.kept_entries, entries = np.flatnonzero(~gone), np.flatnonzero(gone)
        entries = entries[np.argsort(rows[entries], kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(counts[self._rows])])
        self._columns, self._entries = columns[entries], entries
        first, second = products.pairs_within(self._starts)
        a, b = columns[entries[first]], columns[entries[second]]
        self.places = np.maximum(a, b), np.minimum(a, b)

    def take(self, jacobian, of_rows, out):
        """Write what is added to H, with these entries of J and the diagonal -E, which stay as they are until the last
        solve."""
        self._system = (self._starts, self._columns, self._entries, jacobian, self._rows, of_rows, self.kept)
        products.of_pairs(self._starts, self._entries, jacobian, self._rows, of_rows, out)

    def reduced(self, of_variables, of_rows):
        """The right-hand side of variables and kept rows."""
        return products.without_rows(*self._system, of_variables, of_rows)

    def expanded(self, x, of_rows):
        """Multipliers of all rows, x being the variables and those of kept rows."""
        return products.with_rows(*self._system, x, of_rows)
