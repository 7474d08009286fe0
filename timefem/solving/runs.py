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
from ..mechanics.redundancy.consistent_multipliers import multipliers_of
from ..problems.initial.faults import faults
from ..solution.audit import constraint_faults
from ..solvers.march.many import Marcher, Runs

PIECE = 32  # runs that a thread takes at once
REDUNDANT = "the constraints are redundant at the initial state"


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
        `store(i, states)` takes the states of run i at all nodes, (n_elements + 1, n_z), NaN behind a failure.
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
    runs, reasons, checks, scaling = (_of_states if isinstance(cases, np.ndarray) else _of_problems)(model, plan, cases)
    iterations = np.zeros(n, int)
    todo = [i for i in range(n) if reasons[i] is None]
    if not todo:
        return reasons, iterations
    free = queue.SimpleQueue()
    plans = [plan] + [ElementPlan(model.system, model.element) for _ in range(min(n_workers, len(todo)) - 1)]
    for own in plans:
        free.put(Marcher(own, model.mesh, scaling, model.settings))

    def work(piece):
        marcher, states = free.get(), np.empty((len(piece), model.mesh.n_elements + 1, model.system.n_z))
        try:
            found = [marcher.run(runs, i, states[k]) for k, i in enumerate(piece)]
        finally:
            free.put(marcher)
        return piece, states, found

    pieces = [todo[k:k + PIECE] for k in range(0, len(todo), PIECE)]
    with ThreadPoolExecutor(max(1, len(plans))) as pool:
        open_ = {pool.submit(work, pieces.pop(0)) for _ in range(min(2 * len(plans), len(pieces)))}
        while open_:
            done, open_ = wait(open_, timeout=0.2, return_when=FIRST_COMPLETED)
            if interrupts.asked():  # the runs that are under way stop, too
                interrupts.answer()
                pieces.clear()
            open_ |= {pool.submit(work, pieces.pop(0)) for _ in range(min(len(done), len(pieces)))}
            for future in done:
                piece, states, found = future.result()
                audit = checks(piece, model.mesh.nodes, states)
                for k, (i, (reason, count)) in enumerate(zip(piece, found, strict=True)):
                    reasons[i], iterations[i] = audit[k] or reason, count
                    if audit[k]:
                        states[k] = np.nan
                    store(i, states[k])
                advance(len(piece))
    return ["stopped" if reason is None else reason for reason in reasons], iterations


def _of_states(model, plan, z):
    """`Runs`, what is wrong with each input (None where nothing is), the audit, and a scaling: of one system."""
    system, t0 = model.system, model.mesh.nodes[0]
    wrong = faults(system.complete or system, np.full(len(z), t0), z)
    multipliers, fine = multipliers_of(system, np.full(len(z), t0), z)
    reasons = [f"input: {fault}" if fault else None if good else f"input: {REDUNDANT}"
               for fault, good in zip(wrong, fine, strict=True)]
    multipliers = np.where(fine[:, None], multipliers, 0.0)[:, :system.n_multipliers]
    scalings = [Scaling.of(model.scaling, system, model.element, t0, state) for state in z]
    runs = Runs(_first(plan, model.mesh, z, multipliers), scalings,
                np.array([s.size(state) for s, state in zip(scalings, z, strict=True)]), None)
    return runs, reasons, lambda piece, times, states: constraint_faults(system, times, states), scalings[0]


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


def _of_problems(model, plan, cases):
    """The same of problems whose systems have numbers of their own."""
    rows, reasons = [], []
    for case in cases:
        try:
            if isinstance(case, str):
                raise InputError(case)
            system, z, t0 = case.system, case.z0, model.mesh.nodes[0]
            multipliers = system.consistent_multipliers(t0, z)
            scaling = Scaling.of(model.scaling, system, model.element, t0, z)
            if not plan.take(system):
                raise InputError("its system has another structure")
            rows.append((_first(plan, model.mesh, z[None], multipliers[None])[0], scaling, scaling.size(z),
                         plan.arrays.parameters.copy()))
            reasons.append(None)
        except InputError as error:
            rows.append(None)
            reasons.append(f"input: {error}")
    filled = next((row for row in rows if row is not None), None)
    if filled is None:
        return None, reasons, None, None
    first, scalings, references, numbers = zip(*(row or filled for row in rows), strict=True)

    def checks(piece, times, states):
        return [constraint_faults(cases[i].system, times, states[k:k + 1])[0] for k, i in enumerate(piece)]

    return Runs(np.array(first), scalings, np.array(references), np.array(numbers)), reasons, checks, filled[1]
