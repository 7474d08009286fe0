"""Residual and tangent of a chain of time elements, filled in place."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..elements.evaluation.arrays import Plan, without_blocks
from ..elements.evaluation.elements_in_lanes import LaneScratch, lane_scratch
from ..elements.evaluation.plan import ElementPlan
from .assembly_loop import Elements, assemble
from .pattern import ChainPattern

NOWHERE = np.zeros(0)  # data where no entries are asked for


class Entries(NamedTuple):
    """Which entries of tangents of elements are evaluated: their rows and columns, and places as of a `ChainPattern`.
    """

    arrays: Plan
    lanes: LaneScratch
    rows: np.ndarray
    columns: np.ndarray
    places: tuple


class Assembler:
    """Assembles a chain of elements of one kind.

    The vector `x` holds all dofs in time order, the prescribed ones included: node 0, then `[interior | right node]`
    per element.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    free_columns, kept_rows : (ndarray of bool, ndarray of bool)
        Which dofs, and which tests, of the first and the last node take part.
    scaling : Scaling
    before, after : int
        See `place`.

    Attributes
    ----------
    pattern : ChainPattern
    column_scale, row_scale : ndarray
        Sizes of the unknowns and weights of the rows, of all dofs and tests.
    before_start : ndarray, shape (n_node,), or None
        What an element before the mesh, whose dofs are known, adds to the residual of the tests of the first node.
    """

    before_start = _placed = None

    def __init__(self, plan: ElementPlan, mesh, free_columns, kept_rows, scaling, before=0, after=0):
        self.plan, self.scaling = plan, scaling
        self.pattern = ChainPattern(plan, mesh.n_elements - before - after, free_columns, kept_rows)
        self._lanes = lane_scratch(plan.arrays)
        self.place(mesh, before, after)

    def place(self, mesh, before=0, after=0):
        """Use another mesh with the same number of elements.

        Of this mesh, `before` elements at the start and `after` at the end are not assembled, but count in the
        scales of the nodes that they share.
        """
        known, self._placed = self._placed, (mesh, before, after, self.scaling)
        if known and known[0] is mesh and known[1:3] == (before, after) and known[3].same_as(self.scaling):
            return
        last = mesh.n_elements - after
        self.mesh = mesh.part(before, last) if before or after else mesh
        self.column_scale, self.row_scale = (
            scale(numbering, mesh.lengths)[before * numbering.step:last * numbering.step + numbering.n_node]
            for scale, numbering in ((self.scaling.columns, self.plan.columns), (self.scaling.rows, self.plan.rows)))
        self._whole = self._part(0, self.mesh.n_elements, self._all(self.pattern.places))
        self._scale_of_kept = self.row_scale[self.pattern.row_index]
        emphasis = self.scaling.emphasis_of(self.plan.columns)
        self.emphasis = None if emphasis is None else self._along(emphasis)

    @cached_property
    def state(self):
        """1 for dofs that are coordinates or momenta, 0 for others."""
        return self._along(self.scaling.states_of(self.plan.columns))

    def _along(self, own):
        n_node = self.plan.columns.n_node
        return np.concatenate([own[:n_node], np.tile(own[n_node:], self.mesh.n_elements)])

    @cached_property
    def _data(self):
        return np.empty(self.pattern.nnz)

    def assemble_into(self, data):
        """Use this memory, shape (nnz,), for the data of the tangent."""
        self._data = data

    def evaluate(self, x):
        """Scaled residual of the kept rows, shape (n_rows,), and CSR data of the scaled tangent, shape (nnz,).

        The data are overwritten by the next call: fresh memory of this size would cost as much as the assembly.
        """
        return self._scaled(self._add(x, self._whole, self._data)), self._data

    def entries_at(self, places):
        """The `Entries` for places as those of a `ChainPattern`; of the others few are evaluated."""
        kind, copy, slots, periods, begins = places
        arrays, kept = without_blocks(self.plan.arrays, np.any(slots >= 0, axis=0))
        return Entries(arrays, lane_scratch(arrays), self.plan.tangent_rows[kept], self.plan.tangent_columns[kept],
                       (kind, copy, slots[:, kept], periods[kept], begins[:, kept]))

    def evaluate_into(self, x, entries, values):
        """Scaled residual of the kept rows; entries of the scaled tangent go to their places of the values."""
        return self._scaled(self._add(x, self._part(0, self.mesh.n_elements, entries), values))

    def residual(self, x):
        """Scaled residual of the kept rows, shape (n_rows,)."""
        return self._scaled(self._residual(x, 0, self.mesh.n_elements))

    def _scaled(self, residual):
        if self.before_start is not None:
            residual[:len(self.before_start)] += self.before_start
        residual = residual[self.pattern.row_index]
        residual *= self._scale_of_kept
        return residual

    def first_not_finite(self, x):
        """The first element whose residual is not finite at all dofs `x`, or None."""
        start, stop = 0, self.mesh.n_elements
        if np.all(np.isfinite(self._residual(x, start, stop))):
            return None
        while stop - start > 1:
            middle = (start + stop) // 2
            if np.all(np.isfinite(self._residual(x, start, middle))):
                start = middle
            else:
                stop = middle
        return start

    def _residual(self, x, start, stop):
        """Unscaled, of all tests of elements start, ..., stop - 1 at all dofs."""
        kind, copy, *others = self._none.places
        entries = self._none._replace(places=(kind[start:stop], copy[start:stop], *others))
        return self._add(x, self._part(start, stop, entries), NOWHERE)

    @cached_property
    def _none(self):
        kind, copy, slots, periods, begins = self.pattern.places
        return self.entries_at((kind, copy, np.full_like(slots, -1), periods, begins))

    def _all(self, places):
        return Entries(self.plan.arrays, self._lanes, self.plan.tangent_rows, self.plan.tangent_columns, places)

    def add_elements(self, x, start, stop, pattern, data):
        """Add the scaled tangents of elements start, ..., stop - 1 at all dofs `x` to data of their `ChainPattern`."""
        self._add(x, self._part(start, stop, self._all(pattern.places)), data)

    def _part(self, start, stop, entries):
        """What `assemble` takes of elements start, ..., stop - 1: where their dofs are, and arrays."""
        columns, rows = (slice(start * n.step, stop * n.step + n.n_node) for n in (self.plan.columns, self.plan.rows))
        return columns, entries.arrays, entries.lanes, Elements(
            self.mesh.nodes[start:stop], self.mesh.lengths[start:stop], self.column_scale[columns],
            self.row_scale[rows], entries.rows, entries.columns, *entries.places)

    def _add(self, x, part, data):
        """Unscaled residual of a part of the elements at all dofs; their tangents are added to the data."""
        columns, arrays, lanes, elements = part
        residual = np.zeros(len(elements.row_scale))
        assemble(arrays, lanes, x[columns], elements, residual, data)
        return residual
