"""Driver "march": one element at a time; and marches of systems with controllers in discrete time, from one change of
their forces to the next."""

from __future__ import annotations

import dataclasses
import time
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...assembly import TimeMesh
from ...errors import InputError
from ...mechanics.numbers.records import made_of, rebuilt
from ...progress import progress
from ...solution.motion_checks import other_roots
from ...solvers.equations.outcome import Outcome, ValuesOfDofs, joined
from ...solvers.march.march import CHUNK, LoopArrays, Run, march, march_halving, told
from ...status import Reason, Status
from ...validate.options import field, said
from ..task import Driver
from .drivers import run_driver

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from ..task import DriverInput


@dataclass(frozen=True)
class March(Driver):
    """One element after the other, each by Newton's method from the element before.

    Parameters
    ----------
    scaling : {"full", "weights", "reference", "none"}
        Of unknowns and rows (see `timefem.assembly.scaling`).
    keep_mesh : bool
        Fail where Newton's method fails, or comes to half a turn from what a drive prescribes. Otherwise the element is
        halved and tried again, as often as it takes (see `timefem.solvers.march.march`), and the status says so.
    """

    scaling: str = field("scaling")
    keep_mesh: bool = field("keep_mesh")

    name: ClassVar[str] = "march"

    @classmethod
    def takes(cls, element: TimeElement) -> bool:
        return element.can_march

    def check(self, element: TimeElement, guess: Any) -> None:
        if not element.can_march:
            raise InputError(f"{element!r} couples its elements and cannot be marched: use "
                             f"{said('driver', 'windows')} or {said('driver', 'global')}")
        if guess is not None:
            raise InputError("guess is given, but driver='march' does not use it")

    def solve(self, job: DriverInput) -> Outcome:
        plan, mesh, system = job.plan, job.mesh, job.plan.system
        step, n_node = plan.columns.step, plan.columns.n_node
        n_solved, stopped = job.saved.n_solved if job.saved else 0, False
        x = np.zeros(n_node + mesh.n_elements * step)
        if n_solved:
            x[:n_node + n_solved * step] = job.saved.dofs(0, n_solved, n_node)

        def on_mesh(mesh, longer, n):
            nonlocal x, n_solved
            x, bar.total = longer, mesh.n_elements
            bar.advance(n - n_solved)
            n_solved = n
            if job.recorder:
                job.recorder.identity.take(mesh)

        with progress("march", mesh.n_elements, job.show) as bar:
            def advance(n):
                nonlocal n_solved, stopped
                n_solved += n
                bar.advance(n)
                stopped = job.visit(n, lambda: (n_solved, n_solved, [(0, x[:n_node + n_solved * step])]))
                return stopped

            bar.advance(n_solved)
            start = time.perf_counter()
            chunk = job.recorder.within(CHUNK) if job.recorder else CHUNK
            multipliers = system.consistent_multipliers(mesh.nodes[0], job.z0)
            scale = job.scale
            loop = job.kept.thing("march", plan, lambda: LoopArrays(plan, scale), lambda loop: loop.rescale(scale))
            run = Run(advance, chunk, x, n_solved, loop, look=other_roots(system))
            how = plan, mesh, job.z0, multipliers, scale, job.settings, run
            if self.keep_mesh:
                x, n_solved, status, iterations = march(*how)
            else:
                mesh, x, n_solved, status, iterations = march_halving(*how, on_mesh)
        return Outcome(ValuesOfDofs(plan, x, n_solved), status, iterations, plan.rows.n_interior,
                       {"solve": time.perf_counter() - start}, mesh=mesh, stopped=stopped)


class Samples:
    """What controllers in discrete time hold, as a march comes on.

    Parameters
    ----------
    task : Task
        With a mesh of its own, or a number of elements; else the mesh has as few as there can be.

    Attributes
    ----------
    mesh : TimeMesh
        With nodes where forces change.
    ends : ndarray of int
        These nodes, and both ends of the mesh.

    Raises
    ------
    InputError
        For drivers other than march, and meshes without such nodes.
    """

    def __init__(self, task):
        problem, controllers = task.problem, task.problem.system.sampled_parts
        self.system = problem.system
        if task.driver.name != "march":
            raise InputError(f"{problem.system.label(controllers[0])} is sampled in time, which is for driver='march'")
        start, end = problem.t_span
        self._close = close = 1e-9 * (end - start)
        self._tells = tells = {c: start + c.period * np.arange(int((end - start) / c.period * (1 + 1e-12)) + 1)
                               for c in controllers}
        events = np.unique(np.concatenate([*tells.values(), *(tells[c] + c.delay for c in controllers)]))
        self._events = events[(start + close < events) & (events < end - close)]
        if task.mesh is None:
            through = np.concatenate([events, problem.system.kinks])
            self.take(TimeMesh.uniform(problem.t_span, task.n_elements or len(through) + 1, through=through))
        else:
            self.take(task.mesh)
        self._held = {c: [(start, np.zeros(c.n_forces))] for c in controllers}  # what applies, from when on
        self._waiting = {c: [] for c in controllers}
        self._piece = None

    def take(self, mesh):
        """Go by another mesh."""
        after = np.clip(np.searchsorted(mesh.nodes, self._events), 1, mesh.n_elements)
        nearest = after - (2 * self._events < mesh.nodes[after - 1] + mesh.nodes[after])
        off = np.abs(mesh.nodes[nearest] - self._events) > self._close
        if off.any():
            raise InputError(f"the mesh has no node at t = {self._events[off][0]:g}, where the forces of a sampled "
                             "controller change")
        self.mesh = mesh
        self.ends = np.unique([0, *nearest, mesh.n_elements])

    def at(self, t, z):
        """The system from a time on, at which forces change, by the state there; to be asked one after the other."""
        for c, tells in self._tells.items():
            if np.abs(tells - t).min() <= self._close:
                self._waiting[c].append((t + c.delay, c.told(self.system, t, z)))
            while self._waiting[c] and self._waiting[c][0][0] <= t + self._close:
                self._held[c].append((t, self._waiting[c].pop(0)[1]))
        now = self._holding({c: [(t, held[-1][1])] for c, held in self._held.items()})
        self._piece = self._with(now) if self._piece is None else rebuilt(self._piece, now)
        return self._piece

    @property
    def whole(self):
        """The system with all that was held so far."""
        return self._with(self._holding(self._held))

    def _holding(self, held):
        """Controllers that hold forces from some times on, by lists of (t, forces)."""
        parts = {}
        for controller, own in held.items():
            times, forces = zip(*own, strict=True)
            parts[controller] = controller.with_own_parameters(np.concatenate([
                controller.own_parameters[:controller.n_given], times, *forces]))
        return parts

    def _with(self, parts):
        """The system with other parts instead of some, for which they stand."""
        other = made_of(self.system, [parts.get(part, part) for part in self.system.parts])
        other.stands_for.update({old: parts.get(part, part) for old, part in other.stands_for.items()} | parts)
        return other


def run_sampled(task):
    """As `run_driver`, with the system whose controllers hold their last values: `Outcome`, `System`, `TimeMesh`."""
    samples = Samples(task)
    found = Pieces(task, samples.mesh)
    samples.take(found.mesh)
    try:
        return _marched(task, found, samples)
    finally:
        found.close()


def _marched(task, pieces, samples):
    """From one change of the forces to the next."""
    problem, mesh, system = task.problem, samples.mesh, task.problem.system
    z, outcomes = problem.z0, []
    momenta_of_counters = [system.n_q + system.coordinates(b).start for b in system.bodies
                           if b.is_counter]
    meshes, notes = [], {}  # with elements that were halved; what the statuses say besides
    for first, last in pairwise(samples.ends):
        t = mesh.nodes[first]
        piece = copy(problem)
        piece.system, piece.z0, piece.t_span = samples.at(t, z), z, (float(t), float(mesh.nodes[last]))
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
    found = TimeMesh(np.concatenate([mesh.nodes[:1], *(one.nodes[1:] for one in meshes)]))
    outcome = _joined(outcomes)
    if outcome.status.success:
        outcome.status = Status(True, message=f"converged{''.join(notes)}{told(mesh, found)}")
    return outcome, samples.whole, found


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


def _joined(outcomes):
    """One outcome of pieces that follow each other."""
    last = outcomes[-1]
    seconds = {name: sum(o.seconds.get(name, 0.0) for o in outcomes) for name in last.seconds}
    return Outcome(joined([o.values for o in outcomes]), last.status, np.concatenate([o.iterations for o in outcomes]),
                   last.n_unknowns, seconds)
