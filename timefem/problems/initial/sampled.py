"""Marches of systems with controllers in discrete time: from one change of their forces to the next."""

import dataclasses
from copy import copy
from itertools import pairwise

import numpy as np

from ...assembly import TimeMesh
from ...errors import InputError
from ...solvers.equations.outcome import Outcome, joined
from ...solvers.march.halving import told
from ...status import Reason, Status
from .drivers import run_driver


def sampled(system):
    """Parts whose forces are evaluated at times and held."""
    return [part for part in system.parts if part.period is not None]


def run_sampled(task):
    """As `run_driver`, with the system whose controllers hold their last values: `Outcome`, `System`, `TimeMesh`.

    Raises
    ------
    InputError
        For drivers other than march, and too few elements for all changes of the forces.
    """
    problem, controllers = task.problem, sampled(task.problem.system)
    if task.driver.name != "march":
        raise InputError(f"{problem.system.label(controllers[0])} is sampled in time, which is for driver='march'")
    start, end = problem.t_span
    tells = {c: start + c.period * np.arange(int((end - start) / c.period * (1 + 1e-12)) + 1) for c in controllers}
    events = np.unique(np.concatenate([*tells.values(), *(tells[c] + c.delay for c in controllers)]))
    if task.mesh is None:
        kinks = problem.system.kinks
        mesh = TimeMesh.uniform(problem.t_span, task.n_elements, through=np.concatenate([events, kinks]))
    else:
        mesh = task.mesh
    close = 1e-9 * (end - start)
    found = Pieces(task, mesh)
    try:
        return _marched(task, found, tells, events, close)
    finally:
        found.close()


def _marched(task, pieces, tells, events, close):
    """From one event to the next."""
    problem, mesh, controllers = task.problem, pieces.mesh, list(tells)
    start, end = problem.t_span
    ends = [int(np.argmin(np.abs(mesh.nodes - t))) for t in events if start + close < t < end - close]
    missing = [t for t in events if start + close < t < end - close and np.abs(mesh.nodes - t).min() > close]
    if missing:
        raise InputError(f"the mesh has no node at t = {missing[0]:g}, where the forces of a sampled controller change")
    ends = np.unique([0, *ends, mesh.n_elements])
    held = {c: [(start, np.zeros(c.n_forces))] for c in controllers}  # what applies, from when on
    waiting = {c: [] for c in controllers}
    z, outcomes, system = problem.z0, [], problem.system
    momenta_of_counters = [system.n_q + system.coordinates(b).start for b in system.bodies
                           if b.is_counter]
    meshes, notes = [], {}  # with elements that were halved; what the statuses say besides
    for first, last in pairwise(ends):
        t = mesh.nodes[first]
        for c in controllers:
            if np.abs(tells[c] - t).min() <= close:
                waiting[c].append((t + c.delay, c.told(system, t, z)))
            while waiting[c] and waiting[c][0][0] <= t + close:
                held[c].append((t, waiting[c].pop(0)[1]))
        now = {c: _holding(c, [(t, held[c][-1][1])]) for c in controllers}
        piece = copy(problem)
        piece.system, piece.z0, piece.t_span = _with(system, now), z, (float(t), float(mesh.nodes[last]))
        part = mesh.part(first, last)
        before = sum(one.n_elements for one in meshes)
        outcome = pieces.solved(dataclasses.replace(task, problem=piece, mesh=part, n_elements=None), part)
        outcomes.append(outcome)
        meshes.append(outcome.mesh or part)
        if outcome.stopped and outcome.status.success and last < mesh.n_elements:
            outcome.status = Status.failure(Reason.STOPPED, meshes[-1].n_elements, mesh.nodes[last], [])
        if not outcome.status.success:
            outcome.status = outcome.status.later(before)
            break
        notes[outcome.status.message.removesuffix(told(part, meshes[-1])).removeprefix("converged")] = True
        z = np.array(outcome.state[-1, -1])
        z[momenta_of_counters] = 0.0  # round-off there would grow from piece to piece
    whole = {c: _holding(c, held[c]) for c in controllers}
    found = TimeMesh(np.concatenate([mesh.nodes[:1], *(one.nodes[1:] for one in meshes)]))
    outcome = _joined(outcomes)
    if outcome.status.success:
        outcome.status = Status(True, message=f"converged{''.join(notes)}{told(mesh, found)}")
    return outcome, _with(system, whole), found


class Pieces:
    """Pieces of a march that follow each other, with one checkpoint for all: each has its elements of it.

    Parameters
    ----------
    task : Task
    mesh : TimeMesh

    Attributes
    ----------
    mesh : TimeMesh
        That of the checkpoint where elements were halved before it.
    """

    def __init__(self, task, mesh):
        self.mesh, self._saved, self._recorder, self._option = mesh, None, None, task.checkpoint
        self._before, self._nodes = [], mesh.nodes[:1]  # number and dofs of the first elements, and their nodes
        if self._option is not None:
            self._option.check()
            plan = task.kept.plan(task.problem.system, task.element)
            self._saved, self._recorder, self.mesh = self._option.open(plan, mesh, task.problem.z0,
                                                                       task.driver.identity())

    def close(self):
        if self._recorder is not None:
            self._recorder.close()

    def solved(self, task, mesh):
        """The `Outcome` of the next piece."""
        if self._option is None:
            return run_driver(task, mesh)
        outcome = run_driver(dataclasses.replace(task, checkpoint=self), mesh)
        columns = self._plan.columns
        x = outcome.values.dofs(self._plan)[:columns.n_node + outcome.n_solved * columns.step]
        self._before.append((self._first, x))
        self._nodes = np.concatenate([self._nodes, (outcome.mesh or mesh).nodes[1:]])
        return outcome

    # ---- as `checkpoint` of the task of a piece

    def open(self, plan, mesh, z0, settings, comm=None):
        """See `Checkpoint.open`."""
        self._plan, self._first = plan, len(self._nodes) - 1
        n = 0 if self._saved is None else min(self._saved.n_solved - self._first, mesh.n_elements)
        saved = SavedPiece(self._saved, self._first, n) if n > 0 else None
        return saved, None if self._recorder is None else PieceRecorder(self._recorder, self), mesh

    def take(self, mesh):
        """Go on with other elements of the piece: a march has halved one."""
        rest = self.mesh.nodes[self.mesh.nodes > mesh.nodes[-1]]
        self._recorder.identity.take(TimeMesh(np.concatenate([self._nodes, mesh.nodes[1:], rest])))

    def among(self, n_solved, n_stored, parts):
        """Arguments of `Recorder.write`, from those of the piece."""
        own = [(self._first + first, x) for first, x in parts]
        return self._first + n_solved, self._first + n_stored, [*self._before, *own]


class SavedPiece:
    """A `Checkpoint` of the elements of a piece."""

    def __init__(self, whole, first, n):
        self._whole, self._first, self.n_solved = whole, first, n

    def dofs(self, start, stop, n_node):
        return self._whole.dofs(self._first + start, self._first + stop, n_node)


class PieceRecorder:
    """The `Recorder` of a piece."""

    def __init__(self, whole, pieces):
        self._whole, self.identity, self.within = whole, pieces, whole.within

    def visit(self, steps, what):
        return self._whole.visit(steps, lambda: self.identity.among(*what()))

    def close(self):
        """The next piece has it."""


def _holding(controller, held):
    """A controller with forces that are held from some times on: list of (t, forces)."""
    times, forces = zip(*held, strict=True)
    return controller.with_own_parameters(np.concatenate([controller.own_parameters[:controller.n_given], times,
                                                          *forces]))


def _with(system, parts):
    """The system with other parts instead of some, for which they stand."""
    other = system.of_parts(parts.get(part, part) for part in system.parts)
    other.stands_for.update({old: parts.get(part, part) for old, part in other.stands_for.items()} | parts)
    return other


def _joined(outcomes):
    """One outcome of pieces that follow each other."""
    last = outcomes[-1]
    seconds = {name: sum(o.seconds.get(name, 0.0) for o in outcomes) for name in last.seconds}
    return Outcome(joined([o.values for o in outcomes]), last.status, np.concatenate([o.iterations for o in outcomes]),
                   last.n_unknowns, seconds)
