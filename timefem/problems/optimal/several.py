"""Optimal control from many starts: the distinct minima, with their costs."""

import os
import signal
import warnings

import numpy as np

from ... import interrupts, validate
from ...late import Late
from ...parallel import own_world
from ...progress import progress as progress_bar
from ...solution.solution import Solution
from ...solvers.interior_point.algorithm import NO_MINIMUM
from ..common.kind import Several
from .diagnosis.reach import Unreached
from .guesses.guess import starts
from .options import OPTIONS
from .solve import solution_system

multiprocessing = Late("multiprocessing")

task = None  # what the processes of a pool do, from before they part


def solve_all(solve, problem, element, *, n_starts, processes, same, progress, arguments):
    """Distinct solutions by increasing cost, see `timefem.solve_all`."""
    n_starts = validate.integer("n_starts", OPTIONS.starts if n_starts is None else n_starts, minimum=1)
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


SEVERAL = Several("n_starts", "starts", solve_all, facts, row=row, takes=("processes",), noun="minima", default=None,
                  columns=("cost", "duration [s]", "found", "starts"))
