"""Phases to a tolerance, each on a mesh of its own."""

import numpy as np

from ... import validate
from ...errors import InputError
from ...progress import progress
from ...status import Reason, Status
from ..optimal.errors import BoundedErrors
from ..optimal.options import OPTIONS as OF_OPTIMA
from ..refinement.grading import graded, halved
from ..refinement.options import OPTIONS

NO_COST = 1e-10  # a sum of costs that is none


class PhaseErrors(BoundedErrors):
    """Of one phase, by the solution of all phases with all elements halved."""

    def finer(self, sol, mesh):
        fine = self.fine
        if not fine.success:
            return None
        numbers = [fine.parameters[name] for name in self.problem.unknown_names]
        return fine.nodal_state, fine.fields, numbers, fine.objective

    def errors_of_numbers(self, sol, objective, numbers):
        """Of the unknown numbers; the objective is that of all phases."""
        errors = super().errors_of_numbers(sol, objective, numbers)
        return {name: error for name, error in errors.items() if name != "objective"}


def solve_refined(task, meshes, solve_on):
    """Solve on finer and finer meshes until the estimated error is below a tolerance.

    The error is the largest of the relative errors of states at nodes and unknown numbers of all phases, and of the sum
    of their costs. Phases whose own errors are small keep their meshes.

    Parameters
    ----------
    task : Task
        With `tolerance`.
    meshes : list of TimeMesh
        To start from.
    solve_on : callable
        `solve_on(task, meshes, guess)` -> PhasedSolution.

    Returns
    -------
    PhasedSolution
        Of the last meshes; `statistics` has "tolerance", "estimated_error", and "meshes", the numbers of elements.
    """
    phases, element = task.problem.phases, task.element
    tolerance = validate.real("tolerance", task.tolerance, positive=True)
    if not element.costates_converge:
        raise InputError(f"tolerance is given, but the multipliers of {element!r}, which give its error, do not "
                         "converge; take MixedGalerkin, or give n_elements")
    estimates = [PhaseErrors(phase, element) for phase in phases]
    counts, guess, error, n_failures = [], task.guess, np.inf, 0
    with progress("mesh refinement", show=task.progress) as bar:
        while len(counts) < OPTIONS.most_meshes and n_failures < OPTIONS.most_failures:
            bar.note(f"{sum(mesh.n_elements for mesh in meshes)} elements")
            sol = solve_on(task, meshes, guess)
            counts.append([mesh.n_elements for mesh in meshes])
            if not sol.success:
                meshes, guess, n_failures = [halved(mesh) for mesh in meshes], task.guess, n_failures + 1
                continue
            guess, fine, n_failures = sol, solve_on(task, [halved(mesh) for mesh in meshes], sol), 0
            found = []
            for estimate, own, better, mesh in zip(estimates, sol.phases, fine.phases, meshes, strict=True):
                estimate.fine = better
                found.append(estimate(own, mesh, OPTIONS.aim * tolerance))
            size = max(abs(sol.objective), NO_COST)
            of_cost = abs(fine.objective - sol.objective) / size / (1 - OF_OPTIMA.remaining)
            errors = [one.error for one in found]
            error = float(np.max([*errors, of_cost]))
            if error <= tolerance:
                break
            large = [e > OPTIONS.aim * tolerance or not max(errors) > tolerance for e in errors]
            meshes = [_finer(*one) if wanted else one[0]
                      for *one, wanted in zip(meshes, found, estimates, large, strict=True)]
    sol.statistics.update(tolerance=tolerance, estimated_error=error, meshes=counts)
    if sol.success and not error <= tolerance:
        sol.status = Status.failure(Reason.NOT_ACCURATE, 0, 0.0, [],
                                    f"the estimated error is {error:.2g} on {counts[-1]} elements")
    return sol


def _finer(mesh, found, estimate):
    if not found.error < OPTIONS.rough:
        return halved(mesh)
    return graded(mesh, found.density, max(found.n_elements, 1.2 * mesh.n_elements), estimate.kinks)
