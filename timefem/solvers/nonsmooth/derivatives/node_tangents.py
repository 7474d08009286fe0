"""The nodes of a march with rigid contact, differentiated: from the state before a node to the one after it."""

from __future__ import annotations

import numpy as np

from ....assembly import Scaling
from ....errors import InputError
from ....mechanics.contacts.reacting import ClosedContact, StruckContact
from ...nonlinear.newton import Newton
from .. import events
from ..modes import Marching, Mode, ModeSystem, element_of, rubbing
from ..options import CONTACT
from ..sharing import (
    ALONG_GIVEN,
    BEGINS,
    CLOSED,
    HOLDS,
    IS_RUBBING,
    OPEN,
    SLIDES,
    STICKS,
    resting,
    shared,
    without_contacts,
)
from ..states import InMode
from .tangents import CONTACTS, FORCES, IMPACT, VELOCITY, Rows, force_solve, impact_solve, numbers_of, velocity_solve

SAID = {"sticks": STICKS, "slides": SLIDES, "pressed": CLOSED}


class NodeTangents:
    """All nodes of a solution.

    Parameters
    ----------
    contacts : Contacts
    solution : ContactSolution
    """

    def __init__(self, contacts, solution):
        self.contacts, self.solution, self.system = contacts, solution, contacts.system
        self._velocity, self._contacts = Rows(self.system, VELOCITY), Rows(self.system, CONTACTS)
        self._identity = numbers_of(self.system, self.system)
        self._numbers, self._forces, self._modes = {}, {}, {}
        self._index = {name: c for c, name in enumerate(contacts.names)}

    def numbers(self, system):
        """`numbers_of` a system of a mode."""
        if id(system) not in self._numbers:
            self._numbers[id(system)] = system, numbers_of(system, self.system)  # which lives as long
        return self._numbers[id(system)][1]

    def located(self, node):
        """The kind and contact by which the time of a node was found, the first one, or None."""
        return next(((kind, c) for n, kind, c in self.solution.located if n == node), None)

    def simultaneous(self):
        """Times and names of contacts with events at the same node."""
        found = []
        for node in sorted({n for n, _, _ in self.solution.located}):
            rows = {c for n, _, c in self.solution.located if n == node}
            before = self.solution.contact_modes[node - 1] if node else np.zeros(self.contacts.n, int)
            for event in self.solution.events:
                if event.node == node and event.kind == events.IMPACT:
                    rows |= {c for c in map(self._index.get, event.contacts) if before[c] == OPEN}
            if len(rows) > 1:
                found.append((float(self.solution.t[node]), tuple(self.contacts.names[c] for c in sorted(rows))))
        return found

    def mode_system(self, e, begun=False):
        """The `ModeSystem` of an element; `begun`: where slips in space only begin, that of the slips."""
        sol, node = self.solution, self.solution.mode_nodes[e]
        modes = sol.contact_modes[e]
        modes = np.where(begun & (modes == BEGINS), SLIDES, modes)
        sharing = shared(self.contacts.at_state(sol.t[node], sol.nodal.state[node, 0]), modes)
        mode = Mode(tuple(modes.tolist()), tuple(sol.slip_signs[e].tolist()), sharing)
        key = mode, sol.slip_directions[e].tobytes() if set(ALONG_GIVEN).intersection(mode.modes) else b""
        if key not in self._modes:
            free = without_contacts(self.system)
            reference = Scaling.of("full", free, element_of(sol.element, free), sol.t[0], sol.z[0]).reference
            how = Marching(None, "full", lambda: reference, Newton(tol_increment=CONTACT.again), True, {})
            self._modes[key] = ModeSystem(self.contacts, sol.element, mode, sol.slip_directions[e], how)
        return self._modes[key]

    def again(self, own, start, stop):
        """Dofs of elements in the mode of a `ModeSystem`, solved again: mesh, dofs, number of elements, status."""
        sol, modes = self.solution, np.array(own.mode.modes)
        nodes, states = sol.t[start:stop + 1], sol.nodal.state[start:stop]
        if not (IS_RUBBING[modes] & (self.contacts.n_slip == 2)).any():
            return own.dofs(nodes, states[0, 0], exact=True)[:4]
        pressed = [InMode(self.contacts.at_state(nodes[e:e + 1], states[e, :1]), modes, sol.slip_directions[start + e],
                          own.mode.sharing).pressed for e in range(stop - start)]
        return own.again(nodes, states, pressed)

    def velocity(self, t, z):
        """Of all coordinates at a state."""
        v = np.array(self.system.velocity(np.full(1, t), z[None]))[0]
        v[self.contacts.helpers] = 0.0
        return v

    def acceleration(self, e, t, q, v):
        """Of all coordinates at a state in the mode of an element, (n_q,)."""
        system = self.mode_system(e).system
        return force_solve(Rows(system, FORCES), t, q, v, self.numbers(system))[1][:system.n_q]

    def at(self, node, own):
        """`NodeTangent` of the node where the elements of a `ModeSystem` begin."""
        sol, contacts = self.solution, self.contacts
        t, n = float(sol.t[node]), self.system.n_q
        z = sol.z[node]
        q, v = z[:n], self.velocity(t, z)
        solve, _ = velocity_solve(self._velocity, t, q, v, self._identity)
        steps, speeds = [], [contacts.at(t, q, v).gamma]
        before = sol.contact_modes[node - 1] if node else np.zeros(contacts.n, int)
        for event in sol.events:
            if event.node == node and event.kind in (events.IMPACT, events.JAM):
                v = self._impact(steps, t, q, v, event)
        stopped = [c for m, kind, c in sol.located if m == node and kind in (events.STICKS, events.SLIPS)]
        if stopped:
            modes = before.copy()
            modes[stopped] = STICKS
            v = self._project(steps, t, q, v, modes)
        modes = np.array(own.mode.modes)
        if (modes != OPEN).any():
            v = self._project(steps, t, q, v, resting(modes), None if BEGINS in modes else own.mode.sharing)
        _, momenta = velocity_solve(self._velocity, t, q, v, self._identity)
        return NodeTangent(own.plan, solve, steps, momenta, contacts.helpers, np.concatenate(speeds))

    @property
    def struck_at_start(self):
        """Names of what strikes at the start."""
        return {name for event in self.solution.events if event.node == 0 and event.kind in (events.IMPACT, events.JAM)
                for name in event.contacts}

    def broken(self, own, z, numbers):
        """What is closed, sticks or strikes at the start in a mode: the word, its name, and whether its gap, rate or
        slip changes with states (n_z, K) and numbers, bool (K,); of what strikes and parts again the gap alone."""
        contacts, rows, sol = self.contacts, self._contacts, self.solution
        t, n = float(sol.t[0]), self.system.n_q
        q, v = sol.z[0][:n], self.velocity(t, sol.z[0])
        solve, _ = velocity_solve(self._velocity, t, q, v, self._identity)
        none, numbers = np.zeros(z.shape[1]), numbers.toarray()
        _, by, by_numbers = rows(t, q=q, v=v)
        by = np.hstack([by[:, rows.columns[name]] for name in "qv"])
        change = by @ np.concatenate([z[:n], solve.forward(z[:n], z[n:], none, numbers)[:n]]) + by_numbers @ numbers
        size = np.abs(by) @ np.concatenate([np.abs(z[:n]), solve.size(z[:n], z[n:], numbers)[:n]])
        size += np.abs(by_numbers) @ np.abs(numbers)
        moved = np.abs(change) > CONTACT.smooth * size
        struck = self.struck_at_start
        for c, kept in enumerate(map(own.mode.sharing.kept, range(contacts.n))):
            own_rows = [c, rows.first[1] + c] if 0 in kept else []
            first = rows.first[2] + int(contacts.n_slip[:c].sum())
            own_rows += [first + i - 1 for i in kept if i]
            if contacts.names[c] in struck:
                own_rows.append(c)
            if moved[own_rows].any():
                word = "sticks" if own.mode.modes[c] in HOLDS else "touches"
                yield word, contacts.names[c], moved[own_rows].any(axis=0)

    def _impact(self, steps, t, q, v, event):
        """Add an impact; velocities after it."""
        parts, after = self._struck_parts(t, q, v, event)
        return self._take(steps, t, q, v, after, parts)

    def struck(self, node, event):
        """The system of an impact, and its impulses, those of joints first."""
        t, z, n = float(self.solution.t[node]), self.solution.z[node], self.system.n_q
        v = self.velocity(t, z)
        parts, after = self._struck_parts(t, z[:n], v, event)
        system = without_contacts(self.system, parts)
        return system, impact_solve(Rows(system, IMPACT), t, z[:n], v, after, self.numbers(system))[1][n:]

    def _struck_parts(self, t, q, v, event):
        """Rows of contacts in an impact, and velocities after it."""
        contacts = self.contacts
        states = contacts.at(t, q, v)
        impulses, modes = np.zeros((contacts.n, 3)), np.zeros(contacts.n, int)
        for name, own, said in zip(event.contacts, event.impulses, event.statuses, strict=True):
            impulses[self._index[name]], modes[self._index[name]] = own, SAID.get(said, OPEN)
        after = states.velocities_after(impulses[None])[0]
        gamma = contacts.at(t, q, after).gamma[0]
        mode, parts = Mode(tuple(modes), tuple(-np.sign(impulses[:, 1])), shared(states, modes)), []
        for c in np.flatnonzero(modes != OPEN):
            if kept := mode.sharing.kept(c):
                # what is slow, leaves or is closed comes back with nothing
                back = -event.share * states.restitution[0, c] * states.gamma[0, c, 0]
                share = event.share if gamma[c, 0] >= back / 2 >= 0 and event.kind != events.JAM else 0.0
                parts.append(StruckContact(*contacts.parts[c], modes[c] == STICKS, kept,
                                           rubbing(contacts, mode, c, np.zeros((contacts.n, 2))), share))
        return parts, after

    def _project(self, steps, t, q, v, modes, sharing=None):
        """Add the impulse by which what is closed does not move, and what sticks does not slip."""
        contacts = self.contacts
        sharing = shared(contacts.at(t, q, v), modes) if sharing is None else sharing
        parts = [ClosedContact(*contacts.parts[c], modes[c] in HOLDS, kept, [])
                 for c, kept in enumerate(map(sharing.kept, range(contacts.n))) if kept]
        return self._take(steps, t, q, v, v, parts) if parts else v

    def _take(self, steps, t, q, v, after, parts):
        system = without_contacts(self.system, parts)
        solve, found = impact_solve(Rows(system, IMPACT), t, q, v, after, self.numbers(system))
        steps.append(solve)
        return found[:len(q)]

    def event(self, node, kind, c, own):
        """`EventTangent` of the node at which the elements of a `ModeSystem` end; of a slip in space that begins that
        across its direction."""
        sol, contacts, rows = self.solution, self.contacts, self._contacts
        t, n, z = float(sol.t[node]), self.system.n_q, sol.z[node]
        q, v = z[:n], self.velocity(t, z)
        value, by, by_numbers = rows(t, q=q, v=v)
        slips = rows.first[2] + int(contacts.n_slip[:c].sum()) + np.arange(contacts.n_slip[c])
        row, by_forces = np.zeros(len(value)), None
        if kind == events.CLOSES:
            row[c] = 1.0
        elif kind == events.TOUCHES:
            row[rows.first[1] + c] = 1.0
        elif kind == events.STICKS:
            row[slips] = self._direction(node, c)[:len(slips)]
        elif kind == events.BEGINNING:  # what is across the direction
            x, y = sol.slip_directions[node - 1, c]
            row[slips] = -y, x
        else:
            solve, x = self._solved_forces(own, t, q, v)
            by_forces = self._shares(own, c, len(x))[0]
            if kind == events.SLIPS:
                seen = slice(n, n + self.system.n_constraints)
                if contacts.persistent[c]:
                    value, by, by_numbers = rows(t, q=q, v=v, gamma=x[seen])
                by_forces = np.zeros(len(x))
                for i, weight, along in self.at_limit(node, own, t, q, v, c):
                    matrix = self._shares(own, i, len(x))  # of the three forces by what was solved for
                    friction, load = rows.first[3] + i, rows.first[4] + i
                    by_forces -= weight * along @ matrix[1:]
                    if contacts.persistent[i]:
                        row[load], row[friction] = weight * value[friction], weight * value[load]
                    else:
                        row[friction] = weight * (matrix[0] @ x)
                        by_forces += weight * value[friction] * matrix[0]
                if contacts.persistent[c]:
                    by_forces[seen] += row @ by[:, rows.columns["gamma"]]
        columns = rows.columns
        by_q, by_v = row @ by[:, columns["q"]], row @ by[:, columns["v"]]
        by_t, by_c = row @ by[:, -1], by_numbers.T @ row
        if by_forces is not None:
            for total, more in zip((by_q, by_v), solve.backward(by_forces)[:2], strict=True):
                total += more
            by_t, by_c = (one + more for one, more in zip((by_t, by_c), solve.backward(by_forces)[2:], strict=True))
        solve, _ = velocity_solve(self._velocity, t, q, v, self._identity)
        more = solve.backward(by_v)
        return EventTangent(kind, c, np.concatenate([by_q + more[0], more[1]]), by_t + more[2], by_c + more[3])

    def at_limit(self, node, own, t, q, v, c):
        """Contacts whose friction is at its limit when one slips: each with its weight in the least margin, and the
        direction of its friction. It is one, but where friction may be shared otherwise: forces without effect do not
        change the margin that is largest."""
        here = InMode(self.contacts.at(t, q, v), own.mode.modes, self.solution.slip_directions[node - 1],
                      own.mode.sharing)
        along = here.forces[0, :, 1:] / np.maximum(np.hypot(*here.forces[0, :, 1:].T), 1e-300)[:, None]
        if here.margins is None or c not in here.margins[0]:
            return [(c, 1.0, along[c])]
        (which, margins), (_, free) = here.margins, own.mode.sharing.changes
        size = np.hypot(*here.forces[0, which, 1:].T)
        near = np.flatnonzero(margins[0] - margins[0].min() <= CONTACT.at_limit * size)
        slopes = np.vstack([np.einsum("ci,cij->jc", along[which[near]], free[near]), np.ones(len(near))])
        weights = np.linalg.lstsq(slopes, np.append(np.zeros(len(slopes) - 1), 1.0), rcond=None)[0]
        return list(zip(which[near], weights, along[which[near]], strict=True))

    def _solved_forces(self, own, t, q, v):
        if id(own) not in self._forces:
            self._forces[id(own)] = Rows(own.system, FORCES)
        return force_solve(self._forces[id(own)], t, q, v, self.numbers(own.system))

    def _shares(self, own, c, size):
        """The three forces of a contact by accelerations and forces of the rows that are kept, shape (3, size)."""
        sharing, n = own.mode.sharing, self.system.n_q
        n_normal = int((sharing.own % 3 == 0).sum())
        normal = n + self.system.n_constraints + np.arange(n_normal)
        along = n + own.system.n_constraints + self.system.n_nonholonomic + np.arange(len(sharing.own) - n_normal)
        found, places = np.zeros((3, size)), np.concatenate([normal, along])
        for row, shares in zip(sharing.rows, sharing.matrix, strict=True):
            if row // 3 == c:
                found[row % 3, places] = shares
        return found

    def _direction(self, node, c):
        """Of a slip that ends."""
        sol = self.solution
        if self.contacts.n_slip[c] == 1:
            return np.array([sol.slip_signs[node - 1, c], 0.0])
        slip = self.contacts.at_state(sol.t[node - 1], sol.nodal.state[node - 1, 0]).gamma[0, c, 1:]
        return slip / np.hypot(*slip)


class NodeTangent:
    """From the state before a node, its time and the numbers to the first dofs of the elements after it.

    Attributes
    ----------
    speeds : ndarray, shape (n, n_contacts, 3)
        Of the contacts.
    """

    def __init__(self, plan, solve, steps, momenta, helpers, speeds):
        self._velocity, self._steps, self._momenta, self._helpers, self.speeds = solve, steps, momenta, helpers, speeds
        self._n_node = plan.columns.n_node
        names = list(plan.element.trial)
        fields = {name: plan.columns.fields[names.index(name)][0] for name, space in plan.element.trial.items()
                  if space.continuous}
        self._state, self._velocities = fields.pop("state"), fields.pop("velocity", None)
        if fields:
            raise InputError(f"{plan.element!r} has unknowns at its nodes that no state gives: {', '.join(fields)}")

    def forward(self, z, dt, numbers):
        """Changes of the first dofs (n_node, K) with those of the state, time (K,) and numbers (n_numbers, K)."""
        n, out = len(z) // 2, np.zeros((self._n_node, z.shape[1]))
        q, p = z[:n], z[n:]
        if self._steps or self._velocities is not None:
            v = self._velocity.forward(q, p, dt, numbers)[:n]
            for step in self._steps:
                v = step.forward(q, v, dt, numbers)[:n]
            if self._velocities is not None:
                out[self._velocities] = v
        if self._steps:
            by_q, by_v, by_numbers = self._momenta
            after = by_q @ q + by_v @ v + by_numbers @ numbers
            after[self._helpers] = p[self._helpers]
            p = after
        out[self._state] = np.concatenate([q, p])
        return out

    def backward(self, gradient):
        """Gradients by state, time and numbers, from that by the first dofs."""
        z, n = gradient[self._state], len(self._state) // 2
        q, p, v = z[:n].copy(), z[n:].copy(), np.zeros(n)
        by_q, by_v, by_numbers = self._momenta
        by_t, numbers = 0.0, np.zeros(by_numbers.shape[1])
        if self._velocities is not None:
            v += gradient[self._velocities]
        if self._steps:
            kept = np.zeros(n)
            kept[self._helpers], p[self._helpers] = p[self._helpers], 0.0
            q, v, numbers, p = q + by_q.T @ p, v + by_v.T @ p, by_numbers.T @ p, kept
        if self._steps or self._velocities is not None:
            for step in reversed(self._steps):
                more, v, t, c = step.backward(v)
                q, by_t, numbers = q + more, by_t + t, numbers + c
            more, before, t, c = self._velocity.backward(v)
            q, p, by_t, numbers = q + more, p + before, by_t + t, numbers + c
        return np.concatenate([q, p]), by_t, numbers


class EventTangent:
    """A function E(z, t, c) that vanishes at a node, with its derivatives.

    Attributes
    ----------
    kind : str
    contact : int
    by_z, by_numbers : ndarray
    by_t : float
    """

    def __init__(self, kind, contact, by_z, by_t, by_numbers):
        self.kind, self.contact, self.by_z, self.by_t, self.by_numbers = kind, contact, by_z, by_t, by_numbers

    def rate(self, by_time):
        """dE/dt along the motion, by the change of the state with the time of the end of the element."""
        return self.by_z @ by_time + self.by_t
