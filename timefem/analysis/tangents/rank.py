"""Rank of the multiplier space: whether the motion determines all multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ... import validate
from ...argument_names import named_arguments
from ...assembly import Assembler, Scaling, TimeMesh
from ...elements.element import TimeElement
from ...elements.evaluation.plan import ElementPlan
from ...errors import InputError
from ...solvers.equations.ends import Ends
from ...solvers.linear.time_chain.solver import TimeChain
from .conditioning import _nodal_values

ROUNDING = 1e-7  # singular values below it, relative to the largest, are zero: they are found as roots of squares


@dataclass(frozen=True)
class MultiplierRank:
    """Extreme singular values of the constraint block.

    Attributes
    ----------
    element : TimeElement
    all_multipliers : bool
    n_elements : ndarray of int, shape (n,)
    n_multipliers, n_tests : ndarray of int, shape (n,)
        Columns and rows of the block.
    smallest : ndarray, shape (n,)
        Smallest singular value over the largest.
    """

    element: TimeElement
    all_multipliers: bool
    n_elements: np.ndarray
    n_multipliers: np.ndarray
    n_tests: np.ndarray
    smallest: np.ndarray

    @property
    def full_rank(self) -> np.ndarray:
        """Whether the smallest singular values stand above rounding, shape (n,) of bool."""
        return self.smallest > ROUNDING

    @property
    def slope(self) -> float:
        """Power of h with which the smallest singular value falls; 0 for a sound space."""
        h = 1 / self.n_elements
        return float(np.polyfit(np.log(h), np.log(np.maximum(self.smallest, 1e-16)), 1)[0])


@named_arguments
def multiplier_rank(problem: Any, element: TimeElement, n_elements: Sequence[int] = (20, 40, 80), *,
                    all_multipliers: bool = False) -> MultiplierRank:
    """Smallest singular value of the constraint block of the assembled tangent, over its largest.

    The block has the tests of the equations of motion as rows, the free multipliers as columns, and entries
    `int phi_i grad Theta^T psi_j dt`, scaled as by scaling="full". Where its columns depend on each other, the motion
    does not determine the multipliers; where that is nearly so, the condition number has a power of 1/h more.

    Parameters
    ----------
    problem : InitialValueProblem
    element : MixedGalerkin or BubnovGalerkin
    n_elements : sequence of int
    all_multipliers : bool
        Count the multipliers of the first node as unknowns as well, although its tests are left out (continuous
        multipliers only): the choice that the method avoids.

    Returns
    -------
    MultiplierRank

    Raises
    ------
    InputError
        For systems without constraints, and `all_multipliers` of an element whose multipliers are discontinuous.
    SolveError
        When there is no trajectory.
    """
    if all_multipliers and not element.multiplier.continuous:
        raise InputError("all_multipliers=True needs continuous multipliers: all others are unknowns already")
    plan, results = ElementPlan(problem.system, element), []
    if not problem.system.n_multipliers:
        raise InputError("the system has no constraints, hence no multipliers")
    scale = Scaling.of("full", problem.system, element, problem.t_span[0], problem.z0)
    for n in n_elements:
        mesh = TimeMesh.uniform(problem.t_span, validate.integer("n_elements", n, minimum=1))
        block = _block(plan, mesh, scale, _nodal_values(problem, element, mesh, None, TimeChain()), all_multipliers)
        results.append((n, block.shape[1], block.shape[0], _ratio(block)))
    counts, columns, rows, smallest = (np.array(v) for v in zip(*results, strict=True))
    return MultiplierRank(element, all_multipliers, counts, columns, rows, smallest)


def _block(plan, mesh, scale, values, all_multipliers):
    ends = Ends.initial_value(plan)
    if all_multipliers:
        ends.free[0][plan.columns.fields[1][0]] = True
    assembler = Assembler(plan, mesh, ends.free, ends.kept, scale)
    _, data = assembler.evaluate(plan.pack(mesh, *values))
    pattern = assembler.pattern
    shape = len(pattern.indptr) - 1, pattern.n_columns
    matrix = scipy.sparse.csr_matrix((data, pattern.indices, pattern.indptr), shape=shape)
    tests = _belongs(plan.rows, 0, mesh.n_elements)[pattern.row_index]
    multipliers = _belongs(plan.columns, 1, mesh.n_elements)[pattern.column_index]
    return matrix[tests][:, multipliers]


def _belongs(numbering, field, n_elements):
    """Whether each dof of elements in time order belongs to the field."""
    places = numbering.step * np.arange(n_elements)[:, None, None] + numbering.fields[field]
    belongs = np.zeros(numbering.n_node + n_elements * numbering.step, bool)
    belongs[places.ravel()] = True
    return belongs


def _ratio(block):
    """Smallest singular value of a sparse matrix over its largest, by inverse iteration on the normal equations."""
    if block.shape[1] > block.shape[0]:
        return 0.0
    normal = scipy.sparse.csc_matrix(block.T @ block)
    start = np.random.default_rng(0).standard_normal(normal.shape[0])
    largest = scipy.sparse.linalg.eigsh(normal, 1, v0=start, tol=1e-4, return_eigenvectors=False)[0]
    shift = 1e-15 * largest  # off zero, so that a singular block has factors as well
    smallest = scipy.sparse.linalg.eigsh(normal, 1, sigma=-shift, v0=start, tol=1e-4, return_eigenvectors=False)[0]
    return float(np.sqrt(max(smallest, 0.0) / largest))
