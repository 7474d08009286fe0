"""Many runs of a prepared initial-value problem: numbers of all of them first, then marches in threads."""

import os
import queue
import threading
from typing import Any, NamedTuple

import numpy as np

from .. import interrupts
from ..assembly import Scaling
from ..elements.evaluation.plan import ElementPlan
from ..errors import InputError
from ..late import Late
from ..problems.initial.problem import fault
from ..solution.audit import constraint_fault, may_turn_too_far, turns_in_doubt, unresolved_turns
from ..solvers.march.many import Marcher, Runs
from ..status import REFUSED, Reason
from .options import OPTIONS

futures = Late("concurrent.futures")


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
    unresolved : dict
        Run -> the report on a motion that turns too far in an element.
    """
    reasons, iterations, stop, free = [Reason.STOPPED] * n, np.zeros(n, int), np.zeros(1, np.int64), queue.SimpleQueue()
    unresolved = {}
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
                unresolved |= {piece[k]: text for k, text in told.items()}
                for i, (reason, count) in zip(piece, found, strict=True):
                    reasons[i], iterations[i] = reason, count
                store(piece, states)
                advance(len(piece))
    for key in keys:
        kept.put(key, model.mesh, free.get())
    return reasons, iterations, unresolved


def _march_piece(model, marcher, rows, stop, lock):
    """States (n, n_elements + 1, n_z) of some runs, the reason and the iterations of each, and what to report."""
    states = np.full((len(rows), model.mesh.n_elements + 1, model.system.n_z), np.nan)
    found = [(row, 0) if isinstance(row, str) else None for row in rows]
    for emphasized in (False, True):
        own = [k for k, row in enumerate(rows) if not isinstance(row, str)
               and (row.scaling.emphasis is not None) == emphasized]
        if not own:
            continue
        some, whole = [rows[k] for k in own], len(own) == len(rows)
        moved = states if whole else np.empty((len(own), *states.shape[1:]))
        results = marcher.run(_runs(model, marcher.plan, some), some[0].scaling, moved, stop, lock)
        for k, row, z, (reason, count) in zip(own, some, moved, results, strict=True):
            fault = constraint_fault(row.system, model.mesh.nodes, z) if count else None
            if reason == Reason.CONVERGED and not fault and turns_in_doubt(row.system, z):
                fault = Reason.TURNS_NOT_COUNTED  # perhaps: runs that fail are solved once more, and looked at closely
            found[k] = fault or reason, count
            if fault or not whole:
                states[k] = np.nan if fault else z
    return states, found, _unresolved(model, rows, states, [reason for reason, _ in found])


def _unresolved(model, rows, states, reasons):
    """Run -> the report on a converged motion that turns too far in an element."""
    own = [k for k, reason in enumerate(reasons) if reason == Reason.CONVERGED]
    far = may_turn_too_far([rows[k].system for k in own], model.element, model.mesh.lengths.max(), states[own])
    told = {own[i]: unresolved_turns(rows[own[i]].system, model.element, model.mesh.nodes, states[own[i]])
            for i in np.flatnonzero(far)}
    return {k: text for k, text in told.items() if text is not None}


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
