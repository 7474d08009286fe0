"""Sparsity pattern of a chain of time elements, and the slot of each element entry in it.

Rows and columns are numbered in time order: node 0, then `[interior | right node]` per element. Some of the first and
the last node can be left out (initial or boundary conditions). The pattern is worked out on a chain of at most six
elements; longer chains repeat its middle, so that nothing here grows with the number of element entries.
"""

import numpy as np

TEMPLATE = 6
REPEATED = 3  # the element of the template that longer chains repeat: it and its neighbours see no end


class ChainPattern:
    """CSR pattern of the assembled tangent.

    Parameters
    ----------
    plan : ElementPlan
    n_elements : int
    free_columns, kept_rows : (ndarray of bool, ndarray of bool)
        Which dofs, and which tests, of the first and of the last node take part; all others do.

    Attributes
    ----------
    indptr, indices : ndarray of int64
    columns, rows : ndarray of int64
        Number of each free column and kept row when none is left out.
    n_columns_full, n_rows_full : int
        How many there would be.
    column_starts, row_starts : ndarray of int64, shape (n_elements + 2,)
        Where the free columns and kept rows of node 0 and of each element `[interior | right node]` start.
    kind, base, slots : ndarray of int64
        Entry l of element e belongs to `data[base[e] + slots[kind[e], l]]`, unless `slots` is negative (left out).
    """

    def __init__(self, plan, n_elements, free_columns, kept_rows):
        short = min(n_elements, TEMPLATE)
        column_number, column_starts = _number(plan.columns, short, free_columns)
        row_number, row_starts = _number(plan.rows, short, kept_rows)
        e = np.arange(short)[:, None]
        rows = row_number[plan.tangent_rows + e * plan.rows.step]
        columns = column_number[plan.tangent_columns + e * plan.columns.step]
        inside = (rows >= 0) & (columns >= 0)
        n_columns = column_starts[-1]
        entries, places = np.unique((rows * n_columns + columns)[inside], return_inverse=True)
        self.slots = np.full(rows.shape, -1)
        self.slots[inside] = places
        indptr = np.concatenate([[0], np.cumsum(np.bincount(entries // n_columns, minlength=row_starts[-1]))])
        indices = entries % n_columns

        copies = n_elements - short
        self.kind, self.base = np.arange(short), np.zeros(short, int)
        if copies:
            first, last = row_starts[REPEATED], row_starts[REPEATED + 1]
            period, shift = indptr[last] - indptr[first], plan.columns.step
            count = np.arange(1, copies + 1)
            indptr = np.concatenate([indptr[:last], (indptr[first:last] + count[:, None] * period).ravel(),
                                     indptr[last:] + copies * period])
            middle = indices[indptr[first]:indptr[first] + period]
            end = indptr[first] + period
            indices = np.concatenate([indices[:end], (middle + count[:, None] * shift).ravel(),
                                      indices[end:] + copies * shift])
            self.kind = np.insert(self.kind, REPEATED + 1, [REPEATED] * copies)
            self.base = np.concatenate([self.base[:REPEATED + 1], count * period,
                                        np.full(short - REPEATED - 1, copies * period)])
        self.indptr, self.indices = indptr, indices
        column_number, column_starts = _number(plan.columns, n_elements, free_columns)
        row_number, row_starts = _number(plan.rows, n_elements, kept_rows)
        self.columns, self.rows = np.flatnonzero(column_number >= 0), np.flatnonzero(row_number >= 0)
        self.n_columns_full, self.n_rows_full = len(column_number), len(row_number)
        self.column_starts, self.row_starts = np.append(0, column_starts), np.append(0, row_starts)

    @property
    def nnz(self):
        return len(self.indices)


def _number(numbering, n_elements, ends):
    """Running numbers with the ends' left-out entries as -1, and where each element's numbers start (and the end)."""
    taking_part = np.ones(numbering.n_node + n_elements * numbering.step, bool)
    taking_part[:numbering.n_node] = ends[0]
    taking_part[len(taking_part) - numbering.n_node:] = ends[1]
    number = np.where(taking_part, np.cumsum(taking_part) - 1, -1)
    starts = numbering.n_node + np.arange(n_elements + 1) * numbering.step
    return number, np.concatenate([[0], np.cumsum(taking_part)])[starts]
