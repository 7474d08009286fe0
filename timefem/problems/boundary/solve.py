"""Boundary-value problems solved: on one mesh, or on meshes that are found for a tolerance."""

from ...solution.audit import audits
from ..refinement.loop import solve_refined
from .errors import BoundaryErrors
from .solver import BoundarySolver


@audits
def solve_boundary(task):
    """Solve a boundary-value problem: a `Task` of `timefem.solve`."""
    problem = task.problem

    def solve_on(element, mesh, last):
        solver = BoundarySolver(problem, element, task.driver, task.newton, task.progress, task.kept)
        return solver.solve(mesh, task.guess if last is None else last)

    if task.tolerance is not None:
        return solve_refined(task, solve_on, BoundaryErrors)

    return solve_on(task.element, task.mesh_through(problem.system.kinks), None)
