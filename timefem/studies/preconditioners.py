"""Iterations of GMRES with blocks in time as preconditioners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from timefem import Global, InputError, PETSc, SolveError, TimeElement, conditioning, solve

from .. import validate
from .common import element_label, element_list

METHODS = ("block-jacobi", "schwarz", "gauss-seidel", "schur")


@dataclass(frozen=True)
class Preconditioning:
    """How many iterations of GMRES one preconditioner takes to 1e-10 of the residual.

    Attributes
    ----------
    kind : str
        Of the problem.
    element, method : str
    n_elements, n_slabs : int
        `n_slabs` is 1 for states and multipliers, which are not slabs.
    iterations : int or None
        Most of all linear solves of the last mesh; None where the solve failed.
    failure : str
        Why.
    condition : float
        Of the tangent in the 1-norm, for problems of initial values; else NaN.
    """

    kind: str
    element: str
    method: str
    n_elements: int
    n_slabs: int
    iterations: int | None
    failure: str
    condition: float

    def rows(self) -> list[dict[str, Any]]:
        """One dict, for tables and CSV."""
        return [asdict(self)]

    def cells(self) -> list[dict[str, Any]]:
        """The row as it is shown."""
        condition = "" if np.isnan(self.condition) else f"{self.condition:.1e}"
        found = "fails" if self.iterations is None else str(self.iterations)
        return [{"problem": self.kind, "element": self.element, "method": self.method, "elements": self.n_elements,
                 "slabs": str(self.n_slabs), "iterations": found, "condition": condition, "failure": self.failure}]

    def facts(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self) | {"condition": None if np.isnan(self.condition) else self.condition}


def preconditioners(problem: Any, elements: TimeElement | Sequence[TimeElement],
                    n_elements: Sequence[int] = (64, 256), slabs: Sequence[int] = (4, 16),
                    methods: Sequence[str] = METHODS) -> list[Preconditioning]:
    """Solve a problem by GMRES with blocks as preconditioners, and count.

    Every block is solved by a direct solver, as well as can be done. What is counted is the most iterations that a
    linear solve of Newton's method took; a solve that fails says why.

    Parameters
    ----------
    problem : InitialValueProblem, BoundaryValueProblem or Case
    elements : MixedGalerkin or BubnovGalerkin, or a list of them
    n_elements, slabs : sequence of int
        Numbers of elements, and of slabs in time that they are cut to.
    methods : sequence of str
        Of `timefem.PETSc`: "block-jacobi", "schwarz", "gauss-seidel", "schur".

    Raises
    ------
    InputError
        For input that cannot be used, before anything is solved.
    """
    problem = problem.make() if hasattr(problem, "make") else problem
    elements = element_list(elements)
    meshes = [validate.integer("n_elements", n, minimum=1) for n in n_elements]
    cuts = [validate.integer("slabs", n, minimum=2) for n in slabs]
    for method in methods:
        validate.choice("method", method, METHODS)
    if not (meshes and cuts and methods):
        raise InputError("give at least one number of elements, number of slabs and method")
    if max(cuts) > min(meshes):
        raise InputError(f"slabs: {max(cuts)} slabs of {min(meshes)} elements: take fewer slabs or more elements")
    runs = [(e, n, s, m) for e, n, m in product(elements, meshes, methods)
            for s in (cuts if m != "schur" else [1])]
    conditions = {(e, n): _condition(problem, e, n) for e, n in product(elements, meshes)}
    return [_count(problem, e, n, s, m, conditions[e, n]) for e, n, s, m in runs]


def _count(problem, element, n_elements, n_slabs, method, condition):
    options = {"pc_time_slabs": n_slabs} if method != "schur" else {}
    sol = solve(problem, element, n_elements, driver=Global(PETSc(options, method=method)), progress=False)
    counts = sol.statistics.get("per_rank", {}).get("krylov_iterations")
    found = counts[0] if sol.success and counts else None
    return Preconditioning(type(problem).__name__, element_label(element), method, n_elements, n_slabs, found,
                           "" if found is not None else _reason(sol.status.message), condition)


def _reason(message):
    """What went wrong, in a few words."""
    known = {"PCSETUP_FAILED": "a block is singular", "DIVERGED_ITS": "no convergence",
             "BREAKDOWN": "GMRES breaks down", "backward error": "GMRES stagnates"}
    return next((words for sign, words in known.items() if sign in message), message)


def _condition(problem, element, n_elements):
    try:
        return float(conditioning(problem, element, [n_elements], scaling="full", norm=1).condition[0])
    except (InputError, SolveError):  # of another kind of problem, or there is no such tangent
        return float("nan")
