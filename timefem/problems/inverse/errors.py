"""Estimated errors of inverse dynamics."""

import numpy as np

from ..common.kept import Kept
from ..initial.global_driver import Global
from ..refinement.estimate import ErrorEstimate, size_of_controls
from .equations import inverse_equations, inverse_plan


class InverseErrors(ErrorEstimate):
    """Of inverse dynamics, with the controls by the rows at the nodes, relative to the largest of their actuator."""

    rough_guess = False

    def prepare(self):
        self.kinks = (*self.kinks, *self.problem.kinks)
        self.plan = inverse_plan(self.problem, self.better, Kept())

    def assembled(self, sol, mesh):
        x = self.plan.columns.pack(*self.transferred(sol, mesh).values())
        return inverse_equations(self.problem, self.plan, mesh, Global()), x

    def errors(self, sol, mesh, before, after):
        if self.problem.inversion.by_constraints:
            return super().errors(sol, mesh, before, after)
        u, better = (self.problem.controls(mesh.nodes, np.concatenate([v["state"][:1, 0], v["state"][:, -1]]))
                     for v in (before, after))
        errors = super().errors(sol, mesh, before, after)
        return errors | {"controls": float(np.abs((better - u) / size_of_controls(self.problem.system, u)).max())}
