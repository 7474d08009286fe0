"""Estimation solved."""

import time

import numpy as np

from ...elements.augmented.part_numbers import with_carrier
from ...elements.evaluation.nodal_values import NodalValues
from ...errors import InputError
from ...mechanics.numbers.unknown import with_values
from ...parallel import own_world
from ...progress import progress
from ...solvers.equations.outcome import Outcome
from ..common.statistics import solve_statistics
from .dynamic.search import Search
from .estimate.solution import Estimate
from .estimate.verdict import suspicions_of_failure
from .kinematic.solve import solve_kinematic
from .options import DEFAULTS


def no_estimate(problem, element):
    """InputError: there is no `ErrorEstimate` of estimated motions."""
    raise InputError("tolerance= does not find the errors of estimated motions; give n_elements, and compare with "
                     "twice as many")


def solve_estimation(task):
    """Solve an estimation problem: a `Task` of `timefem.solve`.

    Returns
    -------
    Estimate
    """
    start, problem = time.perf_counter(), task.problem
    if task.tolerance is not None:
        no_estimate(problem, task.element)
    check_linear(task.driver)
    if problem.dynamics == "none":
        return solve_kinematic(task)
    mesh = task.mesh_through(problem.kinks, problem.kept)
    with progress(f"estimation, {mesh.n_elements} elements", DEFAULTS.most_steps, task.progress, DEFAULTS.near) as bar:
        search = Search(task, bar, own_world() if task.driver.distributed else None)
        seconds = {"setup": time.perf_counter() - start}
        found = search(mesh)
        n_ranks = found.n_ranks
        found.leave_ranks()
    seconds["total"] = time.perf_counter() - start
    return estimate_of(task, problem, search, found, seconds, n_ranks)


def check_linear(driver):
    """Refuse linear solvers that estimation does not use."""
    linear = driver.linear
    if linear.name != "chain" and not (linear.distributed and linear.own_slabs):
        raise InputError(f"backend={linear.name!r}: estimation factors its chain itself; leave it out, or take 'petsc' "
                         "without methods and options to share the work among ranks")


def estimate_of(task, problem, search, found, seconds, n_ranks=1):
    """The `Estimate` of what a search found."""
    if not found.status.success:
        told = suspicions_of_failure(found)
        found.status.message = "; ".join([found.status.message, *told])
    program, plan, mesh = found.program, search.plan, found.chain.mesh
    seconds["solve"] = seconds["total"] - seconds["setup"]
    values = NodalValues(*plan.unpack(found.x))
    outcome = Outcome(values, found.status, np.array([search.iterations]), program.n + program.n_rows, seconds,
                      n_ranks=n_ranks)
    statistics = solve_statistics(task.driver, search.name, mesh, outcome, objective=found.cost)
    solution = Estimate.of(_system(problem, plan, found), plan.element, mesh.nodes, outcome.state[0, 0], values,
                           found.status, statistics)
    solution.take(problem, found)
    return solution


def _system(problem, plan, found):
    """The system with the numbers of parts that were found, where the solve succeeded."""
    if not len(problem.part_numbers) or not found.status.success:
        return plan.system
    numbers = np.clip(found.chain.nodal(found.x, "constants")[-1, -1], *problem.number_bounds)
    values = {u.name: float(numbers[u.places][0]) for u in problem.unknowns if u.sensor is None}
    return with_carrier(with_values(problem.system, problem.part_numbers, values), plan.element)
