"""Motions and controls where outputs settle the coordinates, time by time."""

import time

import numpy as np

from ...elements.augmented.controlled import Controlled
from ...elements.evaluation.nodal_values import NodalValues
from ...errors import InputError
from ...solution.solution import Solution
from ...solvers.equations.outcome import Outcome
from ...status import Reason, Status
from ..common.statistics import solve_statistics
from .options import OPTIONS


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
