"""Many runs of a prepared initial-value problem: numbers of all of them first, then marches in threads."""

import os
import queue
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from .. import interrupts
from ..assembly import Scaling
from ..elements.evaluation.plan import ElementPlan
from ..errors import InputError
from ..mechanics.dense_derivatives import constraint_sizes
from ..problems.initial.faults import faults
from ..solution.audit import constraint_fault
from ..solvers.march.many import Marcher, Runs

PIECE, ELEMENTS = 32, 2000  # runs that a thread takes at once, and elements of them, but for a single run


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


def march_runs(model, cases, n_workers, store, advance):
    """March a system with many numbers.

    Parameters
    ----------
    model : Model
    cases : list of InitialValueProblem or str, or ndarray, shape (n, n_z)
        What is wrong with its input in the place of a problem; or states at the start of the system of the model.
    n_workers : int
        Threads.
    store : callable
        `store(numbers, states)` takes the states of some runs at all nodes, (n, n_elements + 1, n_z), NaN behind a
        failure.
    advance : callable
        Told the number of runs that are done.

    Returns
    -------
    reasons : list of str
        "converged", or why each run failed: "input: ...", of Newton's method, of the audit, "stopped".
    iterations : ndarray of int
        Of Newton's method, of all elements.
    """
    n, plan = len(cases), ElementPlan(model.system, model.element)
    rows = [_row(model, plan, case) for case in cases]
    reasons, iterations = [row if isinstance(row, str) else None for row in rows], np.zeros(n, int)
    todo = [i for i in range(n) if reasons[i] is None]
    if not todo:
        return reasons, iterations
    runs = _runs(model, plan, [rows[i] for i in todo])
    systems, sizes = zip(*((rows[i].system, rows[i].size) for i in todo), strict=True)
    free, stop, emphasized = queue.SimpleQueue(), np.zeros(1, np.int64), runs.emphasized()
    plans = [plan] + [ElementPlan(model.system, model.element) for _ in range(min(n_workers, len(todo)) - 1)]
    for own in plans:
        free.put(Marcher(own, model.mesh, rows[todo[0]].scaling, model.settings))

    def work(piece):
        marcher, states = free.get(), np.empty((len(piece), model.mesh.n_elements + 1, model.system.n_z))
        try:
            found = marcher.run(runs, piece, bool(emphasized[piece[0]]), states, stop)
        finally:
            free.put(marcher)
        for k, i in enumerate(piece):
            fault = constraint_fault(systems[i], model.mesh.nodes, states[k], sizes[i]) if found[k][1] else None
            if fault:
                found[k], states[k] = (fault, found[k][1]), np.nan
        return piece, states, found

    alike, apart = np.flatnonzero(~emphasized), np.flatnonzero(emphasized)
    n_runs = min(PIECE, max(1, ELEMENTS // model.mesh.n_elements))
    pieces = [some[k:k + n_runs] for some in (alike, apart) for k in range(0, len(some), n_runs)]
    with ThreadPoolExecutor(max(1, len(plans))) as pool:
        open_ = {pool.submit(work, pieces.pop(0)) for _ in range(min(2 * len(plans), len(pieces)))}
        while open_:
            done, open_ = wait(open_, timeout=0.2, return_when=FIRST_COMPLETED)
            if interrupts.asked():  # the runs that are under way stop, too
                interrupts.answer()
                stop[0] = 1
                pieces.clear()
            open_ |= {pool.submit(work, pieces.pop(0)) for _ in range(min(len(done), len(pieces)))}
            for future in done:
                piece, states, found = future.result()
                own = [todo[i] for i in piece]
                for i, (reason, count) in zip(own, found, strict=True):
                    reasons[i], iterations[i] = reason, count
                store(own, states)
                advance(len(own))
    return ["stopped" if reason is None else reason for reason in reasons], iterations


class _Row(NamedTuple):
    """What differs in one run: system, state, multipliers, scaling, size of constraints, numbers of parts."""

    system: Any
    z: np.ndarray
    multipliers: np.ndarray
    scaling: Scaling
    size: np.ndarray | None
    numbers: np.ndarray | None


def _row(model, plan, case):
    """The `_Row` of a case, or what is wrong with its input."""
    t0, of_states = model.mesh.nodes[0], isinstance(case, np.ndarray)
    try:
        if isinstance(case, str):
            raise InputError(case)
        system, z = (model.system, case) if of_states else (case.system, case.z0)
        if of_states and (fault := faults(system.complete or system, (t0,), z[None])[0]):
            raise InputError(fault)
        multipliers = system.consistent_multipliers(t0, z)
        scaling = Scaling.of(model.scaling, system, model.element, t0, z)
        if not (of_states or plan.take(system)):
            raise InputError("its system has another structure")
        size = constraint_sizes(system, t0, z) if system.kept is None else None
        return _Row(system, z, multipliers, scaling, size, None if of_states else plan.arrays.parameters.copy())
    except InputError as error:
        return f"input: {error}"


def _runs(model, plan, rows):
    """The `Runs` of rows."""
    z, multipliers = np.array([row.z for row in rows]), np.array([row.multipliers for row in rows])
    first = _first(plan, model.mesh, z, multipliers)
    return Runs.joined([(first[i], row.scaling, row.scaling.size(row.z), row.numbers) for i, row in enumerate(rows)])


def _first(plan, mesh, z, multipliers):
    """Dofs of the first element for states at the start and multipliers that stay, (n, n_local)."""
    element, c = plan.element, plan.columns
    shapes = element.state.basis.n_shapes, element.multiplier.basis.n_shapes
    times = np.tile(mesh.part(0, 1).points(element.state.basis), (len(z), 1))
    state, others = (np.repeat(v[:, None], n, axis=1) for v, n in zip((z, multipliers), shapes, strict=True))
    values, first = element.nodal_values(plan.system, times, state, others), np.zeros((len(z), c.n_local))
    for field, value in zip(c.fields, values, strict=False):
        first[:, field] = value
    return first
