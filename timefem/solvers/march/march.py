"""Driver `march`: one element at a time, in a compiled loop; those that fail are halved and tried again. Marches of one
system with many states and numbers, one after the other, in one thread; several threads at once: the compiled loop
holds no lock of Python, so that threads share the cores; each has loops and memory of its own."""

import time
import weakref
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...assembly import TimeMesh
from ...elements.evaluation.arrays import take_joined
from ...elements.evaluation.points_in_lanes import step_plan
from ...elements.evaluation.single_point import short_tangent
from ...elements.evaluation.whole_element import NO_WHOLE, whole_system
from ...kernels.loops import compiled
from ...kernels.record import Record
from ...status import SHORTER, Reason, Status
from ..linear.element.fronts import Code
from ..linear.element.pattern import fronts_of
from ..linear.element.unrolled import NOT_UNROLLED, unrolled
from .loop import NOTHING_KEPT, Loop, MarchArrays, march_elements, work

REASONS = {Code.NOT_CONVERGED: Reason.NOT_CONVERGED, Code.SINGULAR: Reason.SINGULAR_TANGENT,
           Code.NOT_FINITE: Reason.NOT_FINITE}


CHUNK = 2000  # elements between two words to the caller, if these do not take longer than
LONG_CHUNK = 0.5  # seconds: compiled code hears no signals
FIRST_CHUNK = 20  # and the fewest: a march of so many at a time rounds alike however busy the machine is


class NotCompiled(Exception):
    """There is no machine code of the loop yet, and none is to be made."""


class Run(NamedTuple):
    """How a march runs, and where it goes on from.

    Attributes
    ----------
    advance : callable
        Told the number of elements solved since the last call; what it returns, if true, stops the march.
    chunk : int
        Elements between two such calls.
    x : ndarray, optional
        All dofs, to be filled in; those of elements 0, ..., start - 1 are known.
    start : int
        First element to be solved.
    loop : Loop, optional
        Of the plan and the scaling, where many marches share them.
    compiles : bool
        Whether the compiled loop is made where there is none yet, or `NotCompiled` raised.
    first : ndarray, optional
        All dofs of the first element to start from, instead of those of a state that stays as it is at the start.
    look : callable, optional
        For `march_halving`: `look(t, z)` is given times and states at the ends of elements that were solved, and says
        which of these found another solution than the one that is meant, and what of it: (element, text) or None.
    """

    advance: Callable = lambda n: None
    chunk: int = CHUNK
    x: np.ndarray | None = None
    start: int = 0
    loop: object = None
    compiles: bool = True
    first: np.ndarray | None = None
    look: Callable | None = None


def march(plan, mesh, z0, multipliers, scaling, settings, run=Run()):
    """Solve an initial-value problem element by element.

    Parameters
    ----------
    plan : ElementPlan
        Of an element that can be marched (`TimeElement.can_march`).
    mesh : TimeMesh
    z0, multipliers : ndarray
        Initial state, and guess of the multipliers in the first element.
    scaling : Scaling
    settings : Newton
    run : Run

    Returns
    -------
    x : ndarray
        All dofs in time order; valid up to the end of the last solved element.
    n_solved : int
    status : Status
    iterations : ndarray of int
        Of the elements solved here.
    """
    advance, most, x, start, loop, compiles, first, _ = run
    loop = LoopArrays(plan, scaling) if loop is None else loop
    n_node = loop.record.n_node
    x = np.zeros(n_node + mesh.n_elements * plan.columns.step) if x is None else x
    if start == 0:
        x[:n_node + plan.columns.step] = plan.first_element(mesh, z0, multipliers) if first is None else first
    loop.begin()
    record = loop.march(x, mesh.nodes[:-1], mesh.lengths, settings, scaling.reference)
    iterations, history = record.iterations, record.history
    e, code, stopped, left_open = start, 0, False, False
    chunk, fewest = min(most, loop.chunk), min(most, FIRST_CHUNK)
    while e < mesh.n_elements and not code and not stopped:
        stop, began = min(e + chunk, mesh.n_elements), time.monotonic()
        if not (compiles or march_elements.at_hand(record, e, stop)):
            raise NotCompiled
        solved, code, some_open = march_elements(record, e, stop)
        n_new, e, left_open = solved - e, solved, left_open or some_open
        stopped = advance(n_new)
        chunk = min(2 * chunk, most) if time.monotonic() - began < LONG_CHUNK / 2 else max(chunk // 2, fewest)
    loop.chunk = chunk
    iterations = iterations[start:e]
    status = Status.with_free_forces(mesh.nodes[start + np.flatnonzero(iterations < 0)]) if left_open else Status(True)
    if code and not stopped:  # a stop goes before, or a march that halves each element would never end
        status = Status.failure(REASONS[code], e, mesh.nodes[e], history[np.isfinite(history)])
    elif e < mesh.n_elements:
        status = Status.failure(Reason.STOPPED, e, mesh.nodes[e], [])
    return x, e, status, np.abs(iterations) if left_open else iterations


class LoopArrays:
    """What the compiled loop takes besides the mesh and the dofs, for many marches one after the other.

    Attributes
    ----------
    record : Loop
    work : Work
    chunk : int
        Elements that were solved at once, last.
    """

    chunk = FIRST_CHUNK

    def __init__(self, plan, scaling):
        n_node, (*_, core_rows, core) = plan.columns.n_node, plan.explicit
        sizes, size_powers = (v[core] for v in scaling.local(plan.columns, scaling.multiplier_power))
        weights, weight_powers = (v[core_rows] for v in scaling.local(plan.rows, scaling.constraint_power))
        self._scaling, self._columns, places = scaling, plan.columns, scaling.places()
        self._keeps = plan.element.keeps_factors
        self.places = [places.local(numbering, 0)[0][chosen].astype(int) for numbering, chosen in
                       ((plan.columns, core), (plan.rows, core_rows))]
        fields = list(zip(plan.columns.fields, plan.columns.spaces, strict=True))
        continuous = np.concatenate([dofs for dofs, space in fields if space.continuous], axis=1)
        owned = [dofs for dofs, space in fields if not space.continuous]
        last = np.concatenate([np.tile(dofs[-1], len(dofs)) for dofs in owned])
        owned = np.concatenate([dofs.ravel() for dofs in owned])
        guessed = np.isin(continuous[-1], core), np.isin(owned, core)
        self._scales, self._all_places = np.concatenate([sizes, weights]), np.concatenate(self.places)
        sizes, weights = self._scales[:len(core)], self._scales[len(core):]  # which `rescale` takes at once
        fronts, written, n_factors, whole, targets, self._kernels = _linear(plan, len(core))
        self._emphasis = scaling.emphasis_of(plan.columns)
        emphasis = np.zeros(0) if self._emphasis is None else self._emphasis[core]
        powers = size_powers.astype(float), weight_powers.astype(float)  # Numba compiles a loop for those of integers
        self.record = Loop(step_plan(plan, targets), fronts, written, n_factors, whole, sizes, powers[0], weights,
                           powers[1], emphasis, scaling.states_of(plan.columns)[core], n_node, core,
                           plan.element.state.basis.points,
                           continuous[:, guessed[0]], owned[guessed[1]], last[guessed[1]])

    def rescale(self, scaling):
        """Take another scaling of the same name; False where bodies count alike in one and not in the other."""
        take_joined(self._all_places, *scaling.parts(), self._scales)
        emphasis = scaling.emphasis_of(self._columns)
        if (emphasis is None) != (self._emphasis is None):
            return False
        if emphasis is not None:
            self.record.emphasis[:] = emphasis[self.record.core]
        return True

    @cached_property
    def emphasis_places(self):
        """Places in `Scaling.emphasis` of the core unknowns; -1 where there is none."""
        everyone = replace(self._scaling, emphasis=np.arange(1.0, len(self._scaling.state) + 1))
        factors = everyone.emphasis_of(self._columns)[self.record.core].astype(int)
        return np.where(self.record.state > 0, factors - 1, -1)

    @cached_property
    def work(self):
        return work(self.record)

    def measured(self):
        """The same, with sizes of the unknowns that are to be set as a motion goes on, and that no powers of the length
        belong to."""
        other, n = copy(self), len(self.record.sizes)
        other.work = self.work
        other.record = self.record.replaced(sizes=np.ones(n), size_powers=np.zeros(n),
                                            emphasis=np.ones(n))
        return other

    def forget(self):
        """Be as new, to the last bit of what is solved from now on."""
        self.__dict__.pop("work", None)

    def begin(self):
        """Forget what is known of other marches."""
        self.work.series[2], self.work.kept[:] = -1, NOTHING_KEPT

    def march(self, x, starts, lengths, settings, reference, keeps=None):
        """`MarchArrays` of elements in dofs x; tolerances count in `reference`, and factors are kept where the element
        says so."""
        keeps = self._keeps and not settings.line_search if keeps is None else keeps
        return MarchArrays(self.record, self.work, x, starts, lengths,
                           np.array([settings.tol_residual * reference, settings.tol_increment * reference]),
                           settings.max_iterations, settings.line_search, keeps, np.zeros(len(lengths), int),
                           np.empty(settings.max_iterations + 1))


_known = weakref.WeakKeyDictionary()  # by plan: many marches share one


def _linear(plan, n):
    """Fronts of the tangent of the n core unknowns of an element; its elimination written out where it is small,
    `Unrolled`, and how many numbers that keeps; its evaluation likewise, `WholeSystem`; the place of each tangent
    entry; and what holds the kernels."""
    if plan not in _known:
        fronts, targets = _find_fronts(plan, n)
        entries = np.flatnonzero(targets >= 0)
        rows, columns = (places[chosen[entries]] for places, chosen in zip(
            _places(plan), (plan.tangent_rows, plan.tangent_columns), strict=True))
        written, n_factors, kernels = NOT_UNROLLED if len(plan.explicit.rows) else unrolled(
            rows, columns, short_tangent(plan)[entries], targets[entries])
        whole, more = whole_system(plan, entries) if written.factor else NO_WHOLE
        if written.factor:
            targets = np.full(len(targets), -1)
            targets[entries] = np.arange(len(entries))
        _known[plan] = fronts, written, n_factors, whole, targets, (*kernels, *more)
    return _known[plan]


def _places(plan):
    """Numbers of the rows and of the dofs of an element in the core, -1 for the others; shape (2, n)."""
    explicit = plan.explicit
    places = np.full((2, max(plan.rows.n_local, plan.columns.n_local)), -1, np.int32)
    places[0, explicit.core_rows] = places[1, explicit.core_columns] = np.arange(len(explicit.core_rows))
    return places


def _find_fronts(plan, n):
    places = _places(plan)
    rows, columns = places[0, plan.tangent_rows], places[1, plan.tangent_columns]
    unknown, targets = (rows >= 0) & (columns >= 0), np.full(len(rows), -1)
    fronts, targets[unknown] = fronts_of(rows[unknown], columns[unknown], n)
    return fronts, targets


HALVED = SHORTER | {Reason.CONSTRAINTS_VIOLATED}
MOST = 12  # times that an element of the given mesh is halved, one half after the other


def march_halving(plan, mesh, z0, multipliers, scaling, settings, run=Run(), on_mesh=lambda mesh, x, n: None):
    """`march`, where Newton's method fails with halves of the element, as often as it takes.

    Nothing changes as long as no element fails. Where even an element of 2^-12 of its length fails, the one before is
    halved as well, since it may have ended where nothing goes on from, such as deep in a stiff wall. Where that does
    not help, the march ends before the element of the given mesh for which Newton's method failed first.

    Parameters
    ----------
    plan, mesh, z0, multipliers, scaling, settings, run
        As for `march`.
    on_mesh : callable
        `on_mesh(mesh, x, n)` is given each new mesh, the array of all dofs on it, and the number of elements that are
        solved.

    Returns
    -------
    mesh : TimeMesh
    x, n_solved, status, iterations
        As from `march`, on this mesh.
    """
    def solve(mesh, run):
        x, n, status, iterations = march(plan, mesh, z0, multipliers, scaling, settings, run)
        if run.look is None:
            return x, n, status, iterations
        ends = np.arange(run.start, n + 1)
        wrong = run.look(mesh.nodes[ends], x[ends[:, None] * plan.columns.step + plan.columns.first[0]])
        if wrong is not None:
            n = run.start + wrong[0]
            status = Status.failure(Reason.CONSTRAINTS_VIOLATED, n, mesh.nodes[n], [], wrong[1])
        return x, n, status, iterations[:n - run.start]

    x, n, status, iterations = solve(mesh, run)
    if status.success or status.reason not in HALVED:
        return mesh, x, n, status, iterations
    step, levels, begin = plan.columns.step, np.zeros(mesh.n_elements, int), run.start
    given, failed, solved = mesh, None, None
    while not status.success and status.reason in HALVED:
        original = int(np.searchsorted(given.nodes, mesh.nodes[n], side="right")) - 1
        if failed is None or failed[0] < original:
            failed, solved = (original, mesh, n, levels, iterations, status), None
        halved, shortest = n, mesh.lengths[n]
        if levels[n] == MOST and n > begin:
            halved, solved = n - 1, x.copy() if solved is None else solved
        middle = mesh.nodes[halved] + mesh.lengths[halved] / 2
        if levels[halved] == MOST or not mesh.nodes[halved] < middle < mesh.nodes[halved + 1]:
            _, mesh, n, levels, iterations, status = failed
            x = x if solved is None else solved
            status.message += f"; its halves fail as well, down to {shortest:.3g} s"
            on_mesh(mesh, x, n)
            break
        n, iterations = halved, iterations[:halved - begin]
        levels = np.insert(levels, n, levels[n])
        levels[n:n + 2] += 1
        mesh = TimeMesh(np.insert(mesh.nodes, n + 1, middle))
        if len(x) < plan.columns.n_node + mesh.n_elements * step:  # by half, as many more may fail
            x = np.append(x, np.zeros(mesh.n_elements // 2 * step + step))
        on_mesh(mesh, x, n)
        x, n, status, more = solve(mesh, run._replace(x=x, start=n))
        iterations = np.concatenate([iterations, more])
    if status.success:
        status = Status(True, message=status.message + told(given, mesh))
    return mesh, x, n, status, iterations


def told(given, mesh):
    """For the message of a status: how many elements of the given mesh were halved."""
    if mesh.n_elements == given.n_elements:
        return ""
    halved = np.unique(np.searchsorted(given.nodes, np.setdiff1d(mesh.nodes, given.nodes)))
    return (f"; {len(halved)} of {given.n_elements} elements were halved where Newton's method failed, down to "
            f"{mesh.lengths.min():.3g} s")


NONE = np.zeros(0)
RUNS_CHUNK = 1000  # elements between two looks at whether to stop


class Runs(NamedTuple):
    """What differs from run to run.

    Attributes
    ----------
    first : ndarray, shape (n_runs, n_local)
        Dofs of the first element: the state at the start, and a guess of the rest.
    sizes : ndarray, shape (n_runs, n)
        `Scaling.values` of each.
    emphasis : ndarray, shape (n_runs, n_z), or (n_runs, 0)
        As in `Scaling`; none where all bodies count alike.
    references : ndarray, shape (n_runs,)
        Size of the scaled state.
    numbers : ndarray, shape (n_runs, n_numbers), or (n_runs, 0)
        Numbers of the parts, as in `ElementPlan.arrays`; none: those of the plan.
    """

    first: np.ndarray
    sizes: np.ndarray
    emphasis: np.ndarray
    references: np.ndarray
    numbers: np.ndarray

    @classmethod
    def joined(cls, rows):
        """From a sequence of the numbers of each run: first dofs, `Scaling`, reference, numbers of parts or None."""
        first, scalings, references, numbers = zip(*rows, strict=True)
        emphasis = [NONE if s.emphasis is None else s.emphasis for s in scalings]  # of all, or of none
        parameters = [NONE if own is None else own for own in numbers]
        return cls(*map(np.array, (first, [s.values() for s in scalings], emphasis, references, parameters)))


class RunArrays(Record):
    """What `march_run` takes and gives besides the march: first the fields of `Runs`."""

    first: np.ndarray
    sizes: np.ndarray
    emphasis: np.ndarray
    references: np.ndarray
    numbers: np.ndarray
    size_places: np.ndarray  # of int, of the core unknowns in `sizes`
    weight_places: np.ndarray  # of int, of the core rows
    emphasis_places: np.ndarray  # of int, -1 where there is none
    parameters: np.ndarray  # of the plan
    ends: np.ndarray  # (2, n_z) of int, dofs of the state at the ends of an element
    tolerances: np.ndarray  # (2,) over the references
    states: np.ndarray  # (n_runs, n_elements + 1, n_z) result
    found: np.ndarray  # (n_runs, 2) of int: status, -1 of those that were stopped, and iterations
    stop: np.ndarray  # (1,) of int
    current: np.ndarray  # (1,) of int, the run to march


class Marcher:
    """One thread's march over the runs that it is given.

    Parameters
    ----------
    plan : ElementPlan
        Of its own, whose numbers it overwrites.
    mesh : TimeMesh
    settings : Newton
    """

    def __init__(self, plan, mesh, settings):
        self.plan, self.mesh, self.settings, c = plan, mesh, settings, plan.columns
        self._x, self._nodes = np.zeros(c.n_node + mesh.n_elements * c.step), np.ascontiguousarray(mesh.nodes[:-1])
        self._lengths = np.ascontiguousarray(mesh.lengths)
        self._ends, self._loops = np.ascontiguousarray(c.first[[0, -1]]), {}

    def run(self, runs, scaling, states, stop, lock, look):
        """March some runs, and put their states at all nodes into `states`.

        Parameters
        ----------
        runs : Runs
        scaling : Scaling
            Of one of them; bodies count apart in all of them or in none.
        states : ndarray, shape (n_runs, n_elements + 1, n_z)
            NaN behind a failure.
        stop : ndarray of int, shape (1,)
            Not zero as soon as runs are to end.
        lock : threading.Lock
            Held by this thread; others have it during the march. CasADi is not to be called in two threads at once.
        look : callable
            `look(r, x)` is called after run r that converged, with all its dofs, until the next run takes their place.

        Returns
        -------
        list of (str, int)
            "converged", why it failed, or "stopped"; and the iterations of Newton's method, of all elements.
        """
        settings, emphasized = self.settings, scaling.emphasis is not None
        if emphasized not in self._loops:
            self._loops[emphasized] = LoopArrays(self.plan, scaling)
        loop = self._loops[emphasized]
        places = loop.emphasis_places if emphasized else np.zeros(0, np.int64)
        found, current = np.tile([-1, 0], (len(states), 1)), np.zeros(1, np.int64)
        march = loop.march(self._x, self._nodes, self._lengths, settings, 1.0)
        own = RunArrays(*runs, *loop.places, places, self.plan.arrays.parameters, self._ends, march.tolerances.copy(),
                        states, found, stop, current)
        for r in range(len(states)):
            current[0] = r
            lock.release()
            try:
                march_run(march, own)
            finally:
                lock.acquire()
            if found[r, 0] == 0:
                look(r, self._x)
        return [(REASONS[code] if code > 0 else Reason.STOPPED if code else Reason.CONVERGED, count)
                for code, count in found.tolist()]


@compiled(error_model="numpy", _nrt=False, nogil=True)
def march_run(march, runs):
    """March the current run."""
    loop, work, x, h, found = march.loop, march.work, march.x, march.h, runs.found
    n, step, r = h.shape[0], loop.step.plan.n_columns - loop.n_node, runs.current[0]
    for i in range(runs.numbers.shape[1]):
        runs.parameters[i] = runs.numbers[r, i]
    for i in range(runs.size_places.shape[0]):
        loop.sizes[i] = runs.sizes[r, runs.size_places[i]]
    for i in range(runs.weight_places.shape[0]):
        loop.weights[i] = runs.sizes[r, runs.weight_places[i]]
    for i in range(runs.emphasis_places.shape[0]):
        k = runs.emphasis_places[i]
        loop.emphasis[i] = runs.emphasis[r, k] if k >= 0 else 1.0
    for i in range(work.kept.shape[0]):
        work.kept[i] = NOTHING_KEPT[i]
    for i in range(runs.first.shape[1]):
        x[i] = runs.first[r, i]
    for k in range(n):
        march.iterations[k] = 0
    for i in range(2):
        march.tolerances[i] = runs.tolerances[i] * runs.references[r]
    e, code = 0, 0
    while e < n and code == 0 and runs.stop[0] == 0:
        e, code, _ = march_elements(march, e, min(e + RUNS_CHUNK, n))
    found[r, 0], found[r, 1] = -1 if code == 0 and e < n else code, 0
    for k in range(n):
        found[r, 1] += abs(march.iterations[k])
    for c in range(runs.ends.shape[1]):
        runs.states[r, 0, c] = x[runs.ends[0, c]]
        for k in range(n):
            runs.states[r, k + 1, c] = x[k * step + runs.ends[1, c]] if k < e else np.nan
