"""Optimal control solved, and its entry in the table of kinds: strategies where needed, meshes that are refined, and
several solutions."""

import dataclasses
import os
import signal
from functools import partial

import numpy as np

from ... import interrupts, validate
from ...elements.part_numbers import with_carrier
from ...errors import InputError
from ...mechanics.numbers.map import with_values
from ...memory import Late
from ...parallel import own_world
from ...progress import progress as progress_bar
from ...solution.solution import Solution
from ...solvers.interior_point.algorithm import NO_MINIMUM
from ...solvers.nonlinear.newton import Newton
from ...solvers.nonlinear.program import method_for_inequalities
from ..controls_marched import OptimalSolution
from ..initial.global_driver import Global
from ..kinds import Kind, Several
from ..parameters import of_bodies
from ..statistics import OnDemand, largest_controls, solve_statistics, worst
from .guesses.guess import starts
from .options import OPTIONS
from .problem import OptimalControl
from .strategies.mesh_sequence import optimality_plan, solve_optimal
from .strategies.restated_ends import solved_as_stated
from .strategies.smoothed_kinks import solve_from_roots
from .strategies.strategy import named_strategies
from .transcription.sizes import has_contacts

refinement = Late("timefem.problems.refinement")
errors = Late(f"{__package__}.errors")

UNUSED = "tol_residual", "tol_increment"  # fields of Newton that problems with inequalities do not use


def solve_optimal_control(task):
    """Solve a problem of optimal control: a `Task` of `timefem.solve`.

    `method` is the one for inequalities, see `timefem.solvers.nonlinear.program`.

    Returns
    -------
    Solution
        With the fields "controls" and "costate of ...", `objective`, and `parameters` where numbers are unknown.
    """
    problem, element, linear = task.problem, task.element, task.driver.linear
    if isinstance(task.guess, str):
        raise InputError(f"guess must be a Guess, controls as {{actuator: value}}, a function t -> z, states or a "
                         f"Solution, not {task.guess!r}")
    task = dataclasses.replace(task, method=method_of(task))
    if problem.bounded:
        check_linear(linear, task.method)
    if task.tolerance is not None:
        if not element.costates_converge:
            raise InputError(f"tolerance is given, but the multipliers of {element!r}, which give its error, do not "
                             "converge; take MixedGalerkin, or give n_elements")
    return solved_as_stated(task, [task.problem], _solved,
                            lambda task, found: ([(task.problem, found)], task.problem.tied_ends),
                            lambda task, phases: dataclasses.replace(task, problem=phases[0]))


def _solved(task):
    if task.tolerance is not None:
        return refinement.solve_refined(task, lambda element, mesh, last: _solve_on(task.on(element, mesh, last)),
                                        partial(errors.error_estimate, task=task))
    problem = task.problem
    return _solve_on(task.on(task.element, task.mesh_through(problem.kinks, problem.kept)))


def method_of(task):
    """The method for inequalities of a `Task`, with the iterations of its `newton`.

    Raises
    ------
    InputError
        For tolerances of Newton's method where there are inequalities.
    """
    method, newton = method_for_inequalities(task.method), task.newton
    if newton is None:
        return method
    for name in UNUSED if task.problem.bounded else ():
        if getattr(newton, name) != getattr(Newton(), name):
            raise InputError(f"newton: {name} belongs to Newton's method, and problems with inequalities are solved by "
                             f"{method.name}; give method=timefem.{type(method).__name__}(tolerance=...)")
    return dataclasses.replace(method, max_iterations=newton.max_iterations)


def check_linear(linear, method):
    """Refuse linear solvers that a method for inequalities does not use."""
    if linear.name == "chain":
        return
    if not linear.distributed:
        raise InputError(f"backend={linear.name!r}: problems with bounds are solved by an interior-point method with "
                         "its own linear solver; leave backend out, or take 'petsc' to share the work among ranks")
    if not method.shared:
        raise InputError(f"backend={linear.name!r}: method={method.name!r} runs on one process; leave backend out, or "
                         "take method='interior-point'")
    if not linear.own_slabs:
        raise InputError("backend='petsc': the interior-point method shares its own factorisation by slabs of "
                         "elements, which counts the inertia; leave out methods and options of PETSc")


def _solve_on(task):
    return solve_from_roots(task, _solve_once)


def _solve_once(task):
    problem, driver = task.problem, task.driver
    found = solve_optimal(task, task.mesh)
    return solution_of(problem, driver, task.method.name if problem.bounded else driver.linear.name, task.mesh, found)


def solution_of(problem, driver, backend, mesh, found):
    """The `Solution`, of what `solve_optimal` found on a mesh."""
    element, system, outcome, numbers, objective = found
    parameters = dict(zip(problem.unknown_names, map(float, numbers), strict=True))
    statistics = solve_statistics(driver, backend, mesh, outcome, objective=objective, parameters=parameters)
    if np.isfinite(problem.bounds).any():
        statistics["control_bounds"] = [[x if np.isfinite(x) else None for x in row] for row in problem.bounds.tolist()]
    statistics["stated"] = OnDemand(lambda: problem.stated)
    if enters_parts(problem) and (outcome.status.success or not any(of_bodies(problem.numbers))):
        system = system_with_values(problem, element, parameters)
    t = problem.time(mesh.nodes, numbers / problem.units) if problem.free_time else mesh.nodes
    made = system, element, t, outcome.state[0, 0], outcome.values, outcome.status, statistics
    return OptimalSolution.of(*made).of_problem(problem)


def solution_system(problem, element, parameters):
    """Element and system of a `Solution` of a problem, with the numbers that were found."""
    plan = optimality_plan(problem, element)
    return plan.element, system_with_values(problem, plan.element, parameters) if enters_parts(problem) else plan.system


def enters_parts(problem):
    """Whether what is unknown stands in the parts of the system of a solution."""
    return bool(len(problem.numbers)) or any(part.durations for part in problem.system.parts)


def system_with_values(problem, element, parameters):
    """The system with unknown numbers of parts, and what carries them, at values by name."""
    return with_carrier(with_values(problem.system, problem.numbers, parameters), element)


multiprocessing = Late("multiprocessing")

task = None  # what the processes of a pool do, from before they part


def solve_all(solve, problem, element, *, n_starts, same, progress, arguments, **own):
    """Distinct solutions by increasing cost, see `timefem.solve_all`; of its `own` arguments guesses and processes."""
    guesses, processes = own["guesses"], own["processes"]
    n_starts = validate.integer("n_starts", OPTIONS.starts if n_starts is None else n_starts, minimum=not guesses)
    guesses, comm = [*starts(problem, n_starts), *guesses], own_world()
    n_starts, shared = len(guesses), comm is not None and comm.size > 1

    def solved(k):
        sol = solve(problem, element, guess=guesses[k], progress=False, **arguments)
        return k, (sol.t, sol.z[0], sol.nodal.state, sol.nodal.multipliers, sol.status, sol.statistics, sol.fields)

    with progress_bar("starts", n_starts, progress) as bar:
        if shared:
            found = [one for part in comm.allgather([solved(k) for k in range(comm.rank, n_starts, comm.size)])
                     for one in part]
        else:
            found = []
            for one in _side_by_side(solved, n_starts, processes):
                found.append(one)
                bar.advance()
                if interrupts.asked():
                    interrupts.answer()
                    break
    return _distinct(problem, element, sorted(found, key=lambda one: one[0]), same)


def _side_by_side(solved, n, processes):
    """Results in any order, by processes that share what was in memory before, as formulas cannot be sent."""
    global task
    processes = min(n, processes or os.cpu_count() or 1)
    yield solved(0)  # compiles
    if processes == 1 or n < 3 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(solved, range(1, n))
        return
    task = solved
    try:
        ended = signal.SIGTERM, signal.SIG_DFL  # by which a pool ends its processes, in silence
        with multiprocessing.get_context("fork").Pool(processes, signal.signal, ended) as pool:
            yield from pool.imap_unordered(_run, range(1, n))
    finally:
        task = None


def _run(k):
    return task(k)


def _distinct(problem, element, found, same):
    """Solutions that differ, with the numbers of the starts that led to each."""
    kept, failed = [], []
    for k, parts in found:
        t, z0, state, multipliers, status, statistics, fields = parts
        if not status.success or NO_MINIMUM in status.message:
            failed.append(k)
            continue
        optimality, system = solution_system(problem, element, statistics["parameters"])
        sol = Solution(system, optimality, t, z0, state, multipliers, status, statistics, fields)
        twin = next((other for other in kept if _same_minimum(sol, other, same)), None)
        if twin is None:
            sol.statistics["starts"] = [k]
            kept.append(sol)
        else:
            twin.statistics["starts"].append(k)
    for sol in kept:
        sol.statistics["failed_starts"] = failed
    return sorted(kept, key=lambda sol: sol.objective)


def _same_minimum(a, b, same):
    size = np.abs(b.z).max(axis=0) + 1e-6 * np.abs(b.z).max()
    apart = np.abs((a.z - b.z) / size).max()
    return apart <= same or (abs(a.objective - b.objective) <= same * max(abs(a.objective), abs(b.objective))
                             and apart <= same**OPTIONS.ill_determined)


def facts(problem, sol):
    return {"objective": sol.objective, "duration": float(sol.t[-1] - sol.t[0]),
            **{key: sol.statistics[key] for key in ("starts", "failed_starts", "parameters")}}


def row(f):
    return (f"{f['objective']:.8g}", f"{f['duration']:.8g}",
            ", ".join(f"{name} {value:.8g}" for name, value in f["parameters"].items()),
            ", ".join(map(str, f["starts"])))


SEVERAL = Several("n_starts", "starts", solve_all, facts, row=row, takes=("guesses", "processes"), noun="minima",
                  default=None, columns=("cost", "duration [s]", "found", "starts"))


def check_fits(problem, element):
    """Refuse numbers that nothing depends on, and elements that cannot solve a problem."""
    problem.check_numbers()
    problem.check_element(element)


def report_facts(problem, sol):
    """Objective, violations of the conditions by name, the numbers found and the largest controls."""
    found = sol.statistics  # of the last iterate, where the solve failed: the report says so
    numbers = [found["parameters"][name] for name in problem.unknown_names]
    unmet = np.abs(problem.conditions.values(sol.z[-1], numbers))
    return {"objective": float(found["objective"]), "conditions": worst(problem.conditions.names, unmet),
            "parameters": {name: float(value) for name, value in found["parameters"].items()},
            "controls": largest_controls(sol)}


OPTIMAL = Kind(
    "optimal", OptimalControl, "optimal control", drivers=(Global,), solve=solve_optimal_control,
    estimate=lambda problem, element: errors.error_estimate(problem, element), facts=report_facts,
    newton={"line_search": True, "max_iterations": OPTIONS.iterations},
    unused=lambda problem: (UNUSED * problem.bounded,
                            "where controls have bounds, with which an interior-point method deals"),
    changes=("start", "end", "t_span", "bounds"), fits=check_fits,
    files=f"{__package__}.files", strategies=named_strategies,
    smooth=lambda problem: not has_contacts(problem), several=__name__,
)
