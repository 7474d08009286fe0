"""Global solves to a tolerance, on meshes that are found on the way."""

import dataclasses

import numpy as np

from ... import validate
from ...assembly import TimeMesh
from ...elements.mixed_galerkin import MixedGalerkin
from ...errors import InputError
from ...progress import progress
from ...solvers.march.step_control import StepControl
from ...status import Reason, Status
from .grading import graded, halved
from .options import OPTIONS


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
        raise InputError("tolerance must be a number where all elements are solved at once; StepControl is of a march")
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
        n_stuck = 0 if error <= best / 2 else n_stuck + (error < OPTIONS.rough)
        best = min(best, error)
        if error <= tolerance or n_stuck > OPTIONS.stagnation:
            break
        mesh = graded(mesh, density, n, kinks) if error < OPTIONS.rough else halved(mesh)
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
