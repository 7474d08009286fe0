"""Optimal control: from a coarse mesh to the given one."""

import time
from dataclasses import replace

import numpy as np

from ....assembly import TimeMesh
from ....elements.evaluation.plan import ElementPlan
from ....elements.extended import Controlled, Optimality
from ....elements.part_numbers import WithConstants
from ....errors import InputError
from ....mechanics.numbers.records import made_of
from ....memory import Late
from ....parallel import own_world
from ....progress import progress
from ....solvers.equations.outcome import NodalValues, Outcome
from ....solvers.nonlinear.newton import Newton
from ....solvers.nonlinear.program import SlabProgram, after, method_for_inequalities
from ....status import FINAL, RETRY, Reason, Status
from ...initial.global_driver import Global
from ...parameters import parts_with_unknowns
from ..diagnosis.between_points import WatchedTurns
from ..diagnosis.reach import check_reach, guess_in_reach, note_held
from ..guesses.guess import from_solution, is_warm, prolonged
from ..options import OPTIONS
from ..transcription.equations import OptimalityEquations
from ..transcription.nonlinear_program import OptimalProgram
from ..transcription.sequence_program import Closing, SequenceProgram
from ..transcription.sizes import is_in_units, scaling_of, with_objective
from .smoothing_path import needs_all_elements, solve_in_stages
from .strategy import FIRST_GUESS, Run, marched_steps, named_strategies, otherwise

over_ranks = Late("timefem.problems.optimal.transcription.equations")
saddle_point = Late("timefem.solvers.nonlinear.saddle_point")


def optimality_element(problem, element):
    """The element of the optimality system, and the system with what that needs."""
    problem.check_element(element)
    element, system, n = Controlled(element), problem.system, len(problem.unknown_names)
    if n:
        element = WithConstants(element, n, problem.free_time, problem.t_span[0], problem.begins_with)
        parts = parts_with_unknowns(system, problem.numbers, n, problem.length)
        system, whole = made_of(system, parts), system
        system.complete, system.kept, system.dropped = whole.complete, whole.kept, whole.dropped
    return Optimality(element), system


def optimality_plan(problem, element):
    """The plan of the optimality system, kept as long as the problem lives: the numbers of its parts do not change."""
    return problem.kept.thing(("plan", element), problem,
                              lambda: ElementPlan(*optimality_element(problem, element)[::-1]))


class OneMesh:
    """Solves of one optimal control problem, each on one of its meshes.

    Parameters
    ----------
    task : Task
    driver : Global
    method : a method for inequalities
    plan : ElementPlan
        Of the optimality system.
    scale : Scaling
    levels : list of TimeMesh
        All meshes, from coarse to fine.

    Attributes
    ----------
    iterations : int
        Of all solves so far.
    seconds : dict
        What they took.
    certain : bool
        Whether the last one showed that no other way leads to a solution.
    unresolved : str
        What a motion under the controls of a first step does that these elements do not resolve; empty where they do.
    unreached : str
        What no actuator moves at the guess; empty where there is no such thing.
    attempts : list of dict
        What was tried so far, see `Attempt`.
    """

    def __init__(self, task, driver, method, plan, scale, levels):
        self.problem, self._show, self._element = task.problem, task.progress, task.element
        self.plan, self._scale, self._levels = plan, scale, levels
        self.comm = own_world() if driver.distributed else None
        self.kept, size = task.kept, levels[-1].n_elements
        if self.kept.once and (size <= OPTIONS.many_elements or size * plan.columns.step**2 <= OPTIONS.kept_numbers):
            self.kept = task.problem.kept
        self._newton, self._method = task.newton or Newton(max_iterations=OPTIONS.iterations), method
        if task.newton and not task.problem.bounded:  # a limit that is given holds for all that is tried
            self._method = replace(method, max_iterations=min(method.max_iterations, task.newton.max_iterations))
        # the interior-point method has factors of its own
        self._linear = "chain" if task.problem.bounded else driver.linear
        self._linear_here = "chain" if driver.distributed else self._linear
        self.seconds, self.iterations, self.certain = dict.fromkeys(("setup", "assemble", "solve"), 0.0), 0, False
        self.unresolved = self.unreached = ""
        self.attempts = []
        self.begin(FIRST_GUESS, "")

    def begin(self, name, why):
        """Further solves belong to a strategy, which applied for this reason."""
        self.attempts = [attempt for attempt in self.attempts if attempt["iterations"]]
        self.attempts.append({"name": name, "why": why, "iterations": 0, "outcome": "", "cost": None})

    def __call__(self, level, x, hold=False, near=False, problem=None):
        """Solve on a mesh from a guess x of all unknowns.

        Parameters
        ----------
        hold : bool
            Whether unknown numbers stay at their guesses.
        near : bool
            Whether the guess is close to the solution.
        problem : OptimalControl, optional
            One with another range of durations.

        Returns
        -------
        equations
        x : ndarray
        status : Status
        """
        problem = problem or self.problem
        shared = level.n_elements > OPTIONS.coarse and self.comm is not None and \
            self.comm.size * self.plan.element.elements_per_block <= level.n_elements and \
            not (problem.bounded and needs_all_elements(self.plan.element, problem.limits))
        equations = self._equations(level, problem, hold, shared)
        most, goal = (self._method.max_iterations, self._method.tolerance) if problem.bounded else \
            (self._newton.max_iterations, saddle_point.SMALL)
        with progress(f"optimal control, {level.n_elements} elements", most, self._show, goal) as bar:
            if problem.bounded:
                x, status, n = self._within_bounds(equations, x, level, near, shared, bar)
            else:
                x, status, n = self._by_newton(equations, x, level, hold, near, bar)
        if status.success and problem.free_time and \
                equations.numbers(equations.take(x))[0] < 2 * OPTIONS.shortest * problem.units[0]:
            status = Status.failure(Reason.NOT_CONVERGED, None, None, (), "the duration shrank to nothing",
                                    remedy="give it a lower bound, and a guess")  # no motion: sizes have no meaning
        if self.unresolved and status.reason in RETRY:
            status = replace(status, message=f"{status.reason}: {self.unresolved}")
        self.count(n)
        self.attempts[-1] |= {"outcome": status.outcome,
                              "cost": float(equations.objective(equations.take(x))) if status.success else None}
        for name, value in equations.seconds.items():
            self.seconds[name] += value
        return equations, x, status

    def count(self, n):
        """So many iterations were taken."""
        self.iterations += n
        self.attempts[-1]["iterations"] += n

    def all_equations(self, level):
        """The equations of all elements, on this rank."""
        return self._equations_here(level, self.problem, False, self._linear_here)

    def take_size_of_objective(self, level, x):
        """Take the objective over its size at unknowns x."""
        if self._scale.name == "full" and not is_in_units(self.problem):
            size = self.kept.thing("size of the objective", self.plan,
                                   lambda: self.all_equations(level).size_of_objective(x))
            self._scale = with_objective(self._scale, size)

    @property
    def spent(self):
        """Whether all iterations of the method were taken."""
        return self._left <= 0

    @property
    def _left(self):
        return self._method.max_iterations - self.iterations

    def _place(self, level):
        return sum(level.n_elements <= other.n_elements for other in self._levels)  # 1 for the last

    def _equations(self, level, problem, hold, shared):
        if shared and problem.bounded:
            return over_ranks.OptimalitySlab((problem, self.plan, level, self._scale), self.comm)
        if shared:
            return over_ranks.DistributedOptimalityEquations(problem, self.plan, level, self._scale, self._linear,
                                                             comm=self.comm)
        return self._equations_here(level, problem, hold, self._linear)

    def _equations_here(self, level, problem, hold, linear):
        return self.kept.thing(("equations", self._place(level), hold, linear == "chain"), self.plan,
                               lambda: OptimalityEquations(problem, self.plan, level, self._scale, linear, hold,
                                                           again=not self.kept.once),
                               lambda equations: equations.renew_for(problem, level, self._scale))

    def _within_bounds(self, equations, x, level, near, shared, bar):
        own, step = equations.take(x), WatchedTurns(bar.step, self.plan, self.problem.free_time)
        program = self.kept.thing(("program", self._place(level)), equations,
                                  lambda: OptimalProgram(equations, own, step, near),
                                  lambda program: program.again(own, step, near))
        if not shared:
            step.watch(program)
        whole, couplings = program, equations.problem.couplings
        if couplings:
            ends = equations.problem.symbols_at(0), equations.problem.symbols_at(1)
            whole = SequenceProgram([program], (), Closing(couplings, ends, self.comm if shared else None), step)
        if shared:
            whole = SlabProgram(whole, equations.slab, whole.outside, equations.first_own, self.comm)
        answer = solve_in_stages(after(self._method, self.iterations), whole, equations.problem.limits, self._element)
        self.certain = answer.status.reason == Reason.INFEASIBLE and whole.has_linear_rows()
        found = whole.placed(answer.v, answer.multipliers) if shared else (answer.v, answer.multipliers)
        found = program.within_bounds(found[0]), found[1]
        return equations.gather(program.place(*found)), answer.status, answer.iterations

    def _by_newton(self, equations, guess, level, hold, near, bar):
        fine, at_last = level.n_elements > OPTIONS.coarse, level is self._levels[-1]
        small = saddle_point.SMALL if at_last else OPTIONS.rough_residual
        find = saddle_point.solve_saddle if fine else saddle_point.solve_minimum
        most = max(1, min(self._newton.max_iterations, self._left))
        few = min(OPTIONS.few_steps, most)
        if self.unresolved:
            most = few = min(OPTIONS.marched_steps, most)
        settings = replace(self._newton, max_iterations=most if fine else few)
        x, status = find(equations, equations.take(guess), settings, bar.iteration, small)
        x, n = equations.gather(x), len(status.residual_history) - 1
        again = status.reason in RETRY and (status.reason != Reason.SINGULAR_TANGENT or n == 0)  # where it begins
        if not again or fine or hold or few < OPTIONS.few_steps or self.unresolved:
            return x, status, n
        step = WatchedTurns(bar.step, self.plan, self.problem.free_time)
        program = OptimalProgram(equations, guess, step, near)  # which bends the Hessian as needed
        step.watch(program)
        answer = after(self._method, self.iterations + n).solve(program)
        n += answer.iterations
        if answer.status.success or answer.status.reason in (Reason.UNBOUNDED, Reason.NOT_FINITE):
            return program.place(answer.v, answer.multipliers), answer.status, n
        if most > n:
            more = replace(self._newton, max_iterations=most - n)
            x, status = find(equations, equations.take(x), more, bar.iteration)
            x, n = equations.gather(x), n + len(status.residual_history) - 1
        return x, status, n


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
    start, problem, driver = time.perf_counter(), task.problem, task.driver or Global()
    strategies = named_strategies(task.strategies)
    if problem.system.n_constraints and getattr(task.element, "multipliers", "") == "continuous":
        raise InputError("optimal control takes multipliers='discontinuous': continuous ones would have to be "
                         "prescribed at the start, where they depend on the controls")
    with progress("set-up of optimal control", show=task.progress):
        plan = optimality_plan(problem, task.element) if task.kept.once else \
            task.kept.plan(*optimality_element(problem, task.element)[::-1])
    scale = scaling_of(driver.scaling, problem, plan, mesh.nodes[0])
    method, warm, levels = method_for_inequalities(task.method), is_warm(problem.system, plan, task.guess), [mesh]
    if not (warm or (problem.bounded and not (method.warm_starts and mesh.n_elements > OPTIONS.many_elements))):
        levels = meshes(mesh)
    solve, equations, before, x = OneMesh(task, driver, method, plan, scale, levels), None, None, None
    solve.seconds["setup"] = time.perf_counter() - start
    for level in levels:
        near = warm or x is not None
        if x is not None:
            dofs = equations.dofs(x)
            x = np.concatenate([prolonged(plan, before, level, plan.columns.unpack(dofs)), x[len(dofs):]])
        else:
            x = _start(task, solve, level, warm)
            if solve.unresolved and level is not mesh:
                x = None
                continue
        before = level
        equations, found, status = solve(level, x, near=near)
        if status.reason == Reason.SINGULAR_TANGENT and warm and \
                note_held(problem, check_reach(solve.all_equations(level), x, quiet=True)):
            equations, found, status = solve(level, x, near=near)
        if status.success and equations.comm is None and equations.broken(found) > OPTIONS.uncontrolled:
            problem.held = None  # a symmetry of the guess that the best motion has not
            equations, found, status = solve(level, found, near=near)
        alone = equations.comm is None or problem.bounded
        clear = near or solve.certain or solve.unresolved or solve.spent
        if _failed(status) and task.guess is None and not clear and alone:
            with progress("optimal control, another way", 3, task.progress) as bar:
                rescued = otherwise(Run(solve, level), strategies, bar)
            if rescued and (rescued[2].reason != Reason.NOT_FOUND or status.reason == Reason.NOT_CONVERGED):
                equations, found, status = rescued
        x = None if _failed(status) and level is not mesh else found  # a finer mesh may do; a stop ends it at once
    solve.seconds["total"] = time.perf_counter() - start
    outcome = Outcome(NodalValues(*plan.unpack(equations.dofs(x))), status, np.array([solve.iterations]),
                      equations.n_unknowns_of_all, solve.seconds,
                      n_ranks=equations.comm.size if equations.comm else 1,
                      backward_error=equations.backward_error, ordering=equations.linear.ordering,
                      per_rank=equations.per_rank, attempts=solve.attempts)
    x = equations.take(x)
    numbers, (t0, t1) = equations.numbers(x), problem.t_span
    if problem.free_time and not status.success and numbers[0] > OPTIONS.runaway * (t1 - t0):
        status.message += f"; the duration grew to {numbers[0]:.3g} s: give it an upper bound, or let it cost something"
    if not status.success and solve.unreached:
        status.message += f"; {solve.unreached}"
    if not status.success and len(solve.attempts) > 1:
        status.message += "; tried: " + ", ".join(f"{a['name']} ({a['iterations']} iterations, {a['outcome']})"
                                                  for a in solve.attempts)
    return plan.element, plan.system, outcome, numbers, equations.objective(x)


def _failed(status):
    """Whether another start may help."""
    return not status.success and status.reason not in FINAL


def _start(task, solve, level, warm):
    """All unknowns to start from, without inequalities by a solution for numbers that are held at their guesses."""
    problem = task.problem
    with progress("guess of optimal control", show=task.progress):
        x = from_solution(problem, solve.plan, level, task.guess) if warm else guess_in_reach(solve, level, task.guess)
    if not warm:
        x, solve.unresolved, n = marched_steps(solve.all_equations(level), x)
        solve.count(n)
    solve.take_size_of_objective(level, x)
    if problem.unknown_names and not (problem.bounded or warm):
        _, x, _ = solve(level, x, hold=True)
    return x


def meshes(mesh):
    """Meshes of which each is part of the next one, the given one last."""
    levels = [mesh]
    while levels[-1].n_elements > OPTIONS.coarse:
        nodes = levels[-1].nodes
        stride = min(OPTIONS.mesh_ratio, -(-levels[-1].n_elements // OPTIONS.coarse))
        levels.append(TimeMesh(np.append(nodes[:-1:stride], nodes[-1])))
    return levels[::-1]
