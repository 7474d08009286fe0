"""LU of a tangent that is never there as a whole: of groups of elements one after the other, in time order.

The tangent of a group is evaluated, all but its last node is eliminated, and what is left, a few rows of that node,
comes first in the next group. A solve goes back from the last group to the first, evaluates each again and factors it
again: nothing is kept but these few rows. That takes less time than memory for all factors, which is slow when it is
touched first, and less than a sixth of the memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from ....errors import SolveError
from ....sparse import CompressedRows, add_transposed_product, infinity_norm
from ..base import LinearSolver
from .condensed_lu import Condensation, condensation
from .lu import SlabLU


class Groups(ABC):
    """A square matrix in groups of elements, whose rows are their own.

    Attributes
    ----------
    n_rows, n_columns : int
    groups : list of Group
    """

    @abstractmethod
    def entries(self, number: int, tangent: Any, carried: np.ndarray | None) -> np.ndarray:
        """Entries of a group, which the next call overwrites; `carried` are those of the rows that come first."""


class Group:
    """A group of elements.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`; first the rows that are left over of the group before.
    lu : GroupLU
        Groups of one pattern share it.
    first : (int, int, int)
        Number of its first element, of its first row in the matrix, without those that come first, and of its first
        column, that of these.
    n_carried, n_kept : int
        Rows that come first, and columns of the last node.
    """

    def __init__(self, pattern, lu, first, n_carried, n_kept):
        self.pattern, self.lu, self.n_carried, self.n_kept = pattern, lu, n_carried, n_kept
        self.first_element, first_row, first_column = first
        self.indptr = pattern.indptr[n_carried:]  # of the rows that belong to the matrix
        self.rows = slice(first_row, first_row + pattern.n_rows - n_carried)
        self.columns = slice(first_column, first_column + pattern.n_columns)


class GroupedLU(LinearSolver):
    """Solves with the tangent of `Groups`.

    Parameters
    ----------
    pattern : Groups
    """

    name, ordering = "chain", "time, in groups"

    def __init__(self, pattern):
        super().__init__(pattern)
        self._condensed, self._expected = True, None

    def _factor(self, matrix):
        raise NotImplementedError("there is no matrix")

    def expect(self, b):
        """Eliminate this right-hand side, for which `solve` will be asked, along with the next matrix."""
        self._expected = b

    def factor(self, tangent):
        """Eliminate all groups of a tangent, which is kept: what `Groups` make entries of."""
        b, self._expected = self._expected, None
        self._tangent, self._norms, self._eliminated, self._product = tangent, {}, None, None
        try:
            self._forwards(b)
        except _NoPivots:
            self._condensed = False
            self._forwards(b)

    def _forwards(self, b=None):
        """Eliminate all groups, and a right-hand side."""
        carried, of_rows, norm = None, np.zeros(0), 0.0
        self._carried, reduced = [], []
        for number, group in enumerate(self.pattern.groups):
            self._carried.append(carried)
            data = self._factor_group(number)
            norm = max(norm, infinity_norm(group.indptr, data))
            carried = group.lu.left_over
            if b is not None:
                reduced.append(of_rows)
                _, of_rows = group.lu.eliminate(np.concatenate([of_rows, b[group.rows]]))
        self._norms[False] = norm
        if b is not None:
            self._eliminated = b.copy(), reduced

    def _factor_group(self, number):
        data, group = self._entries(number), self.pattern.groups[number]
        try:
            if not group.lu.factor(data, self._condensed):
                raise _NoPivots
        except SolveError as error:
            raise type(error)(f"of the elements from number {group.first_element} on: {error}") from error
        return data

    def _entries(self, number):
        return self.pattern.entries(number, self._tangent, self._carried[number])

    def solve(self, b):
        if self._eliminated is None or not np.array_equal(b, self._eliminated[0]):
            self._forwards(b)
        x, product, groups = np.empty(len(b)), np.empty(len(b)), self.pattern.groups
        for number in reversed(range(len(groups))):
            group = groups[number]
            data = self._factor_group(number)
            work, _ = group.lu.eliminate(np.concatenate([self._eliminated[1][number], b[group.rows]]))
            own = x[group.columns]
            own[:] = group.lu.recover(work, own[len(own) - group.n_kept:])
            product[group.rows] = CompressedRows(group.indptr, group.pattern.indices, data) @ own
        self._product = x.copy(), product
        return x

    def solve_transposed(self, b):
        b, x, groups, of_rows = b.copy(), np.empty(len(b)), self.pattern.groups, np.zeros(0)
        for number, group in enumerate(groups):
            self._factor_group(number)
            own = b[group.columns]
            _, own[len(own) - group.n_kept:] = group.lu.eliminate(own, True)
        for number in reversed(range(len(groups))):
            group = groups[number]
            self._factor_group(number)
            work, _ = group.lu.eliminate(b[group.columns], True)
            found = group.lu.recover(work, of_rows, True)
            of_rows, x[group.rows] = found[:group.n_carried], found[group.n_carried:]
        return x

    def multiply(self, x):
        if self._product is not None and np.array_equal(x, self._product[0]):  # seen on the way of the solve
            return self._product[1].copy()
        product = np.empty(len(x))
        for number, group in enumerate(self.pattern.groups):
            matrix = CompressedRows(group.indptr, group.pattern.indices, self._entries(number))
            product[group.rows] = matrix @ x[group.columns]
        return product

    def multiply_transposed(self, x):
        return self._transposed(x, np.asarray)

    def _one_norm(self):
        return float(self._transposed(np.ones(self.pattern.n_rows), np.abs).max(initial=0.0))

    def _transposed(self, x, of_entries):
        product = np.zeros(len(x))
        for number, group in enumerate(self.pattern.groups):
            add_transposed_product(group.indptr, group.pattern.indices, of_entries(self._entries(number)),
                                   x[group.rows], product[group.columns])
        return product


class _NoPivots(Exception):
    """The inside of some elements cannot be eliminated first."""


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
