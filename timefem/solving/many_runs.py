"""`Solver.solve_many`: many runs of a prepared problem, over threads, processes and ranks."""

import dataclasses
import os
import queue
import threading
import time
import warnings
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from .. import interrupts, validate
from ..assembly import Scaling
from ..elements.evaluation.plan import ElementPlan
from ..errors import InputError, NotSolved, UnderResolved, warn
from ..memory import Late
from ..parallel import world
from ..problems.initial.problem import fault
from ..progress import progress as progress_bar
from ..solution.audit import surely_resolved, turns_in_doubt, unresolved
from ..solution.ensemble import Ensemble
from ..solution.motion_checks import constraint_fault
from ..solution.solution import Solution
from ..solvers.equations.outcome import ValuesOfDofs
from ..solvers.march.march import Marcher, Runs
from ..solvers.nonlinear.newton import Newton
from ..status import REFUSED, Reason, Status
from ..validate import check_memory
from .agreement import OPTIONS

# ---- many runs of a prepared initial-value problem: numbers of all of them first, then marches in threads

def cores():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Model(NamedTuple):
    """What all runs share."""

    system: Any
    element: Any
    settings: Any  # of Newton's method
    scaling: str
    mesh: Any


def march_runs(model, n, case, n_workers, store, advance, kept):
    """March a system with many numbers.

    Parameters
    ----------
    model : Model
    n : int
        Number of runs.
    case : callable
        `case(i)` is the InitialValueProblem of run i, or a state at the start of the system of the model, or a text,
        what is wrong with its input; called in a thread.
    n_workers : int
        Threads.
    store : callable
        `store(numbers, states)` takes the states of some runs at all nodes, (n, n_elements + 1, n_z), NaN behind a
        failure.
    advance : callable
        Told the number of runs that are done.
    kept : Kept
        Of earlier runs.

    Returns
    -------
    reasons : list of str
        "converged", or why each run failed: "input: ...", of Newton's method, of the audit, "stopped".
    iterations : ndarray of int
        Of Newton's method, of all elements.
    reports : dict
        Run -> reports on what its elements do not resolve, if there are any.
    """
    reasons, iterations, stop, free = [Reason.STOPPED] * n, np.zeros(n, int), np.zeros(1, np.int64), queue.SimpleQueue()
    reports = {}
    keys = [("marcher", i, model.settings) for i in range(max(1, min(n_workers, n)))]
    for key in keys:
        marcher = kept.lend(key, model.mesh)
        if marcher is None or not marcher.plan.take(model.system):
            marcher = Marcher(ElementPlan(model.system, model.element), model.mesh, model.settings)
        free.put(marcher)

    lock = threading.Lock()

    def work(piece):
        marcher = free.get()
        try:
            with lock:
                return _march_piece(model, marcher, [_row(model, marcher.plan, case(i)) for i in piece], stop, lock)
        finally:
            free.put(marcher)

    pieces = [range(k, min(k + OPTIONS.runs_of_a_thread, n)) for k in range(0, n, OPTIONS.runs_of_a_thread)]
    with futures.ThreadPoolExecutor(free.qsize()) as pool:
        at_once, open_ = 2 * free.qsize(), {}
        for piece in pieces[:at_once]:
            open_[pool.submit(work, piece)] = piece
        pieces = pieces[at_once:]
        while open_:
            done = futures.wait(open_, timeout=0.2, return_when=futures.FIRST_COMPLETED)[0]
            if interrupts.asked():  # the runs that are under way stop, too
                interrupts.answer()
                stop[0] = 1
                pieces.clear()
            for future in done:
                piece = open_.pop(future)
                if pieces:
                    following = pieces.pop(0)
                    open_[pool.submit(work, following)] = following
                states, found, told = future.result()
                reports |= {piece[k]: texts for k, texts in told.items()}
                for i, (reason, count) in zip(piece, found, strict=True):
                    reasons[i], iterations[i] = reason, count
                store(piece, states)
                advance(len(piece))
    for key in keys:
        kept.put(key, model.mesh, free.get())
    return reasons, iterations, reports


def _march_piece(model, marcher, rows, stop, lock):
    """States (n, n_elements + 1, n_z) of some runs, the reason and the iterations of each, and reports by run."""
    nodes, reports = model.mesh.nodes, {}

    def look(k, row, x):
        if surely_resolved(marcher.plan, row.system, nodes, x):
            return
        values = ValuesOfDofs(marcher.plan, x, model.mesh.n_elements)
        motion = Solution.of(row.system, model.element, nodes, row.z, values, Status(True), {})
        reports[k] = unresolved(motion, cut=True, counted=False)

    states = np.full((len(rows), model.mesh.n_elements + 1, model.system.n_z), np.nan)
    found = [(row, 0) if isinstance(row, str) else None for row in rows]
    for emphasized in (False, True):
        own = [k for k, row in enumerate(rows) if not isinstance(row, str)
               and (row.scaling.emphasis is not None) == emphasized]
        if not own:
            continue
        some, whole = [rows[k] for k in own], len(own) == len(rows)
        moved = states if whole else np.empty((len(own), *states.shape[1:]))
        results = marcher.run(_runs(model, marcher.plan, some), some[0].scaling, moved, stop, lock,
                              lambda r, x, own=own: look(own[r], rows[own[r]], x))
        for k, row, z, (reason, count) in zip(own, some, moved, results, strict=True):
            fault = constraint_fault(row.system, nodes, z) if count else None
            if reason == Reason.CONVERGED and not fault and turns_in_doubt(row.system, z):
                fault = Reason.TURNS_NOT_COUNTED  # perhaps: runs that fail are solved once more, and looked at closely
            found[k] = fault or reason, count
            if fault or not whole:
                states[k] = np.nan if fault else z
    return states, found, {k: texts for k, texts in reports.items() if texts and found[k][0] == Reason.CONVERGED}


class _Row(NamedTuple):
    """What differs in one run: system, state, multipliers, scaling, numbers of parts, and the dofs of the first element
    where these follow from such numbers."""

    system: Any
    z: np.ndarray
    multipliers: np.ndarray
    scaling: Scaling
    numbers: np.ndarray | None = None
    first: np.ndarray | None = None


def _row(model, plan, case):
    """The `_Row` of a case, or what is wrong with its input."""
    t0, of_states = model.mesh.nodes[0], isinstance(case, np.ndarray)
    try:
        if isinstance(case, str):
            raise InputError(case)
        system, z = (model.system, case) if of_states else (case.system, case.z0)
        if of_states and (wrong := fault(system.complete or system, t0, z)):
            raise InputError(wrong)
        multipliers = system.consistent_multipliers(t0, z)
        scaling = Scaling.of(model.scaling, system, model.element, t0, z)
        if not (of_states or plan.take(system)):
            raise InputError("its system has another structure")
        row = _Row(system, z, multipliers, scaling)
        return row if of_states else row._replace(numbers=plan.arrays.parameters.copy(),
                                                  first=plan.first_element(model.mesh, z, multipliers))
    except InputError as error:
        return f"{REFUSED}{error}"


def _runs(model, plan, rows):
    """The `Runs` of rows."""
    if rows[0].first is None:
        z, multipliers = np.array([row.z for row in rows]), np.array([row.multipliers for row in rows])
        first = plan.first_element(model.mesh, z, multipliers)
    else:
        first = [row.first for row in rows]
    return Runs.joined([(first[i], row.scaling, row.scaling.reference, row.numbers) for i, row in enumerate(rows)])


futures, multiprocessing = Late("concurrent.futures"), Late("multiprocessing")


class Cases:
    """What each run changes.

    Parameters
    ----------
    starts, ends : sequence, optional
        Of what `solve` takes as `start` and `end`; starts also an array of states, shape (n_runs, n_z).
    parameters : dict or sequence of dict, optional
        Name -> sequence of values; or the `parameters` of each run.
    """

    def __init__(self, starts, ends, parameters):
        if isinstance(parameters, dict):
            self.parameters = {name: np.asarray(_sequence(f"parameters[{name!r}]", values), float)
                               for name, values in parameters.items()}
        else:
            sets = _sequence("parameters", parameters) if parameters is not None else []
            names = dict.fromkeys(name for one in sets for name in one)
            missing = [name for name in names if any(name not in one for one in sets)]
            if missing:
                raise InputError(f"parameters: {missing[0]!r} is missing in some of the runs")
            self.parameters = {name: np.array([one[name] for one in sets], float) for name in names}
        self.starts, self.ends = (None if x is None else _sequence(what, x)
                                  for what, x in (("starts", starts), ("ends", ends)))
        sizes = {what: len(x) for what, x in (("starts", self.starts), ("ends", self.ends), *(
            (f"parameters[{name!r}]", values) for name, values in self.parameters.items())) if x is not None}
        if not sizes:
            raise InputError("there are no runs: give starts, ends or parameters, with one entry for each run")
        if len(set(sizes.values())) > 1:
            raise InputError("all runs need all numbers, but there are "
                             + ", ".join(f"{n} {what}" for what, n in sizes.items()))
        self.n = next(iter(sizes.values()))
        if not self.n:
            raise InputError(f"{next(iter(sizes))} is empty: there are no runs")

    def __getitem__(self, i):
        """Arguments of `Solver.solve` of run i."""
        own = {}
        if self.parameters:
            own["parameters"] = {name: values[i] for name, values in self.parameters.items()}
        own |= {name: x[i] for name, x in (("start", self.starts), ("end", self.ends)) if x is not None}
        return own

    @property
    def states(self):
        """States at the start, where nothing else differs; else None."""
        plain = isinstance(self.starts, np.ndarray) and not self.parameters and self.ends is None
        return self.starts if plain else None


def _sequence(what, values):
    if isinstance(values, np.ndarray) or (hasattr(values, "__len__") and hasattr(values, "__getitem__")
                                          and not isinstance(values, dict | str)):
        return values
    raise InputError(f"{what} must be a sequence with one entry for each run, not {values!r}")


def solve_many(solver, cases, *, n_workers=None, every=None, progress=None):
    """Solve all cases with a `Solver`; see `Solver.solve_many`."""
    begin, comm = time.perf_counter(), world()
    n_ranks = 1 if comm is None else comm.size
    n_workers = validate.integer("n_workers", n_workers, minimum=1) if n_workers is not None else (
        cores() if comm is None else 1)
    task, mesh = solver.task, solver.fixed_mesh()
    if every is not None:
        validate.integer("every", every, minimum=1)
        if mesh is None:
            raise InputError("every is given, but the runs find their meshes themselves: only start and end are kept")
    kept = np.array([0, -1]) if mesh is None or every is None else np.unique(np.append(
        np.arange(0, mesh.n_elements + 1, every), mesh.n_elements))
    n_z = solver.system.n_z
    check_memory(f"the states of {cases.n} runs", 8 * cases.n * len(kept) * (n_z + 1))
    share = np.array_split(np.arange(cases.n), n_ranks)[0 if comm is None else comm.rank]
    found = _Found(len(share), len(kept), n_z)
    shown = progress if comm is None or not comm.rank else False
    again = range(len(share))
    if task.driver.name == "march" and task.tolerance is None and not (
            solver.system.sampled_parts or solver.system.rigid_contacts):
        with progress_bar("runs", len(share), shown) as bar:
            again = _march(solver, cases, share, mesh, kept, found, n_workers, bar.advance)
    if again and not interrupts.asked():
        title = "runs" if len(again) == len(share) else "runs with elements of their own"
        with solver.alone(), progress_bar(title, len(again), shown) as bar:
            _in_turn(quiet(solver), cases, share, (mesh, kept), found, n_workers, bar.advance, again)
    found = found if comm is None else _Found.joined(comm.allgather(found))
    if comm is None or not comm.rank:
        found.warn()
    statistics = {"seconds": time.perf_counter() - begin, "n_workers": n_workers, "n_ranks": n_ranks}
    system_of = (lambda i: solver.system_of(cases[i])) if cases.parameters else None
    return Ensemble(solver.system, found.times, found.z, found.reasons, found.messages, cases.parameters,
                    found.columns(), statistics, lambda i: solver.solve(**cases[i], warm=False), system_of)


def quiet(solver):
    """The same solver, which shows no progress of its own."""
    other = copy(solver)
    other.task = dataclasses.replace(solver.task, progress=False)
    return other


class _Found:
    """Results of some runs; `heard` are warnings, (category, text), of each run that had some."""

    def __init__(self, n, n_times, n_z):
        self.times, self.z = np.full((n, n_times), np.nan), np.full((n, n_times, n_z), np.nan)
        self.reasons, self.messages, self.values = [Reason.STOPPED] * n, {}, [{} for _ in range(n)]
        self.heard = {}

    @classmethod
    def joined(cls, pieces):
        """Those of all ranks, in order."""
        whole = cls(0, *pieces[0].z.shape[1:])
        for piece in pieces:
            first = len(whole.reasons)
            whole.times, whole.z = (np.concatenate(x) for x in ((whole.times, piece.times), (whole.z, piece.z)))
            whole.reasons += piece.reasons
            whole.values += piece.values
            whole.messages |= {first + i: text for i, text in piece.messages.items()}
            whole.heard |= {first + i: heard for i, heard in piece.heard.items()}
        return whole

    def warn(self):
        """One warning of each category, however many runs had it, and one of failures."""
        failed = [i for i, reason in enumerate(self.reasons) if reason != Reason.CONVERGED]
        if failed:
            told = self.messages.get(failed[0], self.reasons[failed[0]])
            warn(f"{len(failed)} of {len(self.reasons)} runs failed, see `reasons` and `messages`; run "
                 f"{failed[0]}: {told}", NotSolved)
        for category in dict.fromkeys(category for heard in self.heard.values() for category, _ in heard):
            own = {i: text for i, heard in self.heard.items() for kind, text in heard if kind is category}
            first = min(own)
            warn(f"{len(own)} of {len(self.reasons)} runs, reported in `messages`; run {first}: {own[first]}",
                 category)

    def columns(self):
        names = dict.fromkeys(name for values in self.values for name in values)
        return {name: np.array([values.get(name, np.nan) for values in self.values], float) for name in names}

    def take(self, i, times, z, reason, message, values, heard):
        self.times[i], self.z[i] = np.nan, np.nan
        self.times[i, :len(times)], self.z[i, :len(z)], self.reasons[i] = times, z, reason
        self.values[i] = values | self.values[i]  # of a march all its iterations
        self.tell(i, message, heard)

    def tell(self, i, message, heard):
        """Keep what is reported about a run: its message, and warnings."""
        texts = [message] * bool(message) + [text for _, text in heard]
        if texts:
            self.messages[i] = "; ".join(texts)
        if heard:
            self.heard[i] = heard


def _march(solver, cases, share, mesh, kept, found, n_workers, advance):
    """In threads: compiled loops hold no lock. Returns the runs to be solved alone: failed ones, other meshes."""
    n_z, states = solver.system.n_z, cases.states
    if states is not None:
        if states.ndim != 2 or states.shape[1] != n_z:
            raise InputError(f"starts must have shape (n_runs, {n_z}), not {states.shape}")
        states = np.ascontiguousarray(states[share], float)
    nodes = mesh.nodes[kept]

    def store(own, z):
        z = z[:, kept]
        found.times[own], found.z[own] = np.where(np.isnan(z[:, :, 0]), np.nan, nodes), z

    task, elsewhere, own_kinks = solver.task, set(), solver.system.kinks

    def case(i):
        if states is not None:
            return states[i]
        changed = solver.try_changed(cases[share[i]])
        if task.mesh is None and not isinstance(changed, str):
            kinks = changed.system.kinks
            if kinks is not own_kinks and not np.array_equal(kinks, own_kinks):
                elsewhere.add(i)
                return "its loads have kinks elsewhere, where nodes must be"
        return changed

    model = Model(solver.system, task.element, task.newton or Newton(), task.driver.scaling, mesh)
    reasons, iterations, reports = march_runs(model, len(share), case, n_workers, store, advance, task.kept)
    for i, (reason, count) in enumerate(zip(reasons, iterations, strict=True)):
        if i in elsewhere:
            continue
        found.reasons[i], found.values[i] = reason, {"iterations": int(count)}
        message = "" if reason in (Reason.CONVERGED, Reason.STOPPED) else reason
        found.tell(i, message, [(UnderResolved, text) for text in reports.get(i, ())])
    failed = [i for i in found.messages if reasons[i] != Reason.CONVERGED and not reasons[i].startswith(REFUSED)]
    return sorted(elsewhere.union(failed))


def _in_turn(solver, cases, share, wanted, found, n_workers, advance, runs):
    """One after the other, in processes where there are some to be had."""
    pieces = [runs[k:k + OPTIONS.runs_together] for k in range(0, len(runs), OPTIONS.runs_together)]
    n_workers = min(n_workers, len(pieces)) if "fork" in multiprocessing.get_all_start_methods() else 1
    global _at_work
    _at_work = solver, cases, share, wanted
    if n_workers == 1:
        results = map(_piece, pieces)
        pool = None
    else:
        pool = futures.ProcessPoolExecutor(n_workers, multiprocessing.get_context("fork"))
        results = pool.map(_piece, pieces)
    try:
        for piece, result in zip(pieces, results, strict=True):
            for i, one in zip(piece, result, strict=True):
                found.take(i, *one)
            advance(len(piece))
            if interrupts.asked():
                interrupts.answer()
                break
    finally:
        _at_work = None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


_at_work = None  # what processes that are forked find


def _piece(piece):
    solver, cases, share, wanted = _at_work
    return [_one(solver, cases[share[i]], *wanted) for i in piece]


def _one(solver, case, mesh, kept):
    """What `_Found.take` takes of a run, with states at the nodes of the mesh that are kept, as far as it came."""
    with warnings.catch_warnings(record=True) as heard:
        try:
            sol = solver.solve(**case, warm=False)
        except InputError as error:
            return np.zeros(0), np.zeros((0, solver.system.n_z)), *[f"{REFUSED}{error}"] * 2, {}, []
    heard = [(one.category, str(one.message)) for one in heard]
    values = {"iterations": sol.statistics["newton_iterations"]["max"], **sol.parameters}
    if "objective" in sol.statistics and sol.success:
        values["objective"] = sol.objective
    message = "" if sol.status.message == Reason.CONVERGED else sol.status.message
    places = kept if sol.success else kept[:1]
    if mesh is not None and len(sol.t) != len(mesh.nodes):  # it ended early, or elements were halved
        places = np.searchsorted(sol.t, np.intersect1d(mesh.nodes[kept], sol.t))
    return sol.t[places], sol.z[places], sol.status.reason, message, values, heard
