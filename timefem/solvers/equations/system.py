"""The square nonlinear system of an initial-value problem on a chain of elements."""

import time
from collections import defaultdict

import numpy as np

from ...assembly import Assembler
from ..linear import linear_options
from .conditioning import warn_if_ill_conditioned


def initial_value_ends(plan, element):
    """Free dofs and kept tests of the first and last node for an initial-value problem.

    The first node is prescribed (z, and with continuous multipliers their consistent value). As many tests are left
    out: those of the first node, or, with `drop="end"`, of the last; mG(k) has no tests at nodes.
    """
    free = np.zeros(plan.columns.n_node, bool), np.ones(plan.columns.n_node, bool)
    kept = np.zeros(plan.rows.n_node, bool), np.ones(plan.rows.n_node, bool)
    return free, kept[::-1] if getattr(element, "drop", "start") == "end" else kept


class ChainSystem:
    """Residual, tangent and linear solves on one process.

    `place` moves it along a longer mesh.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    scaling : Scaling
    backend : LinearOptions or str
    options : dict
        Of PETSc, for the shorthand "petsc".

    Attributes
    ----------
    slab : (int, int)
        The elements start, ..., stop - 1 of the mesh that this process answers for: here all.
    first, last : int
        The elements first, ..., last - 1 that it evaluates, and whose dofs it keeps as `x`: here all.
    comm : mpi4py communicator or None
    seconds : dict
        Time spent in "assemble" and "solve".
    backward_error : float
        Largest backward error of a linear solve so far.
    """

    comm = None
    first_element = 0
    checked = False  # whether the condition of the tangent has been looked at

    def __init__(self, plan, mesh, scaling, backend="chain", options=None):
        self.plan, self.mesh = plan, mesh
        self.slab, self.first, self.last = (0, mesh.n_elements), 0, mesh.n_elements
        self.assembler = Assembler(plan, mesh, *initial_value_ends(plan, plan.element), scaling)
        self.linear = linear_options(backend, options=options).make(self.assembler.pattern)
        self.seconds, self.backward_error = defaultdict(float), 0.0

    @property
    def n_unknowns(self):
        return self.assembler.pattern.n_columns

    def place(self, mesh, first_element=0):
        """Use another mesh with the same number of elements; `first_element` is its place in a longer one."""
        self.mesh, self.first_element = mesh, first_element
        self.assembler.place(mesh)

    def take(self, x):
        """The unknowns that this process keeps, of all of them."""
        return x

    def share(self, x):
        """Fill in, in place, the dofs of elements of other ranks that this rank keeps."""

    def own_part(self, x):
        """The dofs of the elements of the slab, a view."""
        step = self.plan.columns.step
        start, stop = ((e - self.first) * step for e in self.slab)
        return x[start:stop + self.plan.columns.n_node]

    def gather(self, x, root=None):
        """All dofs of the mesh, on every rank or on one, from what each keeps; None on the others."""
        return x

    def end(self, x):
        """The dofs of the last node of the mesh, on every rank."""
        return x[len(x) - self.plan.columns.n_node:].copy()

    def evaluate(self, x):
        """Scaled residual at all dofs `x`; the tangent is kept for `linear_step`."""
        start = time.perf_counter()
        residual, self.data = self.assembler.evaluate(x)
        self.x = x
        self.seconds["assemble"] += time.perf_counter() - start
        return residual

    def linear_step(self, residual):
        """Scaled solution of tangent * step = residual, its backward error checked."""
        start = time.perf_counter()
        self.linear.factor(self.data)
        step, error = self.linear.solve_checked(residual)
        self.backward_error = max(self.backward_error, error)
        self.seconds["solve"] += time.perf_counter() - start
        if self.linear.name == "chain" and not self.checked:  # once: it takes a few more solves
            self.checked = True
            warn_if_ill_conditioned(self, self.x)
        return step

    def moved(self, x, step, length):
        """`x + length * step` in unscaled dofs."""
        moved, columns = x.copy(), self.assembler.pattern.column_index
        moved[columns] += length * step * self.assembler.column_scale[columns]
        return moved

    def norm(self, values):
        """Largest magnitude."""
        return float(np.abs(values).max(initial=0.0))

    def dot(self, a, b):
        """Scalar product of two vectors of unknowns or rows."""
        return float(a @ b)

    def size(self, x):
        """Largest magnitude of the scaled unknowns."""
        return self.norm(self.scaled(x))

    def scaled(self, x):
        """The unknowns that this process owns among the dofs `x`, scaled."""
        columns = self.assembler.pattern.column_index
        return x[columns] / self.assembler.column_scale[columns]

    def worst(self, residual, x=None):
        """Where the residual is largest, or, when dofs `x` are given, the first element where it is not finite.

        Returns
        -------
        dict
            "element", counted from the start of the whole mesh, "time" [s] of its start, and on several ranks "rank"
            and its "slab".
        """
        element, _ = self._worst(residual, x)
        return {"element": self.first_element + element, "time": self.mesh.nodes[element]}

    def _worst(self, residual, x, first_row=0):
        """The element, counted in the mesh, and how bad it is; `residual` starts with row `first_row`."""
        element = None if x is None else self.assembler.first_not_finite(x)
        if element is not None:
            return self.first + element, np.inf
        size = np.where(np.isfinite(residual), np.abs(residual), np.inf)
        worst = int(np.argmax(size))
        index, rows = self.assembler.pattern.row_index, self.plan.rows
        row = index.start + first_row + worst if isinstance(index, slice) else index[first_row + worst]
        return self.first + int(np.clip((row - rows.n_node) // rows.step, 0, self.last - self.first - 1)), size[worst]
