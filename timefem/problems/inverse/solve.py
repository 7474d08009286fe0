"""Inverse dynamics solved."""

import time
from dataclasses import replace

import numpy as np

from ...elements.augmented.controlled import Controlled
from ...elements.evaluation.nodal_values import NodalValues
from ...errors import InputError, UnderResolved, warn
from ...solution.solution import Solution
from ...solvers.equations.outcome import Outcome
from ...status import Reason, Status
from ..common.kept import Kept
from ..common.statistics import solve_statistics
from ..initial.drivers import run_driver
from ..initial.global_driver import Global
from ..initial.march_driver import March
from ..refinement.estimate import ErrorEstimate, size_of_controls
from ..refinement.loop import solve_refined
from .constraints import as_controls
from .equations import check_element, inverse_equations, inverse_plan, solve_inverse
from .options import OPTIONS


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


# ---- estimated errors of inverse dynamics

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


# ---- motions and controls where outputs settle the coordinates, time by time

def follow(task):
    """The `Solution` of a problem with a `DirectInversion`, with the field "controls"."""
    problem, element, start = task.problem, Controlled(task.element), time.perf_counter()
    task.element.check(problem.system)
    if task.tolerance is not None:
        raise InputError("tolerance is given, but the motion follows from the outputs at each time, without an error "
                         "of a mesh; give n_elements")
    if task.guess is not None:
        raise InputError("guess is given, but the motion follows from the outputs and the start; leave it out")
    inversion, n = problem.inversion, problem.system.n_q
    mesh = task.mesh_through((*problem.system.kinks, *problem.kinks))
    states, points = mesh.points(element.state.basis), mesh.points(element.trial["controls"].basis)
    moving = mesh.points(element.trial["velocity"].basis) if "velocity" in element.trial else np.zeros((0, 0))
    times, inverse = np.unique(np.concatenate([states.ravel(), points.ravel(), moving.ravel()]), return_inverse=True)
    m = inversion.n_forces
    z, rates = np.zeros((len(times), 2 * n)), np.zeros((len(times), n))
    u = np.zeros((len(times), m + sum(p.n_controls for p in problem.system.parts)))
    before, status, done = (problem.t_span[0], inversion.start(problem.start[:n]), None), Status(True), len(times)
    for i, t in enumerate(times):
        try:
            x = _reached(inversion, before, t)
            q, v, a = x[:, :n]
            z[i], rates[i], u[i] = inversion.state(t, q, v), v, inversion.forces(t, q, v, a)
        except InputError as error:
            e = max(int(np.searchsorted(mesh.nodes, t, "right")) - 1, 0)
            status, done = Status.failure(Reason.NOT_CONVERGED, e, t, [], detail=str(error)), i
            break
        before = t, x[0], x[1]
    solved = int((states[:, -1] <= times[done - 1]).sum()) if done else 0
    place = inverse.ravel()
    nodal = z[place[:states.size]].reshape(*states.shape, -1)[:solved]
    used = place[states.size:states.size + points.size]
    forces, controls = np.split(u[used].reshape(*points.shape, -1)[:solved], [m], axis=2)
    others = {"controls": controls}
    if moving.size:
        others["velocity"] = rates[place[states.size + points.size:]].reshape(*moving.shape, -1)[:solved]
    multipliers = np.concatenate([forces, np.zeros_like(forces)], axis=2)
    seconds = {"setup": 0.0, "assemble": 0.0, "solve": 0.0, "total": time.perf_counter() - start}
    n_unknowns = inversion.start(z[0, :n]).size
    outcome = Outcome(NodalValues(nodal, multipliers, others), status, np.zeros(0, int), n_unknowns, seconds)
    statistics = solve_statistics(task.driver, None, mesh, outcome, internal_eigenvalues=[])
    return Solution.of(problem.system, element, mesh.nodes[:solved + 1], problem.start, outcome.values, status,
                       statistics)


def _reached(inversion, before, t, depth=0):
    """Unknowns and their derivatives at the time t from those before: (time, unknowns, rates or None)."""
    t0, x, rate = before
    try:
        guess = x if rate is None else x + (t - t0) * rate
        return inversion.at(t, guess)
    except InputError:
        if depth == OPTIONS.most_halved or t == t0:
            raise
        middle = (t0 + t) / 2
        half = _reached(inversion, before, middle, depth + 1)
        return _reached(inversion, (middle, half[0], half[1]), t, depth + 1)
