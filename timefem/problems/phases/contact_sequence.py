"""A marched motion with rigid contact as phases: each between two events, with what happens there as links."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ...errors import InputError, NotSolved, warn
from ...mechanics.contacts.rigid import refuse_samples
from ...mechanics.forces.controllers import Controller
from ...mechanics.numbers.records import made_of
from ...mechanics.states.given import states_of
from ...mechanics.values.equations_of_motion import parts_by_time
from ...solvers.nonsmooth import events
from ...solvers.nonsmooth.derivatives.node_tangents import NodeTangents
from ...solvers.nonsmooth.derivatives.tangents import CONTACTS, FORCES, IMPACT, VELOCITY, Rows, force_solve, numbers_of
from ...solvers.nonsmooth.options import CONTACT
from ...solvers.nonsmooth.sharing import BEGINS, CLOSED, HELD, OPEN, SLIDES, STICKS
from ...solvers.nonsmooth.states import Contacts
from ..end import null_space, unit_rows
from ..optimal.guesses.guess import Guess
from ..optimal.problem import OptimalControl
from ..optimal.statement.couplings import Coupling, SameState
from ..targets import EndState
from .problem import Phases

if TYPE_CHECKING:
    from ...solution.contact_solution import ContactSolution

BEGINS_AT, IMPULSE, FORCE = "begins", "impulse", "force"  # unknown numbers of phases


class _Stretch(NamedTuple):
    """Elements start, ..., stop - 1, with the system of their mode."""

    start: int
    stop: int
    own: Any


class _Marched:
    """The motion of a march in a phase, and the forces of the constraints that the phase has, as a guess.

    Parameters
    ----------
    solution : ContactSolution
    stretch : _Stretch
    """

    def __init__(self, solution, stretch):
        self.sol, self.own = solution, stretch.own
        self.first, self.t = stretch.start, solution.t[stretch.start:stretch.stop + 1]
        self.begun = 0  # elements in which slips in space begin
        if self.first:
            begins = (solution.contact_modes[self.first:stretch.stop] == BEGINS).any(axis=1)
            self.begun = len(begins) if begins.all() else int(begins.argmin())

    def __call__(self, times):
        """States, (n, n_z): as they are between nodes. Slips in space that begin grow with the square of the time, and
        have their direction from there."""
        state, basis, last = self.sol.nodal.state, self.sol.element.state.basis, self.first + self.begun
        e, xi = self._places(times)
        found = np.einsum("ns,nsz->nz", basis.values(xi).astype(float), state[e])
        if self.begun and last < self.first + len(self.t) - 1:
            (before, h), z = (self.first - 1, self.t[0] - self.sol.t[self.first - 1]), state[self.first, 0]
            rate = basis.derivatives(np.ones(1))[0].astype(float) @ state[before] / h
            length, early = self.t[self.begun + 1] - self.t[0], times < self.t[self.begun + 1]
            since = (times[early] - self.t[0])[:, None]
            found[early] = z + since * rate + (since / length)**2 * (state[last, -1] - z - length * rate)
        return found

    def marched_forces(self, times):
        """Of the constraints of the system of the phase, (..., n_constraints)."""
        sol, sharing, m = self.sol, self.own.mode.sharing, self.sol.system.n_constraints
        e, xi = self._places(times.ravel())
        shapes = sol.element.multiplier.basis.values(xi).astype(float)
        pushes = np.einsum("ns,nsc->nc", shapes, sol.nodal_contact_forces[e].reshape(len(shapes), shapes.shape[1], -1))
        pushes = pushes[:, sharing.rows] @ np.linalg.pinv(sharing.matrix).T
        held = np.einsum("ns,nsc->nc", shapes, sol.nodal.multipliers[e][..., :m])
        return np.concatenate([held, pushes[:, sharing.own % 3 == 0]], axis=1).reshape(*times.shape, -1)

    def _places(self, times):
        e = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        return self.first + e, (times - self.t[e]) / (self.t[e + 1] - self.t[e])


class ContactSequence:
    """The phases of a solution, and what is to hold in them besides.

    Parameters
    ----------
    solution : ContactSolution
    given : dict
        Arguments of `ContactSolution.phases`.
    """

    def __init__(self, solution: ContactSolution, given: dict[str, Any]) -> None:
        if not solution.success:
            raise InputError(f"phases: the march failed, and has no sequence of contacts: {solution.status.message}")
        self.solution, self.given = solution, given
        self.system, self._guessed = _without_controllers(solution.system, given["actuators"])
        refuse_samples(self.system, "a sequence of phases")
        self.contacts = Contacts(self.system)
        self.nodes = NodeTangents(self.contacts, solution)
        self._check()
        bounds = [0, *self._cuts(), len(solution.t) - 1]
        self.stretches = [_Stretch(*pair, self.nodes.mode_system(pair[1] - 1, begun=True)) for pair in pairwise(bounds)]
        self._at = Rows(self.system, CONTACTS)
        self._timed = bool(parts_by_time(self.system))

    def _check(self):
        sol = self.solution
        for event in sol.events:
            if event.kind.startswith(events.FALLBACK) or event.kind == events.JAM:
                raise InputError(f"phases: {event.kind} at t = {event.t:g} has no law of its own; take more elements, "
                                 "or let the motion end before")
        if any(kind == events.LEAVES for _, kind, _ in sol.located):
            raise InputError("phases: contacts that leave at the end of their surfaces are not taken")
        for e in np.flatnonzero((sol.contact_modes == BEGINS).any(axis=1)).tolist():
            sharing = self.nodes.mode_system(e).mode.sharing
            if len(sharing.own) < len(sharing.rows):
                raise InputError(f"phases: slips in space that begin at t = {sol.t[e]:g} where contacts share their "
                                 "forces, as corners of a box do, are not taken")
        for t, names in self.nodes.simultaneous():
            raise InputError(f"phases: {', '.join(names)} have events at the same time t = {t:g}; phases are between "
                             "single events")

    def _cuts(self):
        # slips in space that begin have their directions from the whole phase: the short element is none of its own
        return sorted({node for node, kind, _ in self.solution.located if kind not in (events.TOUCHES, events.BEGINNING)
                       and 0 < node < len(self.solution.t) - 1})

    def problem(self) -> Phases:
        """The phases, with their guess."""
        sol, given, phases, links, guesses, names = self.solution, self.given, [], [], [], []
        last = len(self.stretches) - 1
        for k, stretch in enumerate(self.stretches):
            self.jumps = [None] if k == 0 else [*self.jumps, self._jump(k)]
            phases.append(self._phase(k, stretch, last))
            duration = float(sol.t[stretch.stop] - sol.t[stretch.start])
            guesses.append(Guess(_Marched(sol, stretch), controls=self._guessed or None, duration=duration))
            names.append(self._name(stretch))
        for k in range(last):
            links.append([Coupling(self._link(k), name=self._event_name(k))])
        couplings = SameState(phases[-1], phases[0], name="periodic", closing=True) if given["periodic"] else ()
        return Phases(phases, links, couplings, names, guesses, self)

    # ---- phases

    def _name(self, stretch):
        words = {CLOSED: "closed", SLIDES: "slides", STICKS: "sticks", HELD: "held"}
        said = [f"{name} {words[mode]}" for name, mode in zip(self.contacts.names, stretch.own.mode.modes, strict=True)
                if mode != OPEN]
        return ", ".join(said) or "free"

    def _event_name(self, k):
        node = self.stretches[k].stop
        kind, c = self.nodes.located(node)
        return f"{self.contacts.names[c]} {kind}"

    def _phase(self, k, stretch, last):
        sol, given, system = self.solution, self.given, stretch.own.system
        t0, t1 = (float(sol.t[i]) for i in (stretch.start, stretch.stop))
        z, n = sol.nodal.state[stretch.start, 0].copy(), self.system.n_q
        rounding = CONTACT.violated * np.abs(sol.nodal.state[..., n:]).max()
        z[n:][np.abs(z[n:]) < rounding] = 0.0  # of what rests, where it would be taken for a size
        near = states_of(system, z)
        # turns are counted from the start of the first phase on
        free = {body: EndState() for body in near if k or not body.helper}
        start = near if given["start"] is None and not given["periodic"] else {**free, **(given["start"] or {})}
        parameters = {BEGINS_AT: t0}
        if self.jumps[k] is not None:
            parameters |= _named(IMPULSE, self.jumps[k][1])
        force = self._forces(k)
        if force is not None:
            parameters |= _named(FORCE, force)
        conditions = []
        if k == 0:
            conditions.append(lambda end, p: p[BEGINS_AT] - t0)
        if k == last and given["duration"] == "same":
            conditions.append(lambda end, p: p[BEGINS_AT] + p["duration"] - float(sol.t[-1]))
        cost, bounds = {"cost": given["cost"]}, given["bounds"]
        if given["cost"] is None:
            cost = {"end_cost": lambda end, p: 0 * end.t}
            if bounds is None and not given["actuators"]:  # as in the march
                bounds = {part: (0.0, 0.0) for part in system.parts if part.n_controls}
        return OptimalControl(
            system, start if k == 0 else free, given["end"] if k == last else None, (t0, t1), **cost,
            actuators=given["actuators"], parameters=parameters, free_time=True, bounds=bounds,
            limits=given["limits"], end_conditions=(lambda end, p: ca.vertcat(*(own(end, p) for own in conditions)))
            if conditions else None, near=near if k or start is not near else None,
            begins=BEGINS_AT if self._timed else None)

    # ---- links

    def _jump(self, k):
        """The system of the impact at the start of a phase and its impulses; None where there is none."""
        node = self.stretches[k].start
        found = [event for event in self.solution.events if event.node == node and event.kind == events.IMPACT]
        return self.nodes.struck(node, found[0]) if found else None

    def _forces(self, k):
        """Accelerations and forces at the end of a phase that ends where forces say so; None elsewhere."""
        stretch = self.stretches[k]
        if k == len(self.stretches) - 1 or self.nodes.located(stretch.stop)[0] not in (events.OPENS, events.SLIPS):
            return None
        if self.given["actuators"]:
            raise InputError(f"phases: {self._event_name(k)} by its forces, which controls change; leave actuators out")
        t, z, system = self.solution.t[stretch.stop], self.solution.z[stretch.stop], stretch.own.system
        q, v, numbers = z[:system.n_q], self.nodes.velocity(t, z), numbers_of(system, self.system)
        return force_solve(Rows(system, FORCES), t, q, v, numbers)[1]

    def _link(self, k):
        """Formula of what happens between two phases."""
        before, after = self.stretches[k:k + 2]
        kind, c = self.nodes.located(before.stop)
        n, t, z = self.system.n_q, self.solution.t[after.start], self.solution.nodal.state[after.start, 0]
        helpers = self.contacts.helpers.tolist()
        rows = Rows(after.own.system, VELOCITY)
        _, by, _ = rows(t, q=z[:n], v=self.nodes.velocity(t, z))
        levels = by[n:, rows.columns["v"]]
        open_q = null_space(unit_rows(levels[:after.own.system.n_constraints]))
        open_v = null_space(unit_rows(levels))
        jump, event, impulses = self.jumps[k + 1], self._event_row(k, kind, c), 0
        if jump is not None:
            struck = Rows(jump[0], IMPACT)
            impulses = len(jump[1])
            kept = self._kept_rows(jump[0], after)

        def formula(one, two):
            q, v, w = one.z[:n], self._velocity(one), self._velocity(two)
            found = [two.parameters[BEGINS_AT] - one.parameters[BEGINS_AT] - one.parameters["duration"],
                     event(one, q, v), ca.DM(open_q.T) @ (two.z[:n] - q)]
            if jump is None:
                found.append(ca.DM(open_v.T) @ (two.z[n:] - one.z[n:]))
            else:
                x = ca.vertcat(*(two.parameters[f"{IMPULSE} {i}"] for i in range(impulses)))
                m = jump[0].n_constraints
                balance = struck.as_expressions(one.t, q=q, a=v, v=w, gamma=x[:m], nu=x[m:])
                for i in helpers:
                    balance[i] = two.z[n + i] - one.z[n + i]
                found.append(balance[[*range(n), *kept]])
            return ca.vertcat(*found)

        return formula

    def _velocity(self, end):
        v = ca.SX.zeros(self.system.n_q)
        for body in end.system.bodies:
            if body.has_rate and not body.is_counter:
                v[end.system.coordinates(body)] = end.rates(body)
        return v

    def _kept_rows(self, struck, after):
        """Rows of an impact that the phase after it does not keep by itself."""
        base, n, sharing = self.system, self.system.n_q, after.own.mode.sharing
        gap, slip, found = n + base.n_constraints, n + struck.n_constraints + base.n_nonholonomic, []
        index = {part: c for c, part in enumerate(self.contacts.parts)}
        for part in struck.parts:
            if not hasattr(part, "rubbing"):
                continue
            own = sharing.kept(index[part.contact, part.row])
            for i in part.kept:
                if i == 0:
                    found += [] if 0 in own else [gap]
                    gap += 1
                else:
                    found += [] if i in own else [slip]
                    slip += 1
        return found

    def _event_row(self, k, kind, c):
        """Formula of what vanishes at the end of a phase, `f(end, q, v)`."""
        stretch, rows = self.stretches[k], self._at
        slips = rows.first[2] + int(self.contacts.n_slip[:c].sum()) + np.arange(self.contacts.n_slip[c])
        if kind == events.CLOSES:
            return lambda end, q, v: rows.as_expressions(end.t, q=q, v=v)[c]
        if kind == events.STICKS:
            along = self.nodes._direction(stretch.stop, c)[:len(slips)]
            return lambda end, q, v: ca.dot(ca.DM(along), rows.as_expressions(end.t, q=q, v=v)[slips.tolist()])
        system, n = stretch.own.system, self.system.n_q
        balance, size = Rows(system, FORCES), self.system.n_q + system.n_constraints + system.n_nonholonomic
        t, z = self.solution.t[stretch.stop], self.solution.z[stretch.stop]
        terms = [(c, 1.0, None)]
        if kind == events.SLIPS:
            terms = self.nodes.at_limit(stretch.stop, stretch.own, t, z[:n], self.nodes.velocity(t, z), c)
            if self.contacts.n_slip[c] == 2 and c in stretch.own.mode.sharing.changes[0]:
                raise InputError(f"phases: {self._event_name(k)} where contacts share friction in space; along lines "
                                 "they are taken")
        matrices = [ca.DM(self.nodes._shares(stretch.own, i, size)) for i, _, _ in terms]

        def formula(end, q, v):
            x = ca.vertcat(*(end.parameters[f"{FORCE} {i}"] for i in range(size)))
            m = n + system.n_constraints
            found = balance.as_expressions(end.t, q=q, v=v, a=x[:n], gamma=x[n:m], nu=x[m:])
            for i in self.contacts.helpers.tolist():
                found[i] = x[i]
            if kind == events.OPENS:
                return ca.vertcat(found, (matrices[0] @ x)[0])
            law = rows.as_expressions(end.t, q=q, v=v, gamma=x[n:n + self.system.n_constraints])
            limit = 0
            for (i, weight, along), matrix in zip(terms, matrices, strict=True):
                force = matrix @ x
                pressed = law[int(rows.first[4]) + i] if self.contacts.persistent[i] else force[0]
                held = ca.dot(ca.DM(along), force[1:]) if len(slips) == 1 else ca.sqrt(ca.sumsqr(force[1:]))
                limit += weight * (law[int(rows.first[3]) + i] * pressed - held)
            return ca.vertcat(found, limit)

        return formula

    # ---- afterwards

    def __call__(self, found: Any) -> None:
        """Warn (`NotSolved`) of what of the sequence does not hold in a solution of the phases."""
        said = self.violations(found)
        if said:
            warn(f"the sequence of contacts does not hold, so that another one is needed: {'; '.join(said)}",
                 NotSolved)

    def violations(self, found: Any) -> list[str]:
        """What of the sequence does not hold in a solution of the phases."""
        said = []
        for k, (phase, stretch) in enumerate(zip(found.phases, self.stretches, strict=True)):
            contacts, name = self.contacts, f"phase {k} ({self._name(stretch)})"
            h = np.diff(phase.t)
            t = np.concatenate([phase.t[:-1, None] + h[:, None] * [0.0, 0.25, 0.5, 0.75], phase.t[1:, None]], axis=1)
            states = contacts.at_state(t.ravel(), phase(t.ravel()))
            size = np.abs(states.gap).max(initial=0.0)
            open_ = (np.array(stretch.own.mode.modes) == OPEN) & ~contacts.persistent
            for c in np.flatnonzero(open_ & (states.gap.min(axis=0) < -CONTACT.violated * max(size, 1e-300))):
                said.append(f"{name}: {contacts.names[c]} is penetrated by {-states.gap[:, c].min():.3g}")
            every, slips = phase._constraint_forces(t)
            forces = stretch.own._shared(every, {"nonholonomic": slips})[1]
            largest = np.abs(forces).max(initial=0.0)
            for c in np.flatnonzero(~open_ & ~contacts.persistent):
                if forces[..., c, 0].min(initial=0.0) < -CONTACT.violated * largest:
                    said.append(f"{name}: {contacts.names[c]} would have to pull, by {-forces[..., c, 0].min():.3g}")
                elif stretch.own.mode.modes[c] == STICKS:
                    limit = states.friction[:, c].max() * forces[..., c, 0]
                    over = (np.hypot(forces[..., c, 1], forces[..., c, 2]) - limit).max()
                    if over > CONTACT.violated * largest:
                        said.append(f"{name}: friction of {contacts.names[c]} is over its limit by {over:.3g}")
            for c in np.flatnonzero((np.array(stretch.own.mode.modes) == SLIDES) & (contacts.n_slip == 1)):
                back = (stretch.own.mode.signs[c] * states.gamma[:, c, 1]).min()
                if back < -CONTACT.violated * np.abs(states.gamma).max(initial=0.0):
                    said.append(f"{name}: {contacts.names[c]} slides the other way, with {-back:.3g}")
            said += self._impulses_that_pull(k, phase)
        return said

    def _impulses_that_pull(self, k, phase):
        if self.jumps[k] is None:
            return []
        system = self.jumps[k][0]
        gap = self.system.n_constraints
        found = []
        for part in system.parts:
            if hasattr(part, "rubbing") and 0 in part.kept:
                impulse = phase.parameters[f"{IMPULSE} {gap}"]
                if impulse < 0:
                    found.append(f"the impulse before phase {k} would have to pull: {impulse:.3g} of {part.name}")
                gap += 1
        return found


def _without_controllers(system, actuators):
    """The system without controllers of these actuators, and what they do, by the time, as dict drive -> function."""
    actuators = actuators if isinstance(actuators, list | tuple) else [actuators]
    left_out = [part for part in system.parts
                if isinstance(part, Controller) and all(drive in actuators for drive in part.drives)]
    if not left_out:
        return system, {}
    guessed = {}
    for part in left_out:
        if part.inputs:  # what they measured is that of another motion
            continue
        t, first = ca.SX.sym("t"), 0
        law = ca.Function("law", [t], [part._of_law(ca.SX(0, 1), ca.SX(0, 1), t, ca.DM(part.law_parameters))])
        for drive in part.drives:
            own = slice(first, first + drive.n_controls)
            guessed[drive] = lambda times, law=law, own=own: np.array(law(times[None])).T[:, own]
            first = own.stop
    return made_of(system, [part for part in system.parts if part not in left_out]), guessed


def _named(name, values):
    """Unknown numbers with their guesses, whose sizes scale them: what is rounding is zero."""
    kept = np.where(np.abs(values) > CONTACT.violated * np.abs(values).max(initial=0.0), values, 0.0)
    return {f"{name} {i}": float(x) for i, x in enumerate(kept)}
