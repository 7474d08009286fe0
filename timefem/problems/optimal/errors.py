"""Estimated errors of solutions of optimal control problems (see `timefem.problems.refinement`)."""

from dataclasses import replace

import numpy as np

from ...polynomials import gauss_legendre
from ...solvers.march.motion import size_of_motion
from ..refinement import (
    BETWEEN_NODES,
    HigherOrderErrors,
    density_of,
    halved,
    size_of_components,
    size_of_controls,
    surplus,
)
from ..task import Task
from .guesses.guess import from_solution
from .options import OPTIONS
from .strategies.mesh_sequence import optimality_plan, solve_optimal
from .strategies.switching_nodes import settled_at_best, switch_step
from .transcription.equations import OptimalityEquations
from .transcription.sizes import scaling_of

COSTATES = "costate of state", "costate of motion"  # whichever an element has is compared, beside the controls


def fields_between(sol):
    """Fields of a solution that are compared between nodes, by what reports call them: controls, if any, and costates.
    """
    fields = dict(zip(BETWEEN_NODES, ("controls", next(name for name in COSTATES if name in sol.fields)), strict=True))
    return {told: name for told, name in fields.items() if name in sol.fields}


def error_estimate(problem, element, task=None):
    """The `ErrorEstimate` of a problem, with bounds or without; solves for it take what the `Task` asks for, if any."""
    return BoundedErrors(problem, element, task) if problem.bounded else OptimalErrors(problem, element)


class OptimalErrors(HigherOrderErrors):
    """Of optimal control, with objective and unknown numbers; and those of controls and costates in the mean over time.

    The objective of the better solution is the value of the Lagrangian, in which the defects that one Newton step
    leaves count by the costates.
    """

    rough_guess, trust = False, 0.5

    def __init__(self, problem, element):
        super().__init__(problem, element)
        self.kinks = problem.kinks

    def prepare(self):
        self.plan = optimality_plan(self.problem, self.better)

    def assembled(self, sol, mesh):
        scale = scaling_of("full", self.problem, self.plan, mesh.nodes[0])
        equations = OptimalityEquations(self.problem, self.plan, mesh, scale)
        return equations, equations.with_end_costates(from_solution(self.problem, self.plan, mesh, sol))

    def compared(self, sol, mesh):
        equations, x = self.assembled(sol, mesh)
        y = equations.moved(x, equations.linear_step(equations.evaluate(x)), -1.0)
        before, after = self.fields(equations, x), self.fields(equations, y)
        defects = equations.scaled(y)[equations.dual] @ equations.evaluate(y)[equations.dual]
        objective = equations.objective(y) + equations.objective_size * defects
        errors = self.errors(sol, mesh, before, after) | self.errors_of_numbers(sol, objective, equations.numbers(y))
        xi, weights = gauss_legendre(self.better.degree)
        changes = [np.einsum("gi,eia->ega", self.plan.element.trial[name].basis.values(xi), after[name] - before[name])
                   for name in fields_between(sol).values()]
        return errors | self.errors_between(sol, mesh, changes, weights), self.density(sol, mesh, equations, x, after)

    def errors_of_numbers(self, sol, objective, numbers):
        """Relative changes of the objective and of the unknown numbers."""
        values = {"objective": (sol.objective, objective)}
        values |= {name: (sol.parameters[name], new)
                   for name, new in zip(self.problem.unknown_names, numbers, strict=True)}
        return {name: float(abs(new - old) / (abs(old) or 1.0)) for name, (old, new) in values.items()}

    def errors_between(self, sol, mesh, changes, weights):
        """Means over time of the changes of controls and costates, of shape (n_elements, n_points, n_components)."""
        sizes = self.sizes(sol)
        return {told: float(mesh.lengths @ (np.abs(v / sizes[name]).max(axis=2) @ weights) / mesh.lengths.sum())
                for (told, name), v in zip(fields_between(sol).items(), changes, strict=True)}

    def sizes(self, sol):
        """Sizes of state, controls and costates."""
        system, sizes = self.problem.system, {"state": size_of_motion(self.problem.system, sol.t, sol.z)}
        for name in fields_between(sol).values():
            values = sol.fields[name]
            sizes[name] = size_of_controls(system, values) if name == "controls" else size_of_components(
                system, values.reshape(-1, values.shape[-1]))
        return sizes

    def density(self, sol, mesh, equations, x, better):
        """Density of elements by what the better solution has beyond the polynomials of the element, a share of the
        size that is (h / length)^n by the power n of the polynomials, with a length of which all fields know."""
        lengths = []
        for name, size in self.sizes(sol).items():
            basis = self.plan.element.trial[name].basis
            lengths.append((surplus(better[name], basis) / size).max(axis=1) ** (1 / (basis.n_shapes - 1)))
        return density_of(mesh, np.max(lengths, axis=0), 1)


class BoundedErrors(OptimalErrors):
    """Of optimal control with inequalities, by the solution on the mesh with all elements halved.

    Which controls are at their bounds changes with the degree and with the mesh, so that one Newton step says nothing.
    Nor does mG(k + 1) tell all: where a control jumps within an element, it may leave the same error as mG(k). The
    error by a jump at the part x of an element of length h is about x (1 - x) h^2, and falls by the factor 2 at least;
    smooth errors fall by 2^(2k). Halves have nodes at the same switches: what other ones would gain is added.
    """

    gain = 0.0

    def __init__(self, problem, element, task=None):
        self._task = task
        super().__init__(problem, element)

    def prepare(self):
        pass

    def settled(self, mesh, sol, solve_on):
        """Nodes on the switches of controls, see `switching_nodes`."""
        mesh, sol, times, step = settled_at_best(self.problem.bounds, mesh, sol, solve_on,
                                                 lambda mesh, sol: switch_step(self.problem, self.element, mesh, sol))
        self.gain = step.gain
        return mesh, sol, times

    def finer(self, sol, mesh):
        """State, other fields, unknown numbers and objective on the mesh with all elements halved; None if it fails."""
        task = Task(self.problem, self.element, mesh=mesh, guess=sol)
        if self._task is not None:  # on one rank, all of which estimate the same
            own = self._task
            task = replace(task, method=own.method, newton=own.newton, progress=own.progress,
                           driver=None if own.driver.distributed else own.driver)
        _, _, outcome, numbers, objective = solve_optimal(task, halved(mesh))
        return (outcome.state, outcome.values.others, numbers, objective) if outcome.status.success else None

    def errors_of_numbers(self, sol, objective, numbers):
        """The same, with what other nodes on switches would gain."""
        errors = super().errors_of_numbers(sol, objective, numbers)
        return errors | {"objective": errors["objective"] + self.gain / (abs(sol.objective) or 1.0)}

    def compared(self, sol, mesh):
        found = self.finer(sol, mesh)
        if found is None:
            return {"state": np.nan}, 1 / mesh.lengths
        state, others, numbers, objective = found
        sizes, (xi, weights) = self.sizes(sol), gauss_legendre(self.better.degree)
        xi, weights = np.concatenate([xi, 1 + xi]) / 2, np.concatenate([weights, weights]) / 2
        change = state[1::2, -1] - sol.nodal.state[:, -1]
        errors = {"state": float(np.abs(change / sizes["state"]).max())}
        changes, shares, degree = {}, [], self.element.degree
        for name, fine in {"state": state, **others}.items():
            if name in sizes:
                basis, coarse = sol.element.trial[name].basis, {"state": sol.nodal.state, **sol.fields}[name]
                fine = np.einsum("gi,eia->ega", basis.values(2 * xi[:len(xi) // 2]), fine)
                fine, shapes = fine.reshape(len(coarse), len(xi), -1), basis.values(xi)
                changes[name] = fine - np.einsum("gi,eia->ega", shapes, coarse)
                # what the element cannot have, and not what comes from others
                own = fine - np.einsum("gh,eha->ega", shapes @ np.linalg.pinv(shapes), fine)
                shares.append(np.abs(own / sizes[name]).max(axis=(1, 2)) ** (1 / (degree + (name == "state"))))
        share = np.max(shares, axis=0)
        errors |= self.errors_of_numbers(sol, objective, numbers)
        errors |= self.errors_between(sol, mesh, [changes[name] for name in fields_between(sol).values()], weights)
        density = density_of(mesh, share, 1)
        # limits that come and go leave errors that do not fall as told: half of the elements are spread evenly
        density = np.maximum(density, (mesh.lengths @ density) / mesh.lengths.sum())
        return {name: error / (1 - OPTIONS.remaining) for name, error in errors.items()}, density
