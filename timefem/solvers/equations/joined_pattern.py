"""Sparsity pattern of the equations of elements with those of the blocks at both ends."""

import numpy as np


class JoinedPattern:
    """CSR pattern: rows of the start block, of the elements, of the end block; columns alike.

    Parameters
    ----------
    pattern : ChainPattern
        Of the elements.
    ends : Ends

    Attributes
    ----------
    indptr, indices, column_starts, row_starts, n_columns, n_rows
        As of `ChainPattern`; the first block includes the unknowns and rows of the start block, the last one those of
        the end block.
    entries : ndarray
        Values, of which those of the elements are assembled in place: see `of_elements`.
    """

    def __init__(self, pattern, ends):
        self._elements, p, (start, end) = pattern, pattern, ends.blocks
        shift = start.n_unknowns
        # rows of the first and of the last node that get entries of the blocks, with all columns of the block
        head, tail = (int(k.sum()) if b.n_node_rows else 0 for k, b in zip(ends.kept, ends.blocks, strict=True))
        first = np.arange(shift + int(ends.free[0].sum()))
        n = shift + p.n_columns + end.n_unknowns
        last = np.arange(n - end.n_unknowns - int(ends.free[1].sum()), n)
        stop = p.n_rows - tail
        self._head, self._tail = [], []
        for rows, columns, places in ((range(head), first, self._head), (range(stop, p.n_rows), last, self._tail)):
            for row in rows:
                own = p.indices_of_row(row) + shift
                merged = np.union1d(own, columns)
                places.append((row, merged, np.searchsorted(merged, own), np.searchsorted(merged, columns)))
        before = np.cumsum([0] + [len(first)] * start.n_rows + [len(merged) for _, merged, _, _ in self._head])
        behind = np.cumsum([0] + [len(merged) for _, merged, _, _ in self._tail] + [len(last)] * end.n_rows)
        self.n_columns, self.n_rows = n, start.n_rows + p.n_rows + end.n_rows
        self._before = int(before[-1] - p.indptr[head])
        at_end = self._before + int(p.indptr[stop])
        self.indptr = np.empty(self.n_rows + 1, p.indptr.dtype)
        self.indptr[:len(before)], self.indptr[self.n_rows + 1 - len(behind):] = before, at_end + behind
        np.add(p.indptr[head:stop], self._before, out=self.indptr[len(before) - 1:self.n_rows + 1 - len(behind)])
        self.indices, self.entries = (np.empty(at_end + behind[-1], kind) for kind in (p.indptr.dtype, float))
        p.fill_indices(self._part_of_elements(self.indices), shift)
        self.indices[:before[-1]] = np.concatenate([np.tile(first, start.n_rows), *(m for _, m, _, _ in self._head)])
        self.indices[at_end:] = np.concatenate([*(m for _, m, _, _ in self._tail), np.tile(last, end.n_rows)])
        self.column_starts, self.row_starts = (s.copy() for s in (p.column_starts, p.row_starts))
        for s, a, b in ((self.column_starts, start.n_unknowns, end.n_unknowns),
                        (self.row_starts, start.n_rows, end.n_rows)):
            s[1:] += a
            s[-1] += b
        self._added = (start.n_unknowns, end.n_unknowns), (start.n_rows, end.n_rows)
        at_start, at_end = np.cumsum([0, start.n_rows, head]), self.n_rows - np.cumsum([0, end.n_rows, tail])
        self._places = [self._merge(places, *self.indptr[rows].tolist())
                        for places, rows in ((self._head, at_start), (self._tail, at_end))]

    def _merge(self, places, outer, between, inner):
        """Of the rows of a node and of a block, which lie from `outer` to `between` and from there to `inner`, or the
        other way round: all of them, entries of the elements, their places, and those of the entries of the block."""
        first, p, none = min(between, inner), self._elements, [np.zeros(0, int)]
        ends = np.cumsum([first, *(len(merged) for _, merged, _, _ in places)])
        of_block = [start + there for start, (_, _, _, there) in zip(ends, places, strict=False)]
        rows = np.arange(min(outer, between), max(outer, between))
        return (slice(min(outer, inner), max(outer, inner)),
                np.concatenate(none + [np.arange(p.indptr[row], p.indptr[row + 1]) for row, _, _, _ in places]),
                np.concatenate(none + [start + own for start, (_, _, own, _) in zip(ends, places, strict=False)]),
                np.concatenate([*none, *of_block, rows]))

    def multipliers(self):
        """As of `ChainPattern`; the unknowns and rows of the blocks are of the motion."""
        return tuple(np.pad(own, added) for own, added in zip(self._elements.multipliers(), self._added, strict=True))

    @property
    def of_elements(self):
        """Where the entries of the elements are assembled, a view: there the rows that get none of the blocks have
        them. Those of the other rows lie where these rows go, and are read before."""
        return self._part_of_elements(self.entries)

    def _part_of_elements(self, values):
        return values[self._before:self._before + self._elements.nnz]

    def places_of_elements(self, places):
        """Where entries of the elements are among those of all rows."""
        found = places + self._before
        for _, own, at, _ in self._places:
            if len(own):
                k = np.minimum(np.searchsorted(own, places), len(own) - 1)
                found = np.where(own[k] == places, at[k], found)
        return found

    @property
    def places_of_blocks(self):
        """Where the entries of both blocks are."""
        return [of_block for *_, of_block in self._places]

    def join_rows(self, residual, first, last):
        """Residual of all rows, of those of the elements and of both blocks."""
        n_first, n_last = len(self._head), len(self._tail)
        residual[:n_first] += first[:n_first]
        residual[len(residual) - n_last:] += last[:n_last]
        return np.concatenate([first[n_first:], residual, last[n_last:]])

    def join(self, residual, data, first, last):
        """Residual and entries of all rows, of those of the elements and of rows and entries of both blocks."""
        adding = [(places, added) for places, (_, added) in zip(self._places, (first, last), strict=True) if len(added)]
        own = [data[entries] for (_, entries, _, _), _ in adding]
        for ((rows, _, at, of_block), added), values in zip(adding, own, strict=True):
            self.entries[rows] = 0.0
            self.entries[at] = values
            self.entries[of_block] += added
        return self.join_rows(residual, first[0], last[0]), self.entries
