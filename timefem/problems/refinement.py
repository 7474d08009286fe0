"""Solves to a tolerance, on meshes that are found on the way from estimated errors: in most kinds by mG(k + 1).

Each kind offers the system of mG(k + 1) on a mesh, with the unknowns that a solution gives it, and the quantities whose
errors count. For optimal control see `timefem.problems.optimal.errors`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import validate
from ..assembly import TimeMesh
from ..elements.evaluation.elements_in_lanes import evaluate_batch
from ..elements.mixed_galerkin import MixedGalerkin
from ..errors import InputError
from ..polynomials import gauss_legendre
from ..progress import progress
from ..records import frozen
from ..solvers.equations.outcome import transferred
from ..solvers.march.motion import size_of_motion
from ..solvers.march.step_control import StepControl
from ..status import Reason, Status
from ..validate.options import Options, documented, option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..solution import Solution


# ---- thresholds of meshes that are refined to a tolerance

@documented
@frozen
class RefinementOptions(Options):
    """Thresholds of meshes that are refined to a tolerance."""

    # ---- grading
    aim: float = option(0.5, "share of the tolerance that a mesh aims at")
    growth: int = option(4, "factor of the number of elements from mesh to mesh, at most")
    least_growth: float = option(1.2, "the same of phases at least")
    grading: float = option(0.5, "factor by which the density of elements falls from one element to the next, at most")
    piece: int = option(2000, "elements whose tangents are held at once")

    # ---- loop
    first_mesh: int = option(16, "elements of the first mesh")
    most_meshes: int = option(20, "meshes that are tried")
    most_failures: int = option(6, "failures one after the other")
    stagnation: int = option(
        2, "meshes in a row on which the error stays as it is, by rounding, before this is given up")
    rough: float = option(0.1, "estimated error from which on a solution says nothing of where elements should be")


OPTIONS = RefinementOptions()


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
    grades : bool
        Whether it tells where elements should be; otherwise all are halved.
    """

    rough_guess = False
    grades = True

    def __init__(self, problem, element):
        self.problem, self.element = problem, element
        self.kinks = problem.system.kinks

    @abstractmethod
    def __call__(self, sol: Solution, mesh: TimeMesh, goal: float) -> Estimated:
        """What is known of the errors of a solution; its mesh is of the time span of the problem where the time is
        free, and `goal` is the error for which elements are counted."""

    def settled(self, mesh: TimeMesh, sol: Solution, solve_on: Callable[..., Any]) -> tuple[TimeMesh, Solution, Any]:
        """The mesh and the solution to go on with, and times through which further meshes go; `solve_on(mesh, guess)`
        solves again."""
        return mesh, sol, ()

    def is_stuck(self, error: float) -> bool:
        """Whether an error that is not half of the one before tells that finer meshes gain nothing."""
        return error < OPTIONS.rough

    def size(self, sol: Solution) -> Any:
        """Sizes of the components of states, by the motion."""
        return size_of_motion(self.problem.system, sol.t, sol.z)


class HigherOrderErrors(ErrorEstimate):
    """Errors by a Newton step of mG(k + 1).

    Attributes
    ----------
    trust : float
        In the gain that the density of elements promises, as a power. Where it does not follow from defects, meshes
        would often be too coarse for the next estimate with 1.
    """

    rough_guess = True

    def __init__(self, problem, element):
        super().__init__(problem, element)
        own = {name: vars(element)[name] for name in ("form", "strains") if name in vars(element)}
        self.better = MixedGalerkin(element.degree + 1, nodes=getattr(element, "nodes", "equidistant"), **own)
        self.better.check(problem.system)
        self.prepare()

    def __call__(self, sol, mesh, goal):
        errors, density = self.compared(sol, mesh)
        error = max(v for name, v in errors.items() if name not in BETWEEN_NODES)
        return Estimated(error, density, self.elements_for(goal, error, density * mesh.lengths), errors)

    def elements_for(self, goal: float, error: float, share: np.ndarray) -> float:
        """Elements of a mesh for an error `goal`, from the error on one with these shares of its elements."""
        order = self.element.order
        alike = share.mean() ** (order + 1) / (share ** (order + 1)).mean()  # part of the error left if all were alike
        return len(share) * (error * alike**self.trust / goal) ** (1 / order)

    def compared(self, sol: Solution, mesh: TimeMesh) -> tuple[dict[str, float], np.ndarray]:
        """Errors by quantity, and the density of elements, from one Newton step of mG(k + 1)."""
        equations, x = self.assembled(sol, mesh)
        y = equations.moved(x, equations.linear_step(equations.evaluate(x)), -1.0)
        before, after = self.fields(equations, x), self.fields(equations, y)
        return self.errors(sol, mesh, before, after), self.density(sol, mesh, equations, x, after)

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

    def density(self, sol: Solution, mesh: TimeMesh, equations: Any, x: np.ndarray,
                better: Mapping[str, np.ndarray]) -> np.ndarray:
        """Density of elements with equal errors, from their defects where tests belong to one element."""
        size, order = self.size(sol), self.element.order
        if self.element.can_march:
            own = np.abs(defects(equations, self.dofs(equations, x)) / size).max(axis=1)
            return density_of(mesh, own, order + 1)
        own = (surplus(better["state"], self.better.state.basis) / size).max(axis=1)
        return density_of(mesh, own, self.better.degree)

    def transferred(self, sol: Solution, mesh: TimeMesh) -> dict[str, np.ndarray]:
        """Nodal values of the fields of mG(k + 1), from those of a solution on the same mesh."""
        system, spaces = self.problem.system, self.plan.element.trial
        given = {"state": sol.nodal.state, **sol.fields,
                 "multipliers": sol.nodal.multipliers[..., self.element.kept_multipliers(system)]}
        if given["multipliers"].shape[-1] < system.n_multipliers:
            given["multipliers"] = sol.nodal.multipliers
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


# ---- global solves to a tolerance, on meshes that are found on the way from estimated errors

def solve_refined(task, solve_on, estimates):
    """Solve on finer and finer meshes until the estimated error is below a tolerance.

    Parameters
    ----------
    task : Task
        With `tolerance`: for the largest of the relative errors that the estimate tells, of the states at the nodes,
        and what the kind of problem asks for besides; and `n_elements` or `mesh` to start from, 16 elements unless
        given.
    solve_on : callable
        `solve_on(element, mesh, guess)` -> Solution, with the solution before as guess, or None.
    estimates : callable
        `estimates(problem, element)` -> ErrorEstimate.

    Returns
    -------
    Solution
        Of the last mesh; `statistics` has "tolerance", "estimated_error", "estimated_errors" by quantity, and "meshes",
        the numbers of elements.
    """
    if isinstance(task.tolerance, StepControl):
        raise InputError("tolerance must be a number here; StepControl is of marches that choose each step")
    tolerance = validate.real("tolerance", task.tolerance, positive=True)
    with progress("mesh refinement", show=task.progress) as bar:
        return _refined(dataclasses.replace(task, tolerance=tolerance), solve_on, estimates, bar)


def _refined(task, solve_on, estimates, bar):
    problem, element, tolerance, mesh = task.problem, task.element, task.tolerance, task.mesh
    estimate = estimates(problem, element)
    kinks = estimate.kinks
    if mesh is None:
        mesh = TimeMesh.uniform(problem.t_span, task.n_elements or OPTIONS.first_mesh)
        mesh = graded(mesh, np.ones(mesh.n_elements), mesh.n_elements, kinks)
    meshes, guess, error, best, errors, n_failures, n_stuck = [], None, np.inf, np.inf, {}, 0, 0
    if estimate.rough_guess and not (element.costates_converge and element.degree > 1):
        rougher = dataclasses.replace(task, element=MixedGalerkin(2), tolerance=max(tolerance, OPTIONS.rough / 4),
                                      mesh=mesh, n_elements=None)
        rough = _refined(rougher, solve_on, estimates, bar)
        if rough.success:
            guess = rough
            mesh = TimeMesh(problem.t_span[0] + (rough.t - rough.t[0]) * (
                (problem.t_span[1] - problem.t_span[0]) / (rough.t[-1] - rough.t[0])))
    while len(meshes) < OPTIONS.most_meshes and n_failures < OPTIONS.most_failures:
        bar.note(f"{mesh.n_elements} elements")
        sol = solve_on(element, mesh, guess)
        meshes.append(mesh.n_elements)
        if not sol.success:
            mesh, guess, n_failures = halved(mesh), None, n_failures + 1
            continue
        mesh, sol, through = estimate.settled(mesh, sol, lambda mesh, guess: solve_on(element, mesh, guess))
        kinks = sorted({*estimate.kinks, *through})
        guess, n_failures = sol, 0
        error, density, n, errors = estimate(sol, mesh, OPTIONS.aim * tolerance)
        n_stuck = 0 if error <= best / 2 else n_stuck + estimate.is_stuck(error)
        best = min(best, error)
        if error <= tolerance or n_stuck > OPTIONS.stagnation:
            break
        mesh = graded(mesh, density, n, kinks) if estimate.grades and error < OPTIONS.rough else halved(mesh)
    if sol.success and not error <= tolerance and "objective" in errors:
        sol, error, errors = _or_of_equal_elements(
            sol, (error, errors), problem, estimate, lambda mesh, guess: solve_on(element, mesh, guess), meshes)
    sol.statistics.update(tolerance=tolerance, estimated_error=float(error), estimated_errors=errors, meshes=meshes)
    if sol.success and not error <= tolerance:
        sol.status = Status.failure(Reason.NOT_ACCURATE, len(sol.t) - 2, sol.t[-2], [],
                                    f"the estimated error is {error:.2g} on {meshes[-1]} elements")
    return sol


def _or_of_equal_elements(sol, told, problem, estimate, solve_on, meshes):
    """Solution, error and errors of that which is reported, or of as many equal elements: of the better objective.

    Where the estimate leads no further, it does not tell where elements should be either.
    """
    even = TimeMesh.uniform(problem.t_span, len(sol.t) - 1)
    even = graded(even, np.ones(even.n_elements), even.n_elements, estimate.kinks)
    other = solve_on(even, sol)
    if not other.success:
        return sol, *told
    meshes.append(even.n_elements)
    error, _, _, errors = estimate(other, even, told[0])
    better = np.isfinite(error) and errors["objective"] < told[1]["objective"]
    return (other, error, errors) if better else (sol, *told)


# ---- Errors estimated by a method of higher order, and meshes on which all elements have the same share of them
#
# With mG(k + 1), of order 2k + 2, as the better method: one Newton step of it on the whole mesh, with the conditions of
# the problem, estimates the error of a solution at the nodes. The defect of an element is the change of its right node
# by one Newton step of mG(k + 1) from its left node: what one element adds to the error. Where elements share tests
# (Bubnov-Galerkin), errors alternate from node to node and defects do not tell where they come from (their means over
# neighbours do not either), and in optimal control they come from both ends; there the mesh follows what the better
# solution has beyond the polynomials of the element.

def defects(equations, x):
    """Change of the state at the right node of each element by one Newton step from its left node.

    Parameters
    ----------
    equations : ElementEquations
        Of an element that can be marched.
    x : ndarray
        All dofs in time order.

    Returns
    -------
    ndarray, shape (n_elements, n_z)
    """
    plan, mesh, scaling = equations.plan, equations.mesh, equations.assembler.scaling
    c, rows = plan.columns, plan.rows
    sizes, weights = scaling.columns(c, mesh.lengths), scaling.rows(rows, mesh.lengths)
    right = c.first[-1] - c.n_node
    out = np.zeros((mesh.n_elements, len(right)))
    for start in range(0, mesh.n_elements, OPTIONS.piece):
        e = np.arange(start, min(start + OPTIONS.piece, mesh.n_elements))
        places = c.step * e[:, None] + np.arange(c.n_local)
        own, size = np.ascontiguousarray(x[places]), sizes[places[:, c.n_node:]]
        weight = weights[rows.step * e[:, None] + np.arange(rows.n_local)]
        residual = np.empty((len(e), rows.n_local))
        entries = np.empty((len(e), len(plan.tangent_rows)))
        evaluate_batch(plan.arrays, own, mesh.nodes[e], mesh.lengths[e], residual, entries)
        tangent = np.zeros((len(e), rows.n_local, c.n_local))
        tangent[:, plan.tangent_rows, plan.tangent_columns] = entries
        tangent = weight[:, :, None] * tangent[:, :, c.n_node:] * size[:, None]
        step = np.linalg.solve(tangent, (weight * residual)[..., None])[..., 0]
        out[e] = -(size * step)[:, right]
    return out


def size_of_components(system, values):
    """How large costates become, shape (n_z,) or, of the motion alone, (n_q,): weighted with the mass, the largest of
    each half."""
    n, root = system.n_q, np.sqrt(system.mass_scale)
    weights = np.concatenate([root, 1 / root])[:values.shape[1]]
    largest = [np.abs(part).max() or 1.0 for part in np.split(values * weights, range(n, values.shape[1], n), axis=1)]
    return np.repeat(largest, n) / weights


def surplus(nodal, basis):
    """Largest derivatives of nodal values within elements, as parts of the values, shape (n_elements, n_components)."""
    xi, _ = gauss_legendre(basis.n_shapes)
    differences = np.linalg.inv(np.vander(xi, increasing=True))[-1] @ basis.values(xi)
    return np.abs(np.einsum("i,eia->ea", differences, nodal))


def density_of(mesh, errors, power):
    """Density of elements [1/s], up to a factor, for errors C(t) h^power of the elements to be alike."""
    density = np.maximum(errors, 1e-12 * errors.max() or 1.0) ** (1 / power) / mesh.lengths
    for i in range(1, len(density)):
        density[i] = max(density[i], OPTIONS.grading * density[i - 1])
    for i in range(len(density) - 2, -1, -1):
        density[i] = max(density[i], OPTIONS.grading * density[i + 1])
    return density


def graded(mesh, density, n, through=()):
    """A mesh of about n elements with a given density.

    Parameters
    ----------
    mesh : TimeMesh
        On which the density is given.
    density : ndarray, shape (n_elements,)
    n : float
        At most `GROWTH` times as many as before are taken.
    through : array_like
        Times that become nodes.

    Returns
    -------
    TimeMesh
    """
    total = np.append(0.0, np.cumsum(density * mesh.lengths))
    n = np.clip(n, 4, OPTIONS.growth * mesh.n_elements)
    inside = np.asarray(through, float)
    inside = inside[(inside > mesh.nodes[0]) & (inside < mesh.nodes[-1])]
    ends = np.concatenate([mesh.nodes[:1], inside, mesh.nodes[-1:]])
    marks = np.interp(ends, mesh.nodes, total)
    nodes = [ends[:1]]
    for a, b, end in zip(marks, marks[1:], ends[1:], strict=False):
        count = max(1, int(np.ceil(n * (b - a) / total[-1] - 1e-9)))
        nodes += [np.interp(np.linspace(a, b, count + 1)[1:-1], total, mesh.nodes), [end]]
    return TimeMesh(np.concatenate(nodes))


def halved(mesh):
    """The mesh with all elements halved."""
    return TimeMesh(np.interp(np.arange(2 * mesh.n_elements + 1) / 2, np.arange(mesh.n_elements + 1), mesh.nodes))
