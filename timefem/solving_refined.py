"""Global solves to a tolerance, on meshes that are found on the way."""

import numpy as np

from . import validate
from .assembly import Scaling, TimeMesh
from .elements import ElementPlan, MixedGalerkin
from .problems import BoundaryValueProblem
from .solvers.boundary import transferred
from .solvers.chain_system import ChainSystem
from .solvers.refinement import SAFETY, defects, density_of, graded, halved, size_of_motion, surplus
from .solvers.status import Status
from .solving_boundary import BoundarySolver

START = 16  # elements of the first mesh
MOST_MESHES = 20
MOST_FAILURES = 6  # one after the other
STAGNATION = 2  # meshes on which the error stays as it is, by rounding, before this is given up
ROUGH = 0.1  # estimated error from which on a solution says nothing of where elements should be


def solve_refined(solve_on, problem, element, tolerance, n_elements=None, mesh=None):
    """Solve on finer and finer meshes until the estimated error is below a tolerance.

    Parameters
    ----------
    solve_on : callable
        `solve_on(element, mesh, guess)` -> Solution, with the solution before as guess, or None.
    problem : InitialValueProblem or BoundaryValueProblem
    element : TimeElement
    tolerance : float
        For the error at the nodes, relative to the size of the motion (see `size_of_motion`).
    n_elements, mesh : optional
        Where to start from; 16 elements unless given.

    Returns
    -------
    Solution
        Of the last mesh; `statistics` has "tolerance", "estimated_error" and "meshes", the numbers of elements.
    """
    tolerance = validate.real("tolerance", tolerance, positive=True)
    kinks = problem.system.kinks
    if mesh is None:
        mesh = TimeMesh.uniform(problem.t_span, START if n_elements is None else n_elements)
        mesh = graded(mesh, np.ones(mesh.n_elements), mesh.n_elements, kinks)
    estimate = ErrorEstimate(problem, element)
    meshes, guess, error, n_failures, n_stuck = [], None, np.inf, 0, 0
    if not isinstance(element, MixedGalerkin) or element.degree < 2:  # others need a better guess, and mesh, than mG(2)
        rough = solve_refined(solve_on, problem, MixedGalerkin(2), max(tolerance, ROUGH / 4), mesh=mesh)
        if rough.success:
            guess = rough
            mesh = TimeMesh(problem.t_span[0] + (rough.t - rough.t[0]) * (
                (problem.t_span[1] - problem.t_span[0]) / (rough.t[-1] - rough.t[0])))
    while len(meshes) < MOST_MESHES and n_failures < MOST_FAILURES:
        sol = solve_on(element, mesh, guess)
        meshes.append(mesh.n_elements)
        if not sol.success:
            mesh, guess, n_failures = halved(mesh), None, n_failures + 1
            continue
        guess, n_failures, before = sol, 0, error
        error, density, n = estimate(sol, mesh, SAFETY * tolerance)
        n_stuck += ROUGH > error > before / 2 and n > mesh.n_elements
        if error <= tolerance or n_stuck > STAGNATION:
            break
        mesh = graded(mesh, density, n, kinks) if error < ROUGH else halved(mesh)
    sol.statistics.update(tolerance=tolerance, estimated_error=float(error), meshes=meshes)
    if sol.success and not error <= tolerance:
        sol.status = Status.failure("not accurate", len(sol.t) - 2, sol.t[-2], [],
                                    f"the estimated error is {error:.2g} on {meshes[-1]} elements")
    return sol


class ErrorEstimate:
    """Estimated errors of solutions of a problem, by mG(k + 1) (see `solvers.refinement`).

    Parameters
    ----------
    problem : InitialValueProblem or BoundaryValueProblem
    element : TimeElement
    """

    def __init__(self, problem, element):
        self.problem, self.element, self.better = problem, element, MixedGalerkin(element.degree + 1)
        self.better.check(problem.system)
        if isinstance(problem, BoundaryValueProblem):
            self.solver = BoundarySolver(problem, self.better)
            self.plan = self.solver.form.plan
        else:
            self.plan = ElementPlan(problem.system, self.better)

    def __call__(self, sol, mesh, goal):
        """Error at the nodes, relative to the motion, and of unknown numbers, relative to their guesses;
        the density and number of elements for another error, `goal`.

        `mesh` is that of the solution, of the time span of the problem where the time is free.
        """
        system = self.problem.system
        if isinstance(self.problem, BoundaryValueProblem):
            form = self.solver.form
            x = self.solver.from_solution(sol, mesh)
            chain = form.chain(mesh, "full", "chain", None, x)
            dofs = x[form.n_before:len(x) - form.n_after]
        else:
            fields = {"state": sol.nodal_state, **sol.fields,
                      "multipliers": sol.nodal_multipliers[..., self.element.kept_multipliers(system)]}
            if fields["multipliers"].shape[-1] < system.n_multipliers:
                fields["multipliers"] = sol.nodal_multipliers
            sizes = {name: f.shape[1] for name, f in zip(self.better.trial, self.plan.columns.fields, strict=True)}
            fields = {name: v for name, v in fields.items() if v.shape[-1] == sizes.get(name)}
            values = transferred(fields, self.element, mesh, self.better, sizes, mesh)
            x = dofs = self.plan.columns.pack(*values.values())
            scale = Scaling.of("full", system, self.better, mesh.nodes[0], sol.z[0])
            chain = ChainSystem(self.plan, mesh, scale)
        size = size_of_motion(system, sol.z)
        step = chain.moved(np.zeros_like(x), chain.linear_step(chain.evaluate(x)), -1.0)
        if isinstance(self.problem, BoundaryValueProblem):
            step = step[form.n_before:len(x) - form.n_after]
        better = self.plan.columns.unpack(dofs + step)[0]
        error = float(np.abs(self.plan.columns.unpack(step)[0][:, [0, -1]] / size).max())
        if isinstance(self.problem, BoundaryValueProblem) and form.n_unknown:
            change = self.plan.columns.unpack(step)[list(form.full_element.trial).index("constants")][0, 0]
            error = max(error, float(np.abs(change / form.sizes)[:form.n_unknown].max()))
        order = self.element.order
        if self.element.can_march:
            own = np.abs(defects(self.plan, mesh, dofs) / size).max(axis=1)
            density = density_of(mesh, own, order + 1)
            equal = ((density * mesh.lengths).sum() / mesh.n_elements) ** (order + 1) * mesh.n_elements
            error_if_equal = error * min(1.0, equal / own.sum())
        else:
            own = (surplus(better, self.better.state.basis) / size).max(axis=1)
            density, error_if_equal = density_of(mesh, own, self.better.degree), error
        return error, density, mesh.n_elements * (error_if_equal / goal) ** (1 / order)
