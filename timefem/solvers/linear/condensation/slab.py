"""Elements of a group without their insides and inner nodes: what is left concerns its last node."""

from functools import cached_property

import numpy as np

from ..time_chain.slab_lu import SlabLU
from .lu import Condensation, condensation


class GroupLU:
    """Partial factors of a group of elements, in which the columns of the last node are kept.

    Used as `SlabLU`, but for the order of what is left over: that of the columns.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`, of elements whose rows are their own.
    n_kept : int
        Number of the last columns that are kept.

    Attributes
    ----------
    left_over : ndarray, shape (n_rows, n_kept)
    """

    def __init__(self, pattern, n_kept):
        self._pattern, self._n_kept = pattern, n_kept

    @cached_property
    def _inside(self):
        return condensation(self._pattern, lambda *parts: _Slab(*parts, n_kept=self._n_kept))

    @cached_property
    def _chain(self):
        p = self._pattern
        return SlabLU(p.indptr, p.indices, p.column_starts, p.row_starts, right=(self._n_kept, 0))

    def factor(self, data, condensed):
        """Factor the matrix with the numbers `data`, inside elements first where that is wanted and there is enough;
        False where it then cannot be."""
        self._lu = slab = self._inside if condensed and self._inside else self._chain
        if self._lu is self._chain:
            self._lu.factor(data)
        elif self._lu.factor(data):
            slab = self._lu.nodes
        else:
            return False
        self._order = np.argsort(slab.columns)
        self.left_over = slab.left_over[:, self._order]
        return True

    @property
    def fill(self):
        return self._lu.fill

    def eliminate(self, b, transposed=False):
        """As of `SlabLU`."""
        work, reduced = self._lu.eliminate(b, transposed)
        return work, reduced[self._order] if transposed else reduced

    def recover(self, work, x, transposed=False):
        """As of `SlabLU`."""
        if not transposed:
            ordered = np.empty(len(x))
            ordered[self._order] = x
            x = ordered
        return self._lu.recover(work, x, transposed)


class _Slab(Condensation):
    """A `Condensation` whose nodes are factored but for the last one. Plans keep their order, so that the same numbers
    give the same factors again."""

    def __init__(self, *parts, n_kept):
        self._n_kept = n_kept
        super().__init__(*parts)

    @property
    def nodes(self):
        return self._nodes

    def _lu_of_nodes(self, *pattern):
        return SlabLU(*pattern, right=(self._n_kept, 0))

    def _arrange(self, taken):
        pass

    def eliminate(self, b, transposed=False):
        return self._nodes.eliminate(self._outwards(b, transposed), transposed)

    def recover(self, work, x, transposed=False):
        return self._inwards(self._nodes.recover(work, x, transposed), transposed)
