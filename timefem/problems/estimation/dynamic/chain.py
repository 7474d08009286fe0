"""The elements of an estimation problem: their equations, and where fields stand among the variables."""

from functools import cached_property

import numpy as np

from ....assembly import Assembler, Scaling
from ....elements.augmented.constants import WithConstants
from ....elements.augmented.controlled import Controlled
from ...common.parameters import parts_with_unknowns


def element_of(problem, element):
    """The element with controls and constants, and the system that it needs."""
    problem.check_element(element)
    element, system, n = Controlled(element), problem.system, problem.n_constants
    if n:
        element = WithConstants(element, n)
        whole, system = system, system.of_parts(parts_with_unknowns(system, problem.part_numbers, n))
        system.complete, system.kept, system.dropped = whole.complete, whole.kept, whole.dropped
    return element, system


class EstimationChain:
    """Elements in time order, all of whose unknowns take part.

    It offers what `ChainView` asks of a chain.

    Attributes
    ----------
    scaling : Scaling
        Given to a part of a longer chain, which is scaled as the whole.
    pattern : ChainPattern
        Rows: tests of the elements; columns: all dofs.
    sizes : ndarray
        Of the unknowns, by which they are scaled.
    """

    def __init__(self, problem, plan, mesh, name="full", scaling=None):
        self.problem, self.plan, self.mesh = problem, plan, mesh
        self._fields = dict(zip(plan.element.trial, plan.columns.fields, strict=True))
        every = (np.ones(plan.columns.n_node, bool),) * 2, (np.ones(plan.rows.n_node, bool),) * 2
        self.scaling = self._scaling(name) if scaling is None else scaling
        self.assembler = Assembler(plan, mesh, *every, self.scaling)
        self.pattern, self.sizes = self.assembler.pattern, self.assembler.column_scale

    def _scaling(self, name):
        problem, plan = self.problem, self.plan
        scale = Scaling.of(name, plan.system, plan.element, self.mesh.nodes[0], problem.z0)
        if name == "full" and problem.n_controls:
            scale.controls = np.sqrt(np.diag(problem.density) / self.mesh.lengths.mean())
        if name == "full" and problem.n_constants:
            scale.constants = np.concatenate([np.sqrt(np.diag(u.covariance)) for u in problem.unknowns])
        return scale

    def columns_of(self, name):
        """Numbers of the unknowns of a field, shape (n_elements, n_shapes, n_components)."""
        return self.plan.columns.step * np.arange(self.mesh.n_elements)[:, None, None] + self._fields[name]

    def places_of(self, name):
        """Places of the same among all dofs, which all take part."""
        return self.columns_of(name)

    def nodal(self, x, name):
        """Nodal values of a field, in the same shape."""
        return x[self.columns_of(name)]

    def has(self, name):
        """Whether there is a field of this name, with components."""
        return name in self._fields and self._fields[name].size > 0

    @cached_property
    def elements_of_unknowns(self):
        """The element that each unknown is eliminated with: that before a node, and the first at the start."""
        n, c = len(self.sizes), self.plan.columns
        return np.maximum((np.arange(n) - c.n_node) // c.step, 0)

    @cached_property
    def elements_of_rows(self):
        starts = self.pattern.row_starts
        return np.clip(np.searchsorted(starts, np.arange(self.pattern.n_rows), side="right") - 2, 0, None)

    def evaluate(self, x):
        """Scaled rows, and entries of their Jacobian by scaled unknowns, which the next call overwrites."""
        return self.assembler.evaluate(x)

    @property
    def places(self):
        """Rows and columns of these entries."""
        p = self.pattern
        return np.repeat(np.arange(p.n_rows), np.diff(p.indptr)), p.indices.astype(int)
