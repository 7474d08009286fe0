"""Second quotient of precision: the order of convergence, seen without knowing the solution."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from timefem import InputError, SolveError, TimeElement, TimeMesh

from .. import validate
from .common import initial_value_problem, solve_on

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
