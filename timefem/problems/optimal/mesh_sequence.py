"""Optimal control: from a coarse mesh to the given one."""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from ...assembly import Scaling, TimeMesh
from ...elements.augmented.constants import WithConstants
from ...elements.augmented.controlled import Controlled
from ...elements.augmented.optimality import Optimality
from ...elements.evaluation.nodal_values import NodalValues
from ...elements.evaluation.plan import ElementPlan
from ...errors import InputError
from ...parallel import own_world
from ...progress import progress
from ...solvers.equations.outcome import Outcome
from ...solvers.nonlinear.methods import method_for_inequalities
from ...solvers.nonlinear.newton import Newton
from ...solvers.nonlinear.saddle_point import SMALL, solve_minimum, solve_saddle
from ...solvers.nonlinear.slab_program import SlabProgram
from ..common.parameters import parts_with_unknowns
from ..initial.global_driver import Global
from .contact_stages import is_marched, solve_in_stages
from .controllability import HELD, check_reach
from .equations import OptimalityEquations
from .equations_over_ranks import DistributedOptimalityEquations, OptimalitySlab
from .guess import Guess, first_guess, from_solution, is_warm, prolonged
from .nonlinear_program import OptimalProgram
from .sequence_program import Closing, SequenceProgram
from .target_continuation import towards_the_target

MANY = 256  # elements from which on a problem with inequalities is solved on coarser meshes first
KEPT = 2e6  # numbers in the dense blocks of all elements, up to which equations stay as long as their problem lives
COARSE, RATIO = 64, 10  # elements of the coarsest mesh, and from one mesh to the next
ROUGH = 1e-9  # residual that will do on all meshes but the last: far below what a finer mesh changes
ITERATIONS = 200
BENDS = 0.1, 0.4  # of paths that are tried where the straight one fails [m or rad]
FEW = 60  # of the steps for equations alone, after which the interior-point method has a try


def optimality_element(problem, element):
    """The element of the optimality system, and the system with what that needs."""
    problem.check_element(element)
    element, system, n = Controlled(element), problem.system, len(problem.unknown_names)
    if n:
        element = WithConstants(element, n, problem.free_time, problem.t_span[0])
        parts = parts_with_unknowns(system, problem.numbers, n, problem.length)
        system, whole = system.of_parts(parts), system
        system.complete, system.kept, system.dropped = whole.complete, whole.kept, whole.dropped
    return Optimality(element), system


def optimality_plan(problem, element):
    """The plan of the optimality system, kept as long as the problem lives: the numbers of its parts do not change."""
    return problem.kept.thing(("plan", element), problem,
                              lambda: ElementPlan(*optimality_element(problem, element)[::-1]))


def solve_optimal(task, mesh):
    """Solve the `OptimalControl` problem of a `Task` on a mesh.

    Without inequalities the coarsest of a sequence of meshes is solved from the guess, with unknown numbers held at
    their guesses first, and each finer one from the one before, which takes one or two Newton steps. So are problems
    with inequalities and many elements, by methods that gain by a start near the solution.

    Returns
    -------
    element : TimeElement
        That of the optimality system, whose fields the outcome has.
    system : System
    outcome : Outcome
    numbers : ndarray
        Unknown numbers of the problem, with free time the duration first.
    objective : float
    """
    start, problem, element, guess, kept = time.perf_counter(), task.problem, task.element, task.guess, task.kept
    before, levels = None, [mesh]
    method, driver, settings = method_for_inequalities(task.method), task.driver or Global(), task.newton
    if problem.system.n_constraints and getattr(element, "multipliers", "") == "continuous":
        raise InputError("optimal control takes multipliers='discontinuous': continuous ones would have to be "
                         "prescribed at the start, where they depend on the controls")
    with progress("set-up of optimal control", show=task.progress):
        plan = optimality_plan(problem, element) if kept.once else \
            kept.plan(*optimality_element(problem, element)[::-1])
    element, system = plan.element, plan.system
    scale = Scaling.of(driver.scaling, system, element, mesh.nodes[0], problem.z0)
    seconds, iterations, x = {"setup": time.perf_counter() - start, "assemble": 0.0, "solve": 0.0}, 0, None
    equations, comm = None, own_world() if driver.distributed else None
    certain = False  # that no other way leads to a solution
    linear = "chain" if problem.bounded else driver.linear  # the interior-point method has factors of its own
    if kept.once and (mesh.n_elements <= MANY or mesh.n_elements * plan.columns.step**2 <= KEPT):
        kept = problem.kept
    if settings is not None:
        method = replace(method, max_iterations=settings.max_iterations)
    settings = settings or Newton(max_iterations=ITERATIONS)

    def place(level):
        return sum(level.n_elements <= other.n_elements for other in levels)  # 1 for the last

    def equations_on(level, problem, hold=False, linear=linear):
        return kept.thing(("equations", place(level), hold, linear == "chain"), plan,
                          lambda: OptimalityEquations(problem, plan, level, scale, linear, hold, again=not kept.once),
                          lambda equations: equations.renew_for(problem, level, scale))

    def solved(level, x, hold=False, near=False, problem=problem):
        nonlocal iterations, certain
        fine = level.n_elements > COARSE
        shared = fine and comm is not None and comm.size <= level.n_elements and not is_marched(problem.limits)
        if shared and problem.bounded:
            equations = OptimalitySlab((problem, plan, level, scale), comm)
        elif shared:
            equations = DistributedOptimalityEquations(problem, plan, level, scale, driver.linear, comm=comm)
        else:
            equations = equations_on(level, problem, hold)
        most, goal = (method.max_iterations, method.tolerance) if problem.bounded else (settings.max_iterations, SMALL)
        with progress(f"optimal control, {level.n_elements} elements", most, task.progress, goal) as bar:
            if problem.bounded:
                own = equations.take(x)
                program = kept.thing(("program", place(level)), equations,
                                     lambda: OptimalProgram(equations, own, bar.step, near),
                                     lambda program: program.again(own, bar.step, near))
                whole = program
                if problem.couplings:
                    ends = problem.symbols_at(0), problem.symbols_at(1)
                    closing = Closing(problem.couplings, ends, comm if shared else None)
                    whole = SequenceProgram([program], (), closing, bar.step)
                if shared:
                    whole = SlabProgram(whole, equations.slab, whole.outside, equations.first_own, comm)
                answer = solve_in_stages(method, whole, problem.limits)
                certain = answer.status.reason == "infeasible" and whole.has_linear_rows(answer.v)
                found = whole.placed(answer.v, answer.multipliers) if shared else (answer.v, answer.multipliers)
                x, status, n = equations.gather(program.place(*found)), answer.status, answer.iterations
            else:
                find, guess = solve_saddle if fine else solve_minimum, x
                few = replace(settings, max_iterations=min(FEW, settings.max_iterations))
                small = SMALL if level is mesh else ROUGH
                x, status = find(equations, equations.take(x), settings if fine else few, bar.iteration, small)
                x, n = equations.gather(x), len(status.residual_history) - 1
                if status.reason == "not converged" and not (fine or hold) and few.max_iterations == FEW:
                    program = OptimalProgram(equations, guess, bar.step, near)  # which bends the Hessian as needed
                    answer = method.solve(program)
                    n += answer.iterations
                    if answer.status.success or answer.status.reason == "unbounded":
                        x, status = program.place(answer.v, answer.multipliers), answer.status
                    elif settings.max_iterations > n:
                        more = replace(settings, max_iterations=settings.max_iterations - n)
                        x, status = find(equations, equations.take(x), more, bar.iteration)
                        x, n = equations.gather(x), n + len(status.residual_history) - 1
        iterations += n
        for name, value in equations.seconds.items():
            seconds[name] += value
        return equations, x, status

    warm = is_warm(problem.system, plan, guess)
    if not (warm or (problem.bounded and not (method.warm_starts and mesh.n_elements > MANY))):
        levels = meshes(mesh)
    for level in levels:
        near = warm or x is not None
        if x is not None:
            dofs = equations.dofs(x)
            x = np.concatenate([prolonged(plan, before, level, plan.columns.unpack(dofs)), x[len(dofs):]])
        else:
            with progress("guess of optimal control", show=task.progress):
                local = partial(equations_on, level, problem, linear="chain" if driver.distributed else linear)
                if warm:
                    x = from_solution(problem, plan, level, guess)
                else:
                    x = _checked_guess(problem, plan, level, local, guess, kept)
            if problem.unknown_names and not problem.bounded and not warm:
                _, x, status = solved(level, x, hold=True)
        start_x, before = x, level
        equations, found, status = solved(level, x, near=near)
        if status.reason == "singular tangent" and warm and _holds(problem, check_reach(local(), x, quiet=True)):
            equations, found, status = solved(level, x, near=near)
        if status.success and comm is None and equations.broken(found) > HELD:
            problem.held = None  # a symmetry of the guess that the best motion has not
            equations, found, status = solved(level, found, near=near)
        failed = not status.success and status.reason not in ("stopped", "unbounded")
        if failed and guess is None and not (near or certain) and (comm is None or problem.bounded):
            rescued = _otherwise(problem, plan, level, solved, start_x, task.progress)
            equations, found, status = rescued or (equations, found, status)
        x = None if failed and level is not mesh else found  # a finer mesh may do; after a stop it stops at once
    seconds["total"] = time.perf_counter() - start
    values = NodalValues(*plan.unpack(equations.dofs(x)))
    outcome = Outcome(values, status, np.array([iterations]), equations.n_unknowns_of_all, seconds,
                      n_ranks=equations.comm.size if equations.comm else 1,
                      backward_error=equations.backward_error, ordering=equations.linear.ordering)
    x = equations.take(x)
    return element, system, outcome, equations.numbers(x), equations.objective(x)


def _checked_guess(problem, plan, level, make, guess, kept):
    """All unknowns to start from, from which the targets are in reach."""
    if guess is None:
        known, nodes, x, problem.held = kept.thing("guess", problem, lambda: (None,) * 4)
        if known is plan and np.array_equal(nodes, level.nodes):
            return x
    problem.held = None
    equations = make()
    x = first_guess(problem, plan, level, guess)
    bent = partial(first_guess, problem, plan, level, Guess(bend=BENDS[0]))
    found = check_reach(equations, x, bent)
    _holds(problem, found)
    if found.unmoved is not None:
        return bent() if guess is None else x
    if guess is None:
        kept.put("guess", problem, (plan, level.nodes, x, problem.held))
    return x


def _holds(problem, found):
    """Whether there are conditions that are met without actuators, which the problem takes note of."""
    if found.held.size and not problem.bounded:  # the interior-point method does without
        problem.held = found.held
    return problem.held is not None


def _otherwise(problem, plan, level, solved, x, show):
    """The solution by targets that move, or from bent paths, where the first guess fails; None if these do, too."""
    with progress("optimal control, another way", 3, show) as bar:
        if len(problem.conditions.combinations) and not problem.free_start:
            found = towards_the_target(lambda share, x: solved(level, x, problem=problem.towards(share)), x, bar)
            if found and found[2].success:
                return found
        for bend in BENDS:
            bar.note("from a bent path")
            found = solved(level, first_guess(problem, plan, level, Guess(bend=bend)))
            if found[2].success:
                return found
    return None


def meshes(mesh):
    """Meshes of which each is part of the next one, the given one last."""
    levels = [mesh]
    while levels[-1].n_elements > COARSE:
        nodes = levels[-1].nodes
        stride = min(RATIO, -(-levels[-1].n_elements // COARSE))
        levels.append(TimeMesh(np.append(nodes[:-1:stride], nodes[-1])))
    return levels[::-1]
