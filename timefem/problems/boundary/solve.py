"""Boundary-value problems solved: on one mesh, or on meshes that are found for a tolerance."""

import numpy as np

from ...errors import UnderResolved, warn
from ...solution.audit import jump_of
from ..refinement.estimate import ErrorEstimate
from ..refinement.loop import solve_refined
from .solver import BoundarySolver


def solve_boundary(task):
    """Solve a boundary-value problem: a `Task` of `timefem.solve`."""
    problem = task.problem

    def solve_on(element, mesh, last):
        solver = BoundarySolver(problem, element, task.driver, task.newton, task.progress, task.kept)
        solver.tells = task.tolerance is None and task.kept.once  # many solves are to be quick
        return solver.solve(mesh, task.guess if last is None else last)

    if task.tolerance is not None:
        return solve_refined(task, solve_on, BoundaryErrors)

    solution = solve_on(task.element, task.mesh_through(problem.system.kinks), None)
    jump = jump_of(solution) if solution.success and task.kept.once else None  # many solves are to be quick
    if jump is not None:
        warn(f"the motion goes straight through '{jump.name}' at t = {jump.time:.3g}, which holds at the "
             "nodes, and not between them: take more elements, or a higher degree", UnderResolved)
    return solution


# ---- estimated errors of boundary-value problems

class BoundaryErrors(ErrorEstimate):
    """Of boundary-value problems, with the unknown numbers relative to their guesses."""

    def prepare(self):
        self.solver = BoundarySolver(self.problem, self.better)
        self.plan = self.solver.form.plan

    def assembled(self, sol, mesh):
        x = self.solver.from_solution(sol, mesh)
        return self.solver.form.equations(mesh, x), x

    def errors(self, sol, mesh, before, after):
        errors, form = super().errors(sol, mesh, before, after), self.solver.form
        if form.n_unknown:
            change = (after["constants"] - before["constants"])[0, 0] / form.sizes
            errors |= dict(zip(self.problem.unknown_names, np.abs(change[:form.n_unknown]).tolist(), strict=True))
        return errors
