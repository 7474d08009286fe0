"""Marches of systems with rigid contact, the solution that comes of them, its errors on meshes that are halved, and
checkpoints."""

from __future__ import annotations

import json
import time
from collections import Counter
from copy import copy
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import validate
from ...errors import InputError, NotAsked, warn
from ...interrupts import answer, asked
from ...memory import Late
from ...progress import progress
from ...solution.contact_solution import ContactSolution
from ...solvers.equations.outcome import NodalValues, Outcome
from ...solvers.march.motion import size_of_motion
from ...solvers.nonlinear.newton import Newton
from ...status import Status
from ..refinement import ErrorEstimate, Estimated
from ..statistics import solve_statistics

if TYPE_CHECKING:
    from ...assembly import TimeMesh
    from ...mechanics.states.given import GivenStates
    from ...solution import Solution
    from ..phases.problem import Phases

checkpoint = Late(f"{__package__}.checkpoint")
contact_march = Late("timefem.solvers.nonsmooth.contact_march")
events = Late("timefem.solvers.nonsmooth.events")
modes = Late("timefem.solvers.nonsmooth.modes")
options = Late("timefem.solvers.nonsmooth.options")
sharing = Late("timefem.solvers.nonsmooth.sharing")
states = Late("timefem.solvers.nonsmooth.states")
assembly = Late("timefem.assembly")
evaluate = Late("timefem.mechanics.values.evaluate")
hdf5 = Late("timefem.solution.output.hdf5")
save = Late("timefem.solution.output.save")
contact_sequence = Late("timefem.problems.phases.contact_sequence")
scipy = Late("scipy")


class ContactMotion(ContactSolution):
    """A `ContactSolution` of a march."""

    def phases(self, *, start: GivenStates | None = None, end: GivenStates | None = None, duration: str = "same",
               periodic: bool = False, cost: Any = None, actuators: Any = (), bounds: Any = None,
               limits: Any = ()) -> Phases:
        """The motion as `Phases` between its events, which `solve` finds all at once, with this motion as the guess.

        Phases have the systems of their modes, with closed contacts as constraints, and lengths that are free; links
        are what vanishes at events, and the laws of impact with the statuses that were found. What is to hold besides,
        open gaps, forces that push, friction in its cone, is looked at afterwards: a `NotSolved` warning names what is
        violated.

        Parameters
        ----------
        start : dict, optional
            Body -> state or `EndState` at the start; what is left out is free. Default: that of this motion.
        end : dict, optional
            Of the end, as in `OptimalControl`.
        duration : {"same", "free"}
            Of the whole motion.
        periodic : bool
            Whether the state at the end is that at the start.
        cost, actuators, bounds, limits
            Of each phase, as in `OptimalControl`. What moved these actuators in the march, a `Controller`, is left out;
            one by the time alone is the guess of their controls. Without these controls are zero, as in the march.

        Returns
        -------
        Phases

        Raises
        ------
        InputError
            For sequences that are not phases between single events; says why.
        """
        given = {"start": start, "end": end, "duration": validate.choice("duration", duration, ("same", "free")),
                 "periodic": validate.flag("periodic", periodic), "cost": cost, "actuators": actuators,
                 "bounds": bounds, "limits": limits}
        return contact_sequence.ContactSequence(self, given).problem()


def check_contacts(problem, element):
    """Refuse elements that cannot march with the rigid contacts of a system, and bodies that overlap at the start."""
    modes.refuse(problem.system, element)
    contacts = states.contacts_of(problem.system)
    start = contacts.at_state(problem.t_span[0], problem.z0)
    sizes = _sizes(problem, start)
    for name, (part, _), gap, size in zip(contacts.names, contacts.parts, start.gap[0], sizes, strict=True):
        if gap < -options.CONTACT.inside * size:
            raise InputError(f"{name} overlaps at the start by {-gap:.3g}: rigid bodies start apart, or touch"
                             f"{part.where_overlapping}")
    touches = np.abs(start.gap[0]) <= options.CONTACT.inside * sizes
    _report_idle_friction(start, touches & (start.friction[0] > 0) & ~contacts.persistent)


def _report_idle_friction(start, rows):
    """Warn of contacts with friction that touch where constraints hold the gap: these carry the load."""
    if not rows.any():
        return
    normal = start.jacobian.dense_rows(3 * np.arange(start.contacts.n))[0]
    free = (normal**2 / start.contacts.system.mass_scale).sum(axis=1)  # mobility without constraints
    held = (start.rooted[::3]**2).sum(axis=1) <= options.RANK.dependent**2 * free
    names = [start.contacts.names[c] for c in np.flatnonzero(rows & held)]
    if names:
        warn(f"{', '.join(names[:4])}: touches where joints hold the gap, and these carry the load: the contact has no "
             "force and no friction; leave the joint free along the normal, or give it the friction "
             "(JointFriction, BearingFriction)", NotAsked)


def _sizes(problem, start):
    """Sizes of gaps at the start, shape (n_contacts,): of the places, with the way that speeds make, of all bodies that
    constraints join to theirs, or contacts that touch. What these hold at the origin is off by the rounding of the
    others; a body that nothing joins has no part in it. Where something overlaps, of other terms of gaps, too."""
    system, t, z = problem.system, problem.t_span[0], problem.z0
    lengths = np.abs(z[:system.n_q]) + np.abs(system.velocity(t, z)) * (problem.t_span[1] - t)
    own = [np.arange(system.n_q)[system.coordinates(body)] for body in system.bodies]
    places = np.concatenate([np.zeros(0, int), *(
        one[:body.dimension] for body, one in zip(system.bodies, own, strict=True)
        if body.has_position and body.begins_with_position)])
    seen = np.abs(start.jacobian.dense_rows(3 * np.arange(start.contacts.n))[0])
    held, joined = start.gradient, [*own]
    joined += [held.columns[held.rows == row] for row in range(held.shape[0])]
    for _ in range(2):
        label = _labels(joined, system.n_q)
        largest = np.zeros(system.n_q)
        np.maximum.at(largest, label[places], lengths[places])
        alike = lengths.copy()
        alike[places] = largest[label[places]]
        sizes = seen @ alike
        joined += [np.flatnonzero(row) for row in seen[start.gap[0] <= options.CONTACT.inside * sizes]]
    if (start.gap[0] < -options.CONTACT.inside * sizes).any():  # such as lengths of links
        terms, = evaluate.quantities_at(system, np.array([t]), z[None], "gap terms", repeatable=False)
        sizes += np.where(np.isfinite(terms[0]), terms[0], 0.0)
    return sizes


def _labels(joined, n):
    """Numbers of the sets of n coordinates that lists of them join."""
    rows = np.repeat(np.arange(len(joined)), [len(one) for one in joined])
    graph = scipy.sparse.coo_array((np.ones(len(rows)), (n + rows, np.concatenate([np.zeros(0, int), *joined]))),
                                   shape=(n + len(joined),) * 2)
    return scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:n]


def march_with_contacts(task, mesh, samples=None):
    """Solve the initial-value problem of a `Task` with rigid contacts on a mesh, and `Samples` of controllers in
    discrete time, if any; a `ContactMotion`.

    Raises
    ------
    InputError
        For drivers other than march, and for checkpoints of other marches.
    """
    problem, start = task.problem, time.perf_counter()
    system, driver, settings = problem.system, task.driver, task.newton or Newton()
    label = system.label(system.rigid_contacts[0])
    if driver.name != "march":
        raise InputError(f"{label} is a rigid contact, whose impacts driver={driver.name!r} does not find; use "
                         "driver='march', or give it a stiffness")
    reference = cache(partial(_reference, driver, system, task.element, mesh, problem.z0))
    how = modes.Marching(task.kept, driver.scaling, reference, settings, driver.keep_mesh, {})
    march = contact_march.ContactMarch(system, task.element, mesh, problem.z0, how)
    before, recorder = None, None
    if task.checkpoint is not None:
        before, recorder = _opened(task, mesh, march)
    try:
        with progress("march", mesh.n_elements, task.progress) as bar:
            done, n_elements = 0, march.n_elements

            def advance(t):
                nonlocal done, n_elements
                last, done = done, int(np.searchsorted(mesh.nodes, t, side="right")) - 1
                bar.advance(done - last)
                new, n_elements = march.n_elements - n_elements, march.n_elements
                if recorder is not None:
                    return recorder.visit(
                        new, lambda: _contents(_solution(task, march, before), march))
                stop = asked() is not None
                if stop:
                    answer()
                return stop

            seconds = {"setup": time.perf_counter() - start}
            if samples is None:
                march.run(advance)
            else:
                task = _run_with(samples, march, before, advance, task)
    finally:
        if recorder is not None:
            recorder.close()
    seconds |= {"assemble": 0.0, "solve": time.perf_counter() - start - seconds["setup"]}
    seconds["total"] = sum(seconds.values())
    return _told(task, mesh, march, seconds, _solution(task, march, before))


def _run_with(samples, march, before, advance, task):
    """March from one change of held forces to the next; returns the `Task` with the system that holds all of them."""
    nodes = samples.mesh.nodes
    for first, last in pairwise(samples.ends):
        if nodes[last] <= march.t:  # before the checkpoint, or at its end
            samples.at(nodes[first], before(nodes[first]))
            continue
        goes_on = nodes[first] < march.t
        system = samples.at(nodes[first], before(nodes[first]) if goes_on else march.z)
        march.change(system, assembly.TimeMesh(nodes[:last + 1]), anew=not goes_on)
        if not march.run(advance).status.success:
            break
    problem = copy(task.problem)
    problem.system = samples.whole
    return replace(task, problem=problem)


def _reference(driver, system, element, mesh, z0):
    free = sharing.without_contacts(system)
    return assembly.Scaling.of(driver.scaling, free, element, mesh.nodes[0], z0).reference


def _solution(task, march, before=None):
    """The motion so far, after that `before`, a `ContactMotion`."""
    system, element, contacts = task.problem.system, task.element, march.contacts
    solved, pieces, basis = [piece.solved for piece in march.pieces], march.pieces, element.multiplier.basis.n_shapes
    counts = [len(s.state) for s in solved]
    nodal = [np.zeros((0, element.degree + 1, system.n_z)), *(s.state for s in solved)]
    multipliers = [np.zeros((0, basis, system.n_multipliers)), *(s.multipliers for s in solved)]
    own = {"forces": np.concatenate([np.zeros((0, basis, contacts.n, 3)), *(s.forces for s in solved)])}
    for name, values in {
            "modes": [piece.mode.modes for piece in pieces], "signs": [piece.mode.signs for piece in pieces],
            "directions": [piece.directions for piece in pieces]}.items():
        shape = {"directions": (contacts.n, 2)}.get(name, (contacts.n,))
        one = np.array(values, float).reshape(len(values), *shape)
        own[name] = np.repeat(one, counts, axis=0)
    own["entered"] = np.concatenate([np.zeros((0, 1)), *(
        np.broadcast_to(piece.entered, n)[:, None] for piece, n in zip(pieces, counts, strict=True))])
    t = [np.atleast_1d(march.mesh.nodes[0]), *(s.nodes[1:] for s in solved)]
    fields = [s.others for s in solved]
    if before is not None:
        nodal, multipliers = [before.nodal.state, *nodal], [before.nodal.multipliers, *multipliers]
        t[0], fields = before.t, [before.fields, *fields]
        arrays = before.contact_arrays()
        own = {name: np.concatenate([arrays[name], values]) for name, values in own.items()}
    names = set(element.trial).intersection(*fields) if fields else set()
    others = {name: np.concatenate([some[name] for some in fields]) for name in names}
    own["located"] = np.array([(node, events.LOCATED.index(kind), c) for node, kind, c in march.located],
                              float).reshape(-1, 3)
    values = NodalValues(np.concatenate(nodal), np.concatenate(multipliers), others)
    solution = ContactMotion.of(system, element, np.concatenate(t), task.problem.z0, values, march.status, {})
    solution.take_contacts(march.events, own)
    return solution


def _told(task, mesh, march, seconds, solution):
    """The solution with its status and statistics."""
    kinds = [event.kind for event in march.events]
    found = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    status = march.status
    if status.success and found:
        said = ", ".join(f"{number} {kind}" for kind, number in found.items())
        first = next((event for event in march.events if event.kind == events.FALLBACK_BEGINS), None)
        said += f" (first at t = {first.t:.6g} of {', '.join(first.contacts[:4])})" if first else ""
        solution.status = Status(True, message=f"{status.message}; contacts: {said}")
    iterations = np.concatenate([np.zeros(0, int), *(np.abs(piece.solved.iterations) for piece in march.pieces)])
    outcome = Outcome(solution.nodal.state, solution.status, iterations.astype(int), 0, seconds)
    outcome.n_unknowns = max((system.plan.rows.n_interior for system in march.systems), default=0)
    solution.statistics = solve_statistics(task.driver, None, mesh, outcome, contact_events=found)
    return solution


class MarchErrors(ErrorEstimate):
    """Of marches with rigid contact or sampled controllers, from the difference of one and that on elements of twice
    the length.

    Momenta jump at events, which are at slightly different times: states are compared at the nodes that both meshes
    share with as many events before, and the times of events, relative to the time span. Where the sequences of events
    part, only coordinates are compared from there on, which do not jump. Differences fall by a factor r from mesh to
    mesh, 2^p at most for elements of order p; the error is 1 / (r - 1) of the last one.
    """

    grades = False

    def __init__(self, problem, element):
        super().__init__(problem, element)
        self._before, self._difference, self._alike, self._longer = None, np.inf, -1, True

    def __call__(self, sol: Solution, mesh: TimeMesh, goal: float) -> Estimated:
        before, last, self._before = self._before, self._difference, sol
        errors = {"state": np.inf}
        if before is not None:
            errors, alike = self._differences(before, sol)
            self._difference = difference = max(errors.values())
            fall = np.clip(last / difference if difference else np.inf, 2.0, 2.0**self.element.order)
            if not np.isfinite(last):  # one difference does not tell how they fall
                fall = 2.0
            errors = {name: float(value / (fall - 1)) for name, value in errors.items()}
            self._longer, self._alike = alike > self._alike, alike
        return Estimated(max(errors.values()), np.ones(mesh.n_elements), 2 * mesh.n_elements, errors)

    def is_stuck(self, error: float) -> bool:
        """Not as long as more events are alike than on the mesh before."""
        return not self._longer

    def size(self, sol: Solution) -> np.ndarray:
        """By accelerations within elements: jumps of momenta have none."""
        starts = np.concatenate([sol.nodal.state[:, 0], sol.z[-1:]])
        return size_of_motion(self.problem.system, sol.t, starts, sol.nodal.state[:, -1])

    def _differences(self, before, now):
        """Relative differences of two marches by what differs, and how many of their first events are alike."""
        t = np.intersect1d(before.t, now.t)
        span = self.problem.t_span[1] - self.problem.t_span[0]
        pairs = list(zip(before.events, now.events, strict=False))
        alike = len(list(takewhile(lambda pair: _same(*pair), pairs)))
        first, second = ([event.t for event in motion.events] for motion in (before, now))
        shifts = np.abs(np.subtract(first[:alike], second[:alike]))
        parts = min([*first[alike:alike + 1], *second[alike:alike + 1], np.inf])
        counts = [np.searchsorted(times, t, side="right") for times in (first, second)]
        change = np.abs(now(t) - before(t)) / self.size(now)
        comparable = (counts[0] == counts[1]) & (t < parts) & ~np.isin(t, [*first, *second])
        n_q = self.problem.system.n_q
        state = max(change[comparable].max(initial=0.0), change[:, :n_q].max(initial=0.0))
        return {"state": float(state), "times of events": float(shifts.max(initial=0.0) / span)}, alike


def _same(one, other):
    return one.kind == other.kind and one.contacts == other.contacts


# ---- Checkpoints: the motion so far, and what a march is to know to go on

MOTION, MEMORY = "motion", "march"  # group of a checkpoint with the solution, dataset with the rest


def _opened(task, mesh, march):
    """Of a `Task` with a checkpoint the motion to go on from, or None, taken by its march, and the `Recorder` or None.
    """
    problem, option, before = task.problem, task.checkpoint, None
    plan = task.kept.plan(problem.system, task.element)
    saved, recorder, found = option.open(plan, mesh, problem.z0, task.driver.identity())
    try:
        if found.n_elements != mesh.n_elements:  # halved elements of a march without contacts are nodes of its mesh
            raise InputError(f"{option.restart} belongs to another solve: the mesh has {found.n_elements} elements "
                             f"there, {mesh.n_elements} here")
        before = None if saved is None else _resume(march, task.element, saved)
    except InputError:
        if recorder is not None:
            recorder.close()
        raise
    return before, recorder


def _contents(motion, march):
    """Arguments of `Recorder.write`."""
    return 0, 0, [], None, partial(_write, motion=motion, march=march)


def _write(file, motion, march):
    """Write a `ContactMotion` so far, and what its march is to know besides, into a checkpoint."""
    group = file.create_group(MOTION)
    save.make_room(group, motion, len(motion.t) - 1, motion.t[0], motion.z[0])
    save.fill(group, motion, 0)
    own = march.mode.sharing
    known = {"t": float(march.t), "z": march.z.tolist(), "modes": march.modes.tolist(),
             "signs": list(march.mode.signs), "directions": march.directions.tolist(),
             "sharing": [own.rows.tolist(), own.n_normal, own.own.tolist(), own.matrix.tolist()],
             "zero": sorted([kind, int(c)] for kind, c in march.zero), "sizes": march.law.sizes.tolist(),
             "pace": vars(march.pace)}
    file.create_dataset(MEMORY, data=np.frombuffer(json.dumps(known).encode(), np.uint8), **checkpoint.CHECKED)


def _resume(march, element, saved):
    """Let a march go on from a `Checkpoint`; returns the motion before.

    Raises
    ------
    InputError
        When the file holds something else than such a march.
    """
    system, n = march.contacts.system, march.contacts.n
    with saved.opened() as file:
        motion = save.read_arrays(hdf5.group(file, MOTION), system, element, Status(True), {})
        known = json.loads(bytes(hdf5.dataset(file, MEMORY, (None,), np.uint8)[()]))
        rows, n_normal, kept, matrix = known["sharing"]
        rows, kept = np.array(rows, int), np.array(kept, int)
        shared = sharing.Sharing(rows, n_normal, kept, np.array(matrix, float).reshape(len(rows), len(kept)))
        march.t, march.z = float(known["t"]), np.array(known["z"], float).reshape(system.n_z)
        march.n_elements = len(motion.t) - 1
        march.modes = np.array(known["modes"], int).reshape(n)
        march.mode = contact_march.Mode(tuple(known["modes"]), tuple(known["signs"]), shared)
        march.directions = np.array(known["directions"], float).reshape(n, 2)
        march.zero = {(kind, c) for kind, c in known["zero"]}
        march.law.take_sizes(np.array(known["sizes"], float).reshape(6, n))
        march.pace = contact_march.Pace(**known["pace"] | {"here": Counter(known["pace"]["here"])})
        march.events, march.located = list(motion.events), list(motion.located)
        if march.t != motion.t[-1]:
            raise InputError("its march is not where its elements end")
    return motion
