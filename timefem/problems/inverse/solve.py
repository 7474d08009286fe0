"""Inverse dynamics solved."""

from dataclasses import replace

from ...errors import InputError, UnderResolved, warn
from ...solution.solution import Solution
from ..common.statistics import solve_statistics
from ..initial.drivers import run_driver
from ..initial.march_driver import March
from ..refinement.loop import solve_refined
from .constraints import as_controls
from .direct import follow
from .equations import check_element, solve_inverse
from .errors import InverseErrors


def solve_inverse_dynamics(task):
    """Solve a problem of inverse dynamics: a `Task` of `timefem.solve`.

    Returns
    -------
    Solution
        With the field "controls", and `statistics` "internal_eigenvalues" of the internal dynamics at the start.
    """
    problem, guess = task.problem, task.guess
    if problem.inversion.direct:
        return follow(task)
    if problem.marched is not None:
        return march(task)
    if isinstance(guess, str | list) or not (guess is None or callable(guess)):
        raise InputError(f"guess must be a function t -> z or a Solution, not {guess!r}")
    if isinstance(guess, Solution) and not guess.success:
        raise InputError(f"the guess is a solution that failed: {guess.status.message}")
    if task.tolerance is not None:
        return solve_refined(task, lambda element, mesh, last: _solve_on(task.on(element, mesh, last)), InverseErrors)
    return _solve_on(task.on(task.element, task.mesh_through((*problem.system.kinks, *problem.kinks))))


def march(task):
    """The `Solution` of a motion that its start settles, with outputs as constraints."""
    problem = task.problem
    if task.tolerance is not None or task.guess is not None:
        raise InputError("the motion goes on from its start, element by element: leave tolerance and guess out, and "
                         "give n_elements")
    check_element(problem, task.element)
    mesh = task.mesh_through((*problem.system.kinks, *problem.kinks))
    outcome = run_driver(replace(task, problem=problem.marched, mesh=mesh, n_elements=None,
                                 driver=March(keep_mesh=True), newton=None), mesh)
    if not outcome.status.success:
        state = outcome.state[-1, -1] if outcome.n_solved else problem.start
        try:
            problem.inversion.check(outcome.status.time, state)
        except InputError as error:
            outcome.status.message += f"; {error}"
    servo, multipliers, others = as_controls(problem, task.element, *outcome.values.arrays[1:])
    n = outcome.n_solved
    statistics = solve_statistics(task.driver, None, mesh, outcome, internal_eigenvalues=[])
    return Solution(problem.system, servo, mesh.nodes[:n + 1], problem.start, outcome.state, multipliers,
                    outcome.status, statistics, others)


def _solve_on(task):
    problem, mesh = task.problem, task.mesh
    servo, outcome = solve_inverse(task, mesh)
    n = outcome.n_solved
    eigenvalues = [[float(v.real), float(v.imag)] for v in problem.internal_eigenvalues]
    statistics = solve_statistics(task.driver, task.driver.linear.name, mesh, outcome,
                                  internal_eigenvalues=eigenvalues)
    if not outcome.status.success and problem.unstable and not problem.has_end:
        outcome.status.message += (f"; {problem.unstable} of {problem.internal} modes of the internal dynamics grow "
                                   "from the start on: give the state at the end, too")
    z0 = outcome.state[0, 0] if n else problem.start
    found = Solution.of(problem.system, servo, mesh.nodes[:n + 1], z0, outcome.values, outcome.status, statistics)
    if found.success and not problem.inversion.by_constraints:
        _warn_of_singular_positions(problem, found)
    return found


def _warn_of_singular_positions(problem, found):
    at = problem.inversion.first_singular(found.t, found.z)
    if at is not None:
        warn(f"the motion passes a singular position near t = {found.t[at]:g}, where the controls do not move "
             "all outputs at once: controls and motion are not to be trusted from there on, nor before it "
             "where the end counts; change the trajectories or the outputs", UnderResolved)
