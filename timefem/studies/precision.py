"""Second quotient of precision: the order of convergence, seen without knowing the solution; and iterations of GMRES
with blocks in time as preconditioners; figures of condition numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import Global, InputError, PETSc, SolveError, TimeElement, TimeMesh, conditioning, solve, validate
from .common import element_label, element_list, initial_value_problem, solve_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .. import Conditioning

QUANTITIES = ("coordinates", "state")


@dataclass(frozen=True)
class QuotientOfPrecision:
    """Second quotient of precision of one method.

    Attributes
    ----------
    element : TimeElement
    n_elements : int
        Of the coarsest mesh.
    h : float
        Longest element there [s].
    t : ndarray, shape (n_elements,)
        Ends of the coarsest elements [s].
    coarse, fine : ndarray, shape (n_elements,)
        Distances of the solutions with h and h/2, and with h/2 and h/4.
    """

    element: TimeElement
    n_elements: int
    h: float
    t: np.ndarray
    coarse: np.ndarray
    fine: np.ndarray

    @property
    def quotients(self) -> np.ndarray:
        """At the times `t`, shape (n_elements,); NaN where the finer solutions are equal."""
        return np.divide(self.coarse, self.fine, out=np.full(len(self.t), np.nan), where=self.fine > 0)

    @property
    def quotient(self) -> float:
        """Of the root mean squares over all times; NaN when the finer solutions are equal."""
        fine = np.linalg.norm(self.fine)
        return float(np.linalg.norm(self.coarse) / fine) if fine else float("nan")

    @property
    def order(self) -> float:
        """Order of convergence that it stands for."""
        return float(np.log2(self.quotient))

    def facts(self) -> dict[str, Any]:
        """Everything as plain data; None stands for NaN."""
        quotients = [float(q) if np.isfinite(q) else None for q in self.quotients]
        return {"element": self.element.name, "n_elements": self.n_elements, "h": self.h,
                "quotient": self.quotient if np.isfinite(self.quotient) else None,
                "order": self.order if np.isfinite(self.quotient) else None, "expected": 2.0**self.element.order,
                "t": self.t.tolist(), "quotients": quotients}


def quotient_of_precision(problem: Any, element: TimeElement, n_elements: int, *, quantity: str = "coordinates",
                          **arguments: Any) -> QuotientOfPrecision:
    """Second quotient of precision `|y_h - y_(h/2)| / |y_(h/2) - y_(h/4)|`, Gebhardt & Romero, Appendix A.

    From three solutions with elements of length h, h/2 and h/4, the finer meshes made by halving. It tends to 2^p for a
    method of order p, and so shows the order where no solution is known; far from 2^p the elements are too long, or
    round-off dominates.

    Parameters
    ----------
    problem : InitialValueProblem or Case
    element : TimeElement
    n_elements : int
        Of the coarsest mesh, with nodes at kinks of the loads where there are any.
    quantity : {"coordinates", "state"}
        Coordinates q, or coordinates and momenta (scaled with the mass).
    **arguments
        Of `timefem.solve`, for instance `driver` or `newton`.

    Returns
    -------
    QuotientOfPrecision

    Raises
    ------
    InputError
        For input that cannot be used.
    SolveError
        When one of the solves fails.
    """
    problem = initial_value_problem(problem)
    if not isinstance(element, TimeElement):
        raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    n_elements = validate.integer("n_elements", n_elements, minimum=1)
    validate.choice("quantity", quantity, QUANTITIES)
    if {"mesh", "n_elements"} & set(arguments):
        raise InputError("quotient_of_precision makes its own meshes; give n_elements")
    first = _solved(problem, element, arguments, n_elements=n_elements)
    nodes, solutions = first.t, [first]
    for _ in range(2):
        nodes = np.sort(np.concatenate([nodes, (nodes[1:] + nodes[:-1]) / 2]))
        solutions.append(_solved(problem, element, arguments, mesh=TimeMesh(nodes)))
    size = {"coordinates": np.ones(problem.system.n_q), "state": problem.system.state_scale}[quantity]
    values = [s.z[1:][2**i - 1::2**i, :len(size)] / size for i, s in enumerate(solutions)]
    coarse, fine = (np.linalg.norm(b - a, axis=1) for a, b in pairwise(values))
    return QuotientOfPrecision(element, n_elements, float(np.diff(first.t).max()), first.t[1:], coarse, fine)


def _solved(problem, element, arguments, **mesh):
    solution = solve_on(problem, element, **mesh, **arguments)
    if not solution.success:
        n = mesh["n_elements"] if "n_elements" in mesh else mesh["mesh"].n_elements
        raise SolveError(f"with {n} elements: {solution.status.message}")
    return solution


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


def plot_conditioning(studies: Sequence[Conditioning], ax: Axes | None = None,
                      labels: Sequence[str] | None = None) -> Axes:
    """Condition numbers over the length of the elements, with the fitted powers of 1/h: May & Betsch (2025), Fig. 8.

    Parameters
    ----------
    studies : sequence of Conditioning
    ax : matplotlib Axes, optional
    labels : sequence of str, optional
        Default: the studies' own, with their scaling.

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")[1] if ax is None else ax
    labels = labels or [f"{s.label}, scaling {s.scaling}" for s in studies]
    for study, label in zip(studies, labels, strict=True):
        fitted = "" if np.isnan(study.slope) else rf": $h^{{{-study.slope:.2f}}}$"
        ax.loglog(study.h, study.condition, "o-", label=label + fitted)
    ax.set(xlabel="length of an element [s]", ylabel=f"condition number, {studies[0].norm}-norm")
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
    return ax


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
