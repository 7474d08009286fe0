"""Modes of contacts: each is a system with the closed contacts as constraints, and the element that marches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...assembly import Scaling, TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...errors import InputError
from ...mechanics.contacts import reacting
from ...mechanics.numbers.records import rebuilt
from ...mechanics.parts import grouped
from ...status import Status
from ..march.loop import march_elements
from ..march.march import REASONS, LoopArrays, Run, march, march_halving
from .sharing import ALONG_GIVEN, HOLDS, OPEN, RUBS, Sharing, without_contacts

SOLVED = Status(True)


class Mode(NamedTuple):
    """What each contact does.

    Attributes
    ----------
    modes : tuple of int
        OPEN, CLOSED, SLIDES, STICKS, BEGINS or HELD.
    signs : tuple of int
        Of slips along a line.
    sharing : Sharing
        Which rows are constraints, and how forces follow from theirs.
    """

    modes: tuple
    signs: tuple
    sharing: Sharing


class Solved(NamedTuple):
    """Elements that were solved in one mode.

    Attributes
    ----------
    nodes : ndarray, shape (n + 1,)
    state : ndarray, shape (n, n_shapes, n_z)
    multipliers : ndarray, shape (n, n, n_multipliers)
        `(gamma, mu)` of the joints.
    forces : ndarray, shape (n, n, n_contacts, 3)
        Multipliers of the contacts.
    others : dict
    iterations : ndarray of int
    status : Status
        Of the elements that were to be solved.
    """

    nodes: np.ndarray
    state: np.ndarray
    multipliers: np.ndarray
    forces: np.ndarray
    others: dict
    iterations: np.ndarray
    status: object


class Piece(NamedTuple):
    """Elements in one mode, one after the other.

    Attributes
    ----------
    mode : Mode
    solved : Solved
    directions : ndarray, shape (n_contacts, 2)
        Of slips that begin.
    entered : int, or ndarray of int
        Node at which the mode was, of all elements or of each.
    """

    mode: Mode
    solved: object
    directions: np.ndarray
    entered: int | np.ndarray


class ModeSystem:
    """The system of one mode, with its element.

    Parameters
    ----------
    contacts : Contacts
    element : TimeElement
        Of the system without contacts.
    mode : Mode
    directions : ndarray, shape (n_contacts, 2)
        Of slips that begin.
    how : Marching
    further : sequence of Part
        Of the system besides.
    """

    def __init__(self, contacts, element, mode, directions, how, further=()):
        base = contacts.system
        self.contacts, self.mode, self.how = contacts, mode, how
        kept = {c: mode.sharing.kept(c) for c in range(contacts.n) if mode.modes[c] != OPEN}
        made = [reacting.ClosedContact(*contacts.parts[c], mode.modes[c] in HOLDS, rows,
                                     rubbing(contacts, mode, c, directions))
                for c, rows in kept.items() if rows or contacts.persistent[c]]
        self.system = without_contacts(base, [*made, *further], mode.sharing)
        vars(self.system)["groups"] = grouped(self.system, contacts.free)
        self.element = element_of(element, self.system)
        self.element.check(self.system)
        self.plan = how.plan(self.system, self.element, mode)
        self._loop = self._scale = self._one = self._two = None
        self.flight = None  # see `CompiledFlight`

    def take(self, parts):
        """Have parts with other numbers, a dict from part to part."""
        self.system = rebuilt(self.system, parts)
        self.plan.take(self.system)

    def directions(self, places, c):
        """Where numbers of the direction of a slip in space that begins stand among those of the system."""
        for part in self.system.parts:
            if isinstance(part, reacting.ClosedContact):
                for i, one in enumerate(part.rubbing):
                    if (one.contact, one.row) == tuple(self.contacts.parts[c]):
                        yield places.start[part] + part.first_direction + 3 * i

    def begin(self, how):
        """Be as new for another march of the same contacts, with the same scaling."""
        self.how, self._scale, self._one, self._two = how, None, None, None
        self.plan.take(self.system)  # solves that differ in numbers may share it
        if self._loop is not None:
            self._loop.forget()

    def march(self, nodes, z, exact=False, guess=None):
        """Elements from the state z on, `Solved`; unless `exact` halved where Newton's method fails."""
        if guess is not None:
            return self._guessed(nodes, *guess)
        if len(nodes) == 2 and exact:
            return self._element(nodes, z)
        mesh, x, n, status, iterations = self.dofs(nodes, z, exact)
        columns = self.plan.columns
        state, every, others = self.plan.unpack(x[:columns.n_node + n * columns.step])
        return Solved(mesh.nodes[:n + 1], state, *self._shared(every, others), iterations, status)

    def _element(self, nodes, z):
        """The same of one element, in memory that all of these share."""
        self.prepare(nodes[0], z)
        columns = self.plan.columns
        if self._one is None:
            self._one = self.arrays(np.zeros(columns.n_local), *np.zeros((2, 1)))
        one = self._one
        one.x[:] = self._first(TimeMesh(nodes), z) if self.element.form != "hamilton" else 0.0
        one.x[columns.first] = z
        one.t[0], one.h[0] = nodes[0], nodes[1] - nodes[0]
        return self._last(one, 0, nodes)

    def _last(self, arrays, e, nodes):
        """Solve the last element of those in `MarchArrays`, `Solved`."""
        self._loop.begin()
        stop, code, _ = march_elements(arrays, e, e + 1)
        x, history = arrays.x[e * self.plan.columns.step:], arrays.history
        n = stop - e
        status = SOLVED if n else Status.failure(REASONS[code], 0, nodes[0], history[np.isfinite(history)])
        state, every, others = self.plan.unpack(x if n else x[:self.plan.columns.n_node])
        return Solved(nodes[:n + 1], state, *self._shared(every, others), np.abs(arrays.iterations[e:stop]), status)

    def dofs(self, nodes, z, exact=False):
        """The same, as dofs in time order: mesh, dofs, number of elements solved, status, iterations."""
        mesh, how = TimeMesh(nodes), self.how
        self.prepare(nodes[0], z)
        multipliers = np.zeros(self.system.n_multipliers)
        run = Run(loop=self._loop)
        if self.system.n_nonholonomic:  # multipliers are linear unknowns: to look for good ones costs more
            run = run._replace(first=self._first(mesh, z))
        given = self.plan, mesh, z, multipliers, self._scale, how.settings, run
        if exact or how.keep_mesh:
            return mesh, *march(*given)
        return march_halving(*given)

    def again(self, nodes, states, pressed):
        """The same of elements whose nodal values (n, n_shapes, n_z) are known, and the normal forces that are
        multipliers at the start of each: slow slips in space are not found from any other guess."""
        columns, n = self.plan.columns, 0
        x, status = np.zeros(columns.n_node + len(states) * columns.step), SOLVED
        for known in zip(states, pressed, strict=True):
            status = self._guessed(nodes[n:n + 2], *known).status
            if not status.success:
                break
            x[n * columns.step:(n + 1) * columns.step + columns.n_node] = self._two[0].x[columns.step:]
            n += 1
        return TimeMesh(nodes), x, n, status

    def prepare(self, t, z):
        """Scaling, and the loop, by the first state."""
        if self._scale is None:
            self._scale = Scaling.of(self.how.scaling, self.system, self.element, t, z)
            if any(self.mode.modes):  # bodies at rest have small forces
                self._scale.reference = max(self._scale.reference, self.how.reference())
            if self._loop is None or not self._loop.rescale(self._scale):
                self._loop = LoopArrays(self.plan, self._scale)

    def arrays(self, x, starts, lengths):
        """`MarchArrays` of elements in dofs x, after `prepare`."""
        return self._loop.march(x, starts, lengths, self.how.settings, self._scale.reference)

    def spread(self, every):
        """Multipliers of the system, and those of contacts, of elements of a system with open contacts alone."""
        n, n_contacts = every.shape[:2], self.contacts.n
        if every.shape[2] < self.system.n_multipliers:
            every, own = np.zeros((*n, self.system.n_multipliers)), every
            every[..., self.element.kept_multipliers(self.system)] = own
        return every, np.broadcast_to(0.0, (*n, n_contacts, 3))

    def _guessed(self, nodes, state, pressed):
        """The same of one element with a guess of its nodal values (n_shapes, n_z), and of the normal forces that are
        multipliers: what an element before it would have that goes on so."""
        plan, basis, h = self.plan, self.element.state.basis, nodes[1] - nodes[0]
        self.prepare(nodes[0], state[0])
        multipliers, m = np.zeros(self.system.n_multipliers), self.contacts.system.n_constraints
        multipliers[m:m + len(pressed)] = pressed
        if self._two is None:
            x = np.zeros(plan.columns.n_node + 2 * plan.columns.step)
            self._two = self.arrays(x, *np.zeros((2, 2))), basis.values(basis.points - 1).astype(float)
        two, back = self._two
        before = plan.first_element(TimeMesh(np.array([nodes[0] - h, nodes[0]])), state[0], multipliers)
        before[plan.columns.first] = back @ state
        before[plan.columns.first[-1]] = state[0]
        two.x[:len(before)], two.x[len(before):] = before, 0.0
        two.t[:], two.h[:] = (nodes[0] - h, nodes[0]), h
        return self._last(two, 1, nodes)

    def _first(self, mesh, z):
        """Dofs of the first element, at rest without forces of contacts."""
        if self.element.form != "hamilton":
            return self.plan.first_element(mesh, z, np.zeros(self.system.n_multipliers))
        x = np.zeros(self.plan.columns.n_local)
        x[self.plan.columns.fields[0]] = z
        return x

    def _shared(self, every, others):
        """Multipliers of the system without contacts, those of the contacts, and further fields."""
        base, contacts = self.contacts.system, self.contacts
        m, own = base.n_constraints, self.system.n_constraints
        multipliers = np.concatenate([every[..., :m], every[..., own:own + m]], axis=-1)
        sharing = self.mode.sharing
        unknown = [every[..., m:own]]
        n, total = base.n_nonholonomic, self.system.n_nonholonomic
        impulses = {name for name, space in self.element.trial.items() if space.components == "impulses"}
        others = {name: values[..., :m] if name in impulses else values for name, values in others.items()}
        if total:
            values = others.pop("nonholonomic")
            unknown.append(values[..., n:total])
            if n:
                others["nonholonomic"] = np.concatenate([values[..., :n], values[..., total:total + n]], axis=-1)
        forces = np.zeros((*every.shape[:2], 3 * contacts.n))
        forces[..., sharing.rows] = np.concatenate(unknown, axis=-1) @ sharing.matrix.T
        return multipliers, forces.reshape(*every.shape[:2], contacts.n, 3), others


def rubbing(contacts, mode, c, directions):
    """What slides by the normal force that is the multiplier of a contact, or by its given one."""
    sharing = mode.sharing
    if contacts.persistent[c]:
        shares = {c: 1.0}
    else:
        normal = sharing.rows[:sharing.n_normal]
        column = np.flatnonzero(sharing.own == 3 * c)
        shares = {int(row) // 3: float(share) for row, share in zip(
            normal, sharing.matrix[:sharing.n_normal, column].sum(axis=1), strict=True) if share}
    found = []
    for other, share in shares.items():
        if mode.modes[other] in RUBS:
            given = mode.modes[other] in ALONG_GIVEN
            along = directions[other] if given else (mode.signs[other], 0.0)
            found.append(reacting.Rubbing(*contacts.parts[other], given, tuple(along), share))
    return found


def element_of(element, system):
    """The element that takes a system with constraints of closed contacts, of what sticks, and the friction of what
    slides, of which impulses do not tell."""
    rubs, held = any(getattr(part, "rubbing", ()) for part in system.parts), system.n_constraints
    not_taken = {"lagrange": held or system.n_nonholonomic, "impulse": system.n_nonholonomic or (held and rubs)}
    if not_taken.get(getattr(element, "form", None)):
        points = None if element.n_points == element.degree else element.n_points
        return replace(element, form="energy", n_points=points)
    return element


class Marching(NamedTuple):
    """How all modes are marched: plans of earlier solves, scaling, what gives the reference of the residual of the
    system without contacts, settings of Newton's method."""

    kept: object
    scaling: str
    reference: Callable[[], float]
    settings: object
    keep_mesh: bool
    plans: dict  # of this march, by element and mode

    def plan(self, system, element, mode):
        """The `ElementPlan` of a mode, with the numbers of that system."""
        plan = self.plans.get((element, mode))
        if plan is None or not plan.take(system):
            plan = self.plans[element, mode] = self._kept_plan(system, element, mode)
        return plan

    def _kept_plan(self, system, element, mode):
        if self.kept is None:
            return ElementPlan(system, element)
        return self.kept.thing(("mode", element, mode), ElementPlan, lambda: ElementPlan(system, element),
                               lambda plan: plan.take(system))


def refuse(system, element):
    """Refuse elements that cannot march with contacts, by name."""
    part = system.rigid_contacts[0]
    if type(element).__name__ != "MixedGalerkin":
        raise InputError(f"{system.label(part)} is a rigid contact, which {element!r} does not take; use "
                         "MixedGalerkin(k), or give the contact a stiffness")
    if element.lifted:
        raise InputError(f"{system.label(part)} is a rigid contact, which keep='all' does not take yet; use "
                         "MixedGalerkin(k)")
