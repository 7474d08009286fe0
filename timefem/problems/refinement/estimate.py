"""Estimated errors of solutions of all kinds of problems, by mG(k + 1) (see `solvers.refinement`).

Each kind offers the system of mG(k + 1) on a mesh, with the unknowns that a solution gives it, and the quantities whose
errors count. For optimal control see `timefem.problems.optimal.errors`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...elements.mixed_galerkin import MixedGalerkin
from ...solvers.equations.transfer import transferred
from ...solvers.march.motion import size_of_motion
from .loop import defects, density_of, surplus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...assembly import TimeMesh
    from ...solution import Solution

BETWEEN_NODES = "controls between nodes", "costates between nodes"  # of order k only: told, but not counted


class Estimated(NamedTuple):
    """What is known of the errors of a solution.

    Attributes
    ----------
    error : float
        The largest of `errors` but those `BETWEEN_NODES`.
    density : ndarray, shape (n_elements,)
        Of elements [1/s], such that all of them would have the same share of the error.
    n_elements : float
        Elements of such a mesh for another error.
    errors : dict
        Quantity -> relative error.
    """

    error: float
    density: np.ndarray
    n_elements: float
    errors: dict


class ErrorEstimate(ABC):
    """Estimated errors of solutions; what kinds of problems have of their own is in subclasses.

    Parameters
    ----------
    problem : InitialValueProblem, BoundaryValueProblem, InverseDynamics or OptimalControl
    element : TimeElement

    Attributes
    ----------
    kinks : tuple of float
        Times that are nodes of all meshes [s].
    rough_guess : bool
        Whether elements other than mG(k), k >= 2, should start from a solution by mG(2).
    trust : float
        In the gain that the density of elements promises, as a power. Where it does not follow from defects, meshes
        would often be too coarse for the next estimate with 1.
    """

    rough_guess = True

    def __init__(self, problem, element):
        self.problem, self.element = problem, element
        own = {name: vars(element)[name] for name in ("form", "strains") if name in vars(element)}
        self.better = MixedGalerkin(element.degree + 1, nodes=getattr(element, "nodes", "equidistant"), **own)
        self.better.check(problem.system)
        self.kinks = problem.system.kinks
        self.prepare()

    def __call__(self, sol, mesh, goal):
        """What is known of the errors of a solution; its mesh is of the time span of the problem where the time is
        free, and `goal` is the error for which elements are counted.

        Returns
        -------
        Estimated
        """
        errors, density = self.compared(sol, mesh)
        error, order = max(v for name, v in errors.items() if name not in BETWEEN_NODES), self.element.order
        share = density * mesh.lengths
        alike = share.mean() ** (order + 1) / (share ** (order + 1)).mean()  # part of the error left if all were alike
        n = mesh.n_elements * (error * alike**self.trust / goal) ** (1 / order)
        return Estimated(error, density, n, errors)

    def settled(self, mesh: TimeMesh, sol: Solution, solve_on: Callable[..., Any]) -> tuple[TimeMesh, Solution, Any]:
        """The mesh and the solution to go on with, and times through which further meshes go; `solve_on(mesh, guess)`
        solves again."""
        return mesh, sol, ()

    def compared(self, sol: Solution, mesh: TimeMesh) -> tuple[dict[str, float], np.ndarray]:
        """Errors by quantity, and the density of elements, from one Newton step of mG(k + 1)."""
        equations, x = self.assembled(sol, mesh)
        y = equations.moved(x, equations.linear_step(equations.evaluate(x)), -1.0)
        before, after = self.fields(equations, x), self.fields(equations, y)
        return self.errors(sol, mesh, before, after), self.density(sol, mesh, self.dofs(equations, x), after)

    @abstractmethod
    def prepare(self) -> None:
        """Make `plan`, the `ElementPlan` of mG(k + 1)."""

    @abstractmethod
    def assembled(self, sol: Solution, mesh: TimeMesh) -> tuple[Any, np.ndarray]:
        """The equations of mG(k + 1) on the mesh of a solution, and its unknowns at that."""

    def dofs(self, equations: Any, x: np.ndarray) -> np.ndarray:
        """Dofs of the elements."""
        return equations.split(x)[1]

    def fields(self, equations: Any, x: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(self.plan.element.trial, self.plan.columns.unpack(self.dofs(equations, x)), strict=True))

    @property
    def trust(self) -> float:
        return 1.0 if self.element.can_march else 0.5

    def errors(self, sol: Solution, mesh: TimeMesh, before: Mapping[str, np.ndarray],
               after: Mapping[str, np.ndarray]) -> dict[str, float]:
        change = (after["state"] - before["state"])[:, [0, -1]]
        return {"state": float(np.abs(change / self.size(sol)).max())}

    def size(self, sol: Solution) -> Any:
        return size_of_motion(self.problem.system, sol.t, sol.z)

    def density(self, sol: Solution, mesh: TimeMesh, dofs: np.ndarray, better: Mapping[str, np.ndarray]) -> np.ndarray:
        """Density of elements with equal errors, from their defects where tests belong to one element."""
        size, order = self.size(sol), self.element.order
        if self.element.can_march:
            own = np.abs(defects(self.plan, mesh, dofs) / size).max(axis=1)
            return density_of(mesh, own, order + 1)
        own = (surplus(better["state"], self.better.state.basis) / size).max(axis=1)
        return density_of(mesh, own, self.better.degree)

    def transferred(self, sol: Solution, mesh: TimeMesh) -> dict[str, np.ndarray]:
        """Nodal values of the fields of mG(k + 1), from those of a solution on the same mesh."""
        system, spaces = self.problem.system, self.plan.element.trial
        given = {"state": sol.nodal_state, **sol.fields,
                 "multipliers": sol.nodal_multipliers[..., self.element.kept_multipliers(system)]}
        if given["multipliers"].shape[-1] < system.n_multipliers:
            given["multipliers"] = sol.nodal_multipliers
        sizes = {name: f.shape[1] for name, f in zip(spaces, self.plan.columns.fields, strict=True)}
        given = {name: v for name, v in given.items() if v.shape[-1] == sizes.get(name)}
        return transferred(given, sol.element, mesh, self.plan.element, sizes, mesh)


def size_of_controls(system, u):
    """The largest control of each actuator, for each of its controls, shape (n_controls,)."""
    u = np.abs(u).reshape(-1, u.shape[-1]).max(axis=0)
    sizes, first = np.ones(len(u)), 0
    for part in system.parts:
        own = slice(first, first + part.n_controls)
        sizes[own] = u[own].max(initial=0.0) or 1.0
        first = own.stop
    return sizes
