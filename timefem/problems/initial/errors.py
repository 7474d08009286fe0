"""Estimated errors of initial-value problems solved at once."""

from ...assembly import Scaling
from ...elements.evaluation.plan import ElementPlan
from ...solvers.equations.elements import ElementEquations
from ..refinement.estimate import ErrorEstimate


class InitialErrors(ErrorEstimate):
    """Of initial-value problems solved globally."""

    def prepare(self):
        self.plan = ElementPlan(self.problem.system, self.better)

    def assembled(self, sol, mesh):
        x = self.plan.columns.pack(*self.transferred(sol, mesh).values())
        scale = Scaling.of("full", self.problem.system, self.better, mesh.nodes[0], sol.z[0])
        return ElementEquations(self.plan, mesh, scale), x

    def dofs(self, equations, x):
        return x
