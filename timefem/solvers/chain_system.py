"""The square nonlinear system of an initial-value problem on a chain of elements."""

import time
from collections import defaultdict

import numpy as np

from ..assembly import Assembler
from .linear import make_linear_solver


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
    backend : str
    options : dict
        For the linear solver.

    Attributes
    ----------
    seconds : dict
        Time spent in "assemble" and "solve".
    backward_error : float
        Largest backward error of a linear solve so far.
    """

    first_element = 0

    def __init__(self, plan, mesh, scaling, backend="chain", options=None):
        self.plan, self.mesh = plan, mesh
        self.assembler = Assembler(plan, mesh, *initial_value_ends(plan, plan.element), scaling)
        self.linear = make_linear_solver(backend, self.assembler.pattern, options)
        self.seconds, self.backward_error = defaultdict(float), 0.0

    @property
    def n_unknowns(self):
        return len(self.assembler.pattern.columns)

    def place(self, mesh, first_element=0):
        """Use another mesh with the same number of elements; `first_element` is its place in a longer one."""
        self.mesh, self.first_element = mesh, first_element
        self.assembler.place(mesh)

    def evaluate(self, x):
        """Scaled residual at all dofs `x`; the tangent is kept for `linear_step`."""
        start = time.perf_counter()
        residual, self.data = self.assembler.evaluate(x)
        self.seconds["assemble"] += time.perf_counter() - start
        return residual

    def linear_step(self, residual):
        """Scaled solution of tangent * step = residual, its backward error checked."""
        start = time.perf_counter()
        self.linear.factor(self.data)
        step, error = self.linear.solve_checked(residual)
        self.backward_error = max(self.backward_error, error)
        self.seconds["solve"] += time.perf_counter() - start
        return step

    def moved(self, x, step, length):
        """`x + length * step` in unscaled dofs."""
        moved, columns = x.copy(), self.assembler.pattern.columns
        moved[columns] += length * step * self.assembler.column_scale[columns]
        return moved

    def norm(self, values):
        """Largest magnitude."""
        return float(np.abs(values).max())

    def worst(self, residual):
        """Element with the largest residual, counted from the start of the whole mesh, and its start time."""
        row = self.assembler.pattern.rows[np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf))]
        n = self.plan.rows
        element = min(max(row - n.n_node, 0) // n.step, self.mesh.n_elements - 1)
        return element + self.first_element, self.mesh.nodes[element]
