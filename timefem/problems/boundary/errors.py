"""Estimated errors of boundary-value problems."""

import numpy as np

from ..refinement.estimate import ErrorEstimate
from .solver import BoundarySolver


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
