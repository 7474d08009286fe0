"""Residual and tangent of a chain of time elements, filled in place."""

from functools import cached_property

import numpy as np

from ..elements.evaluation.elements_in_lanes import lane_scratch
from ..elements.evaluation.plan import ElementPlan
from .assembly_loop import Elements, assemble
from .pattern import ChainPattern


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
        self._data, self._lanes = np.empty(self.pattern.nnz), lane_scratch(plan.arrays)
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
        self._whole, self._scale_of_kept = self._part(0, self.mesh.n_elements), self.row_scale[self.pattern.row_index]
        emphasis = self.scaling.emphasis_of(self.plan.columns)
        self.emphasis = None if emphasis is None else self._along(emphasis)

    @cached_property
    def state(self):
        """1 for dofs that are coordinates or momenta, 0 for others."""
        return self._along(self.scaling.states_of(self.plan.columns))

    def _along(self, own):
        n_node = self.plan.columns.n_node
        return np.concatenate([own[:n_node], np.tile(own[n_node:], self.mesh.n_elements)])

    def assemble_into(self, data):
        """Use this memory, shape (nnz,), for the data of the tangent."""
        self._data = data

    def evaluate(self, x):
        """Scaled residual of the kept rows, shape (n_rows,), and CSR data of the scaled tangent, shape (nnz,).

        The data are overwritten by the next call: fresh memory of this size would cost as much as the assembly.
        """
        p, data = self.pattern, self._data
        data[:] = 0.0
        residual = self._assemble(x, self._whole)
        if self.before_start is not None:
            residual[:len(self.before_start)] += self.before_start
        residual = residual[p.row_index]
        residual *= self._scale_of_kept
        return residual, data

    def first_not_finite(self, x):
        """The first element whose residual is not finite at all dofs `x`, or None; spoils the data of `evaluate`."""
        start, stop = 0, self.mesh.n_elements
        if np.all(np.isfinite(self._assemble(x, self._whole))):
            return None
        while stop - start > 1:
            middle = (start + stop) // 2
            if np.all(np.isfinite(self._assemble(x, self._part(start, middle)))):
                start = middle
            else:
                stop = middle
        return start

    def _part(self, start, stop):
        """What `assemble` takes of elements start, ..., stop - 1: where their dofs are, and arrays."""
        p = self.pattern
        columns, rows = (slice(start * n.step, stop * n.step + n.n_node) for n in (self.plan.columns, self.plan.rows))
        return columns, Elements(self.mesh.nodes[start:stop], self.mesh.lengths[start:stop],
                                 self.column_scale[columns], self.row_scale[rows], self.plan.tangent_rows,
                                 self.plan.tangent_columns, p.kind[start:stop], p.base[start:stop], p.slots)

    def _assemble(self, x, part):
        """Unscaled residual of a part of the elements at all dofs; their tangents are added to the data."""
        columns, elements = part
        residual = np.zeros(len(elements.row_scale))
        assemble(self.plan.arrays, self._lanes, x[columns], elements, residual, self._data)
        return residual
