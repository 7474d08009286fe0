"""Boundary-value problems solved several times: all solutions found, and one followed to a harder problem."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import interrupts, validate
from ..errors import InputError
from ..late import Late
from ..parallel import own_world
from ..problems.boundary.guess import interpolation
from ..problems.kinds import check_kind, kind_of
from ..problems.optimal.diagnosis.reach import Unreached
from ..problems.optimal.guesses.guess import starts
from ..problems.optimal.solve import solution_system
from ..progress import progress as progress_bar
from ..solution.solution import Solution
from ..solvers.interior_point.algorithm import NO_MINIMUM
from ..solvers.nonlinear.homotopy import follow
from ..status import Reason, Status
from .options import OPTIONS
from .solve import solve

if TYPE_CHECKING:
    from ..elements.element import TimeElement
    from ..problems.boundary.problem import BoundaryValueProblem
    from ..problems.optimal.problem import OptimalControl
    from .keywords import OfSeveral, OfSolve, Unpack


def solve_all(problem: BoundaryValueProblem | OptimalControl, element: TimeElement, n_elements: int | None = None, *,
              turns: int = 1, guesses: Sequence[Any] = (), n_starts: int | None = None, same: float = 1e-6,
              progress: bool | None = None, **arguments: Unpack[OfSeveral]) -> list[Solution]:
    """Several solutions of a boundary-value problem, from several guesses, or of optimal control, from many starts.

    Parameters
    ----------
    problem : BoundaryValueProblem or OptimalControl
        Of a boundary-value problem both signs of the quaternions at the end are tried.
    n_starts : int, optional
        Of optimal control: how many guesses are tried, the default one and others that are the same in each call:
        beside its motion, with waving controls, and with unknown numbers anywhere between their bounds where they have
        two; 8 unless given. Under mpirun the ranks share them, else processes do.
    turns : int
        Of boundary-value problems: guesses with further turns, both ways: up to twice that many full turns about the
        axis from one orientation to the other, and up to that many about each body axis.
    guesses : sequence
        Further ones, as for `solve`.
    same : float
        Solutions that differ by less, relative to their size, count as one.
    element, n_elements, progress, arguments
        As for `solve`; of optimal control also `processes`, as many as there are cores unless given.

    Returns
    -------
    list of Solution
        That differ, by increasing action of the kinetic energy (the integral of twice the kinetic energy); of optimal
        control by increasing cost, with the numbers of the starts that led there in `statistics["starts"]`, and those
        that led nowhere in `statistics["failed_starts"]`.

    Raises
    ------
    InputError
        For input that cannot be used, and arguments of the other kind of problem.
    """
    arguments["n_elements"], processes = n_elements, arguments.pop("processes", None)
    if kind_of(problem).name == "optimal":
        if guesses:
            raise InputError("guesses belong to boundary-value problems; optimal control takes n_starts")
        n_starts = validate.integer("n_starts", OPTIONS.starts if n_starts is None else n_starts, minimum=1)
        return solve_from_starts(problem, element, n_starts, same, processes, progress, arguments)
    check_kind(problem, "boundary")
    if n_starts is not None or processes is not None:
        raise InputError("n_starts and processes belong to optimal control; boundary-value problems take turns")
    validate.integer("turns", turns, minimum=0)
    found, trials = [], []
    for one in problem.windings():
        along = [interpolation(one, n) for n in range(-2 * turns, 2 * turns + 1, 2)]
        about = [interpolation(one, n, axis) for axis in range(3) for n in range(-turns, turns + 1) if n]
        trials += [(one, guess) for guess in (*along, *about, *guesses)]
    with progress_bar("guesses", len(trials), progress) as bar:
        for one, guess in trials:
            sol = solve(one, element, guess=guess, progress=progress, **arguments)
            if sol.success and not any(_alike(sol, other, same) for other in found):
                found.append(sol)
            bar.advance()
    return sorted(found, key=action)


def _alike(a, b, same):
    size = a.system.state_scale
    return np.abs((a.z - b.z) / size).max() <= same * np.abs(b.z / size).max() \
        and np.allclose(a.t[-1], b.t[-1], rtol=same)


def action(sol):
    """Integral of twice the kinetic energy of a solution, by the trapezoidal rule [J s]."""
    n = sol.system.n_q
    power = (sol.z[:, n:] * sol.system.velocity(sol.t, sol.z)).sum(axis=1)
    return float(((power[1:] + power[:-1]) / 2 * np.diff(sol.t)).sum())


def continuation(make: Callable[[float], BoundaryValueProblem], element: TimeElement, n_elements: int | None,
                 start: float, end: float, *, first_step: float = 0.25, least_step: float = 1e-3,
                 progress: bool | None = None, **arguments: Unpack[OfSolve]) -> Solution:
    """Follow a solution from an easy problem to a hard one.

    Parameters
    ----------
    make : callable
        `make(value)` -> BoundaryValueProblem, for instance with a longer time span, or other end states or numbers.
    element, n_elements, progress, arguments
        As for `solve`; `guess` is the one at the start.
    start, end : float
        Values to go from and to.
    first_step, least_step : float
        Shares of the distance from start to end. Steps grow after quick solves, and shrink after failures.

    Returns
    -------
    Solution
        At the end; or the last one reached, with `status` "not reached", which says how far it came.
        `statistics["continuation"]` lists the values that were solved.

    Raises
    ------
    InputError
        For input that cannot be used; refusals of single values end the way there.
    """
    start, end = validate.real("start", start), validate.real("end", end)
    validate.real("first_step", first_step, positive=True)
    values, refused, first_guess = [start], "", arguments.pop("guess", None)

    def solve_at(s: float, guess: Any) -> tuple[Solution | None, int]:
        nonlocal refused
        value = end if s == 1 else start + s * (end - start)
        try:
            found = solve(make(value), element, n_elements, guess=guess, progress=progress, **arguments)
        except InputError as error:
            refused = f"; at {value:g}: {error}"
            return None, 0
        refused = ""
        if found.success:
            values.append(value)
            bar.advance(round(100 * s) - bar.done)
        return (found if found.success else None), found.statistics["newton_iterations"]["max"]

    with progress_bar("continuation", 100, progress) as bar:
        problem = make(start)
        check_kind(problem, "boundary", f"make({start:g})")
        sol = solve(problem, element, n_elements, guess=first_guess, progress=progress, **arguments)
        if not sol.success:
            raise InputError(f"continuation: there is no solution at the start, {start:g}: {sol.status.message}")
        sol, s = follow(solve_at, sol, first_step, least_step)
    sol.statistics["continuation"] = values
    if s < 1:
        reached = start + s * (end - start)
        sol.status = Status.failure(Reason.NOT_REACHED, len(sol.t) - 2, sol.t[-2], [],
                                    f"on the way from {start:g} to {end:g} the continuation got as far as "
                                    f"{reached:g}{refused}")
    return sol


# ---- optimal control from many starts: the distinct minima, with their costs

multiprocessing = Late("multiprocessing")

task = None  # what the processes of a pool do, from before they part


def solve_from_starts(problem, element, n_starts, same, processes, progress, arguments):
    """Distinct solutions by increasing cost, see `solve_all`."""
    guesses, comm = starts(problem, n_starts), own_world()
    shared = comm is not None and comm.size > 1

    def solved(k):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Unreached)
            sol = solve(problem, element, guess=guesses[k], progress=False, **arguments)
        return k, (sol.t, sol.z[0], sol.nodal_state, sol.nodal_multipliers, sol.status, sol.statistics, sol.fields)

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
    return abs(a.objective - b.objective) <= same * max(abs(b.objective), 1e-9) and \
        np.abs((a.z - b.z) / size).max() <= same**OPTIONS.ill_determined
