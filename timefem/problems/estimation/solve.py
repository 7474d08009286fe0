"""Estimation solved."""

import time

import numpy as np

from ...elements.evaluation.nodal_values import NodalValues
from ...elements.evaluation.plan import ElementPlan
from ...progress import progress
from ...solvers.equations.outcome import Outcome
from ...solvers.nonlinear.interior_point import InteriorPoint
from ..common.statistics import solve_statistics
from .chain import EstimationChain, element_of
from .guess import first_guess
from .kinematic.solve import solve_kinematic
from .posterior import Posterior
from .program import EstimationProgram
from .solution import Estimate

TOLERANCE = 1e-9
POLISH = 2  # Gauss-Newton steps after the method for programs, by the matrix of the covariance


def solve_estimation(task):
    """Solve an estimation problem: a `Task` of `timefem.solve`.

    Returns
    -------
    Estimate
    """
    start, problem = time.perf_counter(), task.problem
    if problem.dynamics == "none":
        return solve_kinematic(task)
    mesh = task.mesh_through(problem.kinks, problem.kept)
    with progress("set-up of estimation", show=task.progress):
        element, system = element_of(problem, task.element)
        plan = ElementPlan(system, element)
        chain = EstimationChain(problem, plan, mesh)
        x = first_guess(task, chain)
    seconds = {"setup": time.perf_counter() - start}
    method = task.method or InteriorPoint(tolerance=TOLERANCE)
    with progress(f"estimation, {mesh.n_elements} elements", method.max_iterations, task.progress,
                  method.tolerance) as bar:
        program = EstimationProgram(chain, x, bar.step)
        answer = method.solve(program)
    v, posterior = answer.v, None
    if answer.status.success:
        for _ in range(POLISH):
            posterior = Posterior(program, v)
            v = v + posterior.step()
        posterior = Posterior(program, v)
    seconds["total"] = time.perf_counter() - start
    seconds["solve"] = seconds["total"] - seconds["setup"]
    values = NodalValues(*plan.unpack(program.place(v)))
    outcome = Outcome(values, answer.status, np.array([answer.iterations]), program.n + program.n_rows, seconds)
    statistics = solve_statistics(task.driver, method.name, mesh, outcome, objective=program.objective(v))
    found = Estimate.of(plan.system, plan.element, mesh.nodes, outcome.state[0, 0], values, answer.status, statistics)
    found.take(problem, program, v, posterior)
    return found
