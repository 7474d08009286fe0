"""Residual and tangent of a chain of time elements, filled in place."""

import numpy as np

from ..elements import ElementPlan
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

    Attributes
    ----------
    pattern : ChainPattern
    column_scale, row_scale : ndarray
        Sizes of the unknowns and weights of the rows, of all dofs and tests.
    """

    def __init__(self, plan: ElementPlan, mesh, free_columns, kept_rows, scaling):
        self.plan, self.scaling = plan, scaling
        self.pattern = ChainPattern(plan, mesh.n_elements, free_columns, kept_rows)
        self._data = np.empty(self.pattern.nnz)
        self.place(mesh)

    def place(self, mesh):
        """Use another mesh with the same number of elements."""
        self.mesh = mesh
        self.column_scale = self.scaling.columns(self.plan.columns, mesh.lengths)
        self.row_scale = self.scaling.rows(self.plan.rows, mesh.lengths)

    def evaluate(self, x):
        """Scaled residual of the kept rows, shape (n_rows,), and CSR data of the scaled tangent, shape (nnz,).

        The data are overwritten by the next call: fresh memory of this size would cost as much as the assembly.
        """
        from .assemble import assemble

        p = self.pattern
        residual, data = np.zeros(p.n_rows_full), self._data
        data[:] = 0.0
        assemble(self.plan.arrays, x, self.mesh.nodes[:-1], self.mesh.lengths, self.column_scale, self.row_scale,
                 self.plan.tangent_rows, self.plan.tangent_columns, p.kind, p.base, p.slots, residual, data)
        return residual[p.rows] * self.row_scale[p.rows], data
