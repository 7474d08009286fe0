"""Elements that end where something happens: where the function of an event vanishes, or a slip in space ends."""

import numpy as np

from ...mechanics.values.evaluate import quantities_at
from ...status import Reason
from . import events
from .events import CLOSES, AtOnce, Stuck
from .search import Candidate, values_of
from .sharing import BEGINS, HELD, OPEN, SLIDES, STICKS
from .states import InMode


class EventElements:
    """What a `ContactMarch` does to end an element on an event, from its state (`t`, `z`) in its mode."""

    def _rounding(self, length):
        """Time that is none, in elements of a length."""
        return 2 * np.finfo(float).eps * max(abs(self.t), length)

    _states = _forces = None  # what was found last, and of what

    @property
    def _here(self):
        """`ContactStates` where the march is."""
        if self._states is None or self._states[0] != self.t or self._states[1] is not self.z:
            self._states = self.t, self.z, self.contacts.at_state(self.t, self.z)
        return self._states[2]

    def _in_mode(self, states):
        """`InMode` of the mode of now."""
        of, last = (states, self.mode, self.directions.tobytes()), self._forces
        if last is None or last[0] is not states or last[1:3] != of[1:]:
            last = self._forces = *of, InMode(states, self.mode.modes, self.directions, self.mode.sharing)
        return last[3]

    def _solve(self, nodes, exact=True):
        """Elements over nodes in the mode of now.

        Slow slips in space turn at once with the forces: the first guess has them in their direction, along which they
        grow. From any other one Newton's method finds no solution, or one in which they turn round.
        """
        system, contacts, h = self.mode_system(), self.contacts, nodes[1] - nodes[0]
        slips = np.flatnonzero((self.modes == SLIDES) & (contacts.n_slip == 2))
        if not exact or not len(slips):
            return system.march(nodes, self.z, exact)
        states = self._here
        here, slip = self._in_mode(states), states.gamma[0, :, 1:]
        size = np.hypot(*slip.T)
        begun = slips[size[slips] <= self.law.still[slips]]
        if len(begun):  # of their directions and accelerations rounding is left
            guess = self._from_rest(h, begun)
        else:
            slips = slips[size[slips] < h * np.hypot(*here.accelerations[0, slips, 1:].T)]
            guess = self._along(h, slips, slip / np.where(size > 0, size, 1.0)[:, None]) if len(slips) else None
        return system.march(nodes, self.z, exact, guess if guess is None else (guess, here.pressed))

    def _along(self, h, slips, directions):
        """Nodal values of an element in which slips grow by their accelerations of now, or None where they end."""
        states, guess = self._here, [self.z]
        a = self._in_mode(states).of_coordinates[0]
        for ahead in self._ahead(h):
            q, v = states.q[0] + ahead * states.v[0] + ahead**2 / 2 * a, states.v[0] + ahead * a
            z = self._slipping(ahead, q, v, slips, directions)
            if z is None:
                return None
            guess.append(z)
        return np.array(guess)

    def _from_rest(self, h, slips):
        """The same of slips that begin: along the friction that would hold them at each node, by how much it is over
        its limit there, which grows from zero."""
        states, contacts, guess = self._here, self.contacts, [self.z]
        holds, begins, directions = self.modes.copy(), self.modes.copy(), self.directions.copy()
        holds[slips], begins[slips] = STICKS, BEGINS
        a = InMode(states, holds, directions).of_coordinates[0]
        for ahead in self._ahead(h):
            q, v = states.q[0] + ahead * states.v[0] + ahead**2 / 2 * a, states.v[0] + ahead * a
            there = contacts.at(self.t + ahead, q, v)
            there = contacts.at(there.t, q, self.law.consistent(there, holds)[0])
            held = InMode(there, holds, directions)
            friction = held.forces[0, slips, 1:]
            size = np.hypot(*friction.T)
            if not size.all():
                return None
            directions[slips] = -friction / size[:, None]
            more = (InMode(there, begins, directions, self.mode.sharing).of_coordinates - held.of_coordinates)[0]
            z = self._slipping(ahead, q + ahead**2 / 6 * more, there.v[0] + ahead / 2 * more, slips, directions)
            if z is None:
                return None
            guess.append(z)
        return np.array(guess)

    def _ahead(self, h):
        """Times of the nodes of an element after the first."""
        return h * self.mode_system().element.state.basis.points[1:].astype(float)

    def _slipping(self, ahead, q, v, slips, directions):
        """The state with these coordinates, and velocities whose slips are along directions; None where they are back.
        """
        there = self.contacts.at(self.t + ahead, q, v)
        if ((there.gamma[0, slips, 1:] * directions[slips]).sum(axis=1) <= 0).any():
            return None
        z = np.concatenate([q, self.z[len(q):]])
        return self.contacts.state_of(there.t[0], z, self.law.along(there, slips, directions, self.mode.sharing))

    def _predicted_stop(self, nodes, rows):
        """Go to the end of sliding in space of contacts at once, where it is predicted within the next element."""
        states = self._here
        here, length, found = self._in_mode(states), nodes[1] - nodes[0], []
        for c in rows:
            slip, rate = states.gamma[0, c, 1:], here.accelerations[0, c, 1:]
            size = np.hypot(*slip)
            if size > 0:
                self.directions[c] = slip / size
                ahead = -(size**2) / (slip @ rate) if slip @ rate < 0 else np.inf
                if ahead < self.options.stop_ahead * length:
                    found.append((ahead, c))
        if not found:
            return False
        ahead, c = min(found)
        if ahead <= max(self.options.sliver * length, self._rounding(length)):
            self._node((), stops=self._stopping_with(c))
            return True
        solved = self._stop(c, ahead)
        if solved is None:
            return False
        if solved.nodes[-1] - self.t > length:  # the node of the mesh comes first
            return False
        self._unless_before(solved, events.STICKS, c)
        return True

    def _unless_before(self, solved, kind, c):
        """Take an element that ends on an event, or go to another event before."""
        z, h = np.concatenate([self.z[None], solved.state[:, -1]]), solved.nodes[-1] - self.t
        leaves = self._leaving(solved.nodes, z) if kind != events.LEAVES else None
        if leaves is not None:
            self._leave(*leaves[1:], h)
            return
        e, candidate = self.search.first(self.mode, self.directions, solved.nodes, z, self.zero)
        if e is not None and candidate.kind != kind and candidate.theta < 1 - 1e-6:
            self._go_to(candidate, h)
            return
        before = self._passed(solved, None)
        if before is not None:  # behind another event that comes to nothing
            self._go_to(Candidate(CLOSES, before, 0.9), h)
            return
        self._accept_at(solved, kind, c)
        self._at_event(kind, c)

    def _leaving(self, t, z):
        """The first element at whose end a closed contact is beyond the ends of its surfaces, that contact, and theta,
        or None."""
        rows = np.flatnonzero(self.contacts.ends & (self.modes != OPEN))
        if not len(rows):
            return None
        reach = self._reaches(t, z)[:, rows]
        beyond = reach[1:] < 0
        if not beyond.any():
            return None
        e = int(beyond.any(axis=1).argmax())
        start = np.maximum(reach[e], 0.0)
        theta = np.where(beyond[e], start / (start - reach[e + 1] + ~beyond[e]), np.inf)
        first = int(theta.argmin())
        return e, int(rows[first]), float(theta[first])

    def _leave(self, c, theta, length):
        """Go to where a closed contact comes to the end of its surfaces, which is within an element of that length."""
        try:
            solved = self._located(events.LEAVES, c, theta * length, length)
        except AtOnce:
            self._at_event(events.LEAVES, c)
            return
        if solved is None:
            raise Stuck(Reason.NOT_CONVERGED, self._closed_names())
        self._unless_before(solved, events.LEAVES, c)

    def _leaving_with(self, c):
        """A contact that leaves, and others that come to the end of their surfaces too."""
        return tuple({c, *np.flatnonzero(self._at_ends() & (self.modes != OPEN)).tolist()})

    def _left_here(self):
        """Contacts that came to the end of their surfaces and opened where the march is: they do not close again."""
        left = [c for kind, c in self.zero if kind == CLOSES and self.contacts.ends[c]]
        return tuple(np.array(left)[self._at_ends()[left]].tolist()) if left else ()

    def _at_ends(self):
        return self.contacts.ends & (self._reaches([self.t], self.z[None])[0] <= self.options.unsure)

    def _accept_at(self, solved, kind, c):
        """Keep the element whose end an event located."""
        self._accept(self._on_mesh(solved, kind, c), 1)
        self.located.append((self.n_elements, kind, c))

    def _go_to(self, candidate, length, but=frozenset()):
        """The element that ends on an event, and what follows from it; what came to nothing before, `but`, is no event
        of it."""
        kind, c, theta = candidate
        try:
            self._go_to_inside(kind, c, theta, length, but | {(kind, c)})
        except AtOnce as event:
            self._at_once(event.kind, event.contact)

    def _at_once(self, kind, c):
        """What follows from an event where the march is, whose time is that of the node where it happens: but not of a
        contact that touches there already, and is pressed from now on."""
        if kind != CLOSES or not self._touches_at_rest(c):
            self.located.append((self.n_elements, kind, c))
        self._at_event(kind, c)

    def _go_to_inside(self, kind, c, theta, length, but):
        """The same; AtOnce where an event is here, to rounding."""
        solved = self._located(kind, c, theta * length, length)
        if solved is not None and kind == CLOSES and self._touches_at_rest(c):
            rate = self._gaps_at([solved.nodes[-1]], [solved.state[-1, -1]])[1][0, c]
            way = abs(rate) * (solved.nodes[-1] - self.t)
            if abs(rate) <= self.law.still[c] or way <= self.law.rounding[c]:  # it did not part before
                raise AtOnce(kind, c)
        for _ in range(self.contacts.n):
            before = None if solved is None else self._passed(solved, c if kind == CLOSES else None)
            if before is None:
                break
            h = solved.nodes[1] - solved.nodes[0]
            earlier = self._located(CLOSES, before, h, h)
            if earlier is None:
                break
            kind, c, solved = CLOSES, before, earlier
        if solved is None:  # it does not happen after all
            length *= theta if kind == events.TOUCHES else 1.0  # what is behind a minimum is looked at again
            solved = self.mode_system().march(np.array([self.t, self.t + length]), self.z)
            if not len(solved.state):
                raise Stuck(solved.status.reason, self._closed_names(), solved.status.residual_history)
            other = self._passed(solved, None)
            closing = None if other is None else self._located(CLOSES, other, 0.9 * length, length)
            if closing is None:
                z = np.concatenate([self.z[None], solved.state[:, -1]])
                e, later = self.search.first(self.mode, self.directions, solved.nodes, z, self.zero, but)
                if e is None:
                    self._accept(solved, 1)
                else:  # such as an opening behind a closing that was none
                    self._go_to(later, solved.nodes[-1] - self.t, but)
                return
            kind, c, solved = CLOSES, other, closing
        if kind == events.TOUCHES:
            states = self.contacts.at_state(solved.nodes[-1:], solved.state[-1:, -1])
            gap = states.gap[0, c]
            if gap < -self.law.rounding[c]:
                h = solved.nodes[1] - solved.nodes[0]
                acceleration = self._in_mode(states).accelerations[0, c, 0]
                start = h - np.sqrt(2 * -gap / acceleration) if acceleration > 0 else h / 2
                closing = self._located(CLOSES, c, max(start, 1e-3 * h), h)
                if closing is not None:
                    self._accept_at(closing, CLOSES, c)
                    self._node((c,))
                    return
            self._accept_at(solved, kind, c)
            if gap <= self.options.touching * self.law.length[c]:
                self._log(events.TOUCHES, [c])
                self.zero = {(CLOSES, c)}
            return
        if kind == events.STICKS and self._turned(solved, c):
            self._accept(solved, 1)
            return
        self._accept_at(solved, kind, c)
        self._at_event(kind, c)

    def _touches_at_rest(self, c):
        """Whether a contact touches where the march is, and stays."""
        here = self._here
        return here.gap[0, c] <= self.law.rounding[c] and abs(here.gamma[0, c, 0]) <= self.law.still[c]

    def _pressed_from_now_on(self, states, closes):
        """Enter the modes of contacts that touch, and that nothing presses yet, but a little later: as by a force that
        grows from zero, or by the tension of a pendulum that starts from the side. The forces of now do not tell.

        Returns
        -------
        set of (str, int)
            Functions of them that are zero here, and do not count.
        """
        closes = [c for c in closes if self.modes[c] == OPEN and self._touches_at_rest(c)]
        if not closes:
            return set()
        solved = self._solve(np.array([self.t, self.t + self.options.look * self.longest]))
        if not len(solved.state):
            return set()
        there = self.contacts.at_state(solved.nodes[-1:], solved.state[-1:, -1])
        touching, rests = self.law.touching(there, self.modes, closes), self.modes.copy()
        rests[[c for c in closes if np.hypot(*states.gamma[0, c, 1:]) <= self.law.still[c]]] = STICKS
        slipless = self.contacts.at(there.t, there.q, self.law.consistent(there, rests)[0])
        for seen in (slipless, there):  # or pressed by its slip, as in a tube that turns
            self.law.know(seen, self.longest)
            found = self.law.modes(seen, touching, self.longest)
            if found is not None and found[0][closes].any():
                break
        else:
            return set()
        modes, directions = self.modes.copy(), self.directions.copy()
        modes[closes], directions[closes] = found[0][closes], found[1][closes]
        modes[(modes == SLIDES) & (rests == STICKS) & (self.contacts.n_slip == 2)] = BEGINS
        self._enter(states, modes, directions)
        return {(kind, c) for c in closes for kind in (events.OPENS, events.SLIPS, events.STICKS)}

    def _passed(self, solved, c):
        """The open contact besides c whose gap is most negative at the end of an element, if one is: it closed before.
        """
        (start, end), _ = self._gaps_at([self.t, solved.nodes[-1]], [self.z, solved.state[-1, -1]])
        gaps = np.where((self.modes == OPEN) & ~self.contacts.persistent, end - np.minimum(start, 0), np.inf)
        if c is not None:
            gaps[c] = np.inf
        first = int(np.argmin(gaps))
        return first if gaps[first] < -self.law.rounding[first] else None

    def _gaps_at(self, t, z):
        """Gaps and their rates, (n, n_contacts) each."""
        return quantities_at(self.contacts.system, np.array(t), np.array(z), "gaps", "gap rates", repeatable=False)

    def _reaches(self, t, z):
        """How far contacts are from the ends of their surfaces, (n, n_contacts)."""
        return quantities_at(self.contacts.system, np.array(t), np.array(z), "reaches", repeatable=False)[0]

    def _on_mesh(self, solved, kind, c):
        """The element that an event ends, up to the node of the mesh where that is the same to rounding."""
        end, near = float(solved.nodes[-1]), self._rounding(solved.nodes[1] - self.t)
        node = self.mesh.nodes[np.abs(self.mesh.nodes - end).argmin()]
        if kind == CLOSES:
            speed = abs(self._gaps_at([end], [solved.state[-1, -1]])[1][0, c])
            near = max(near, self.law.rounding[c] / max(speed, self.law.still[c], 1e-300))
        same = self.t < node != end and abs(node - end) <= near
        return solved._replace(nodes=np.array([self.t, node])) if same else solved

    def _value(self, kind, c, solved):
        """Value of the function of an event at the end of an element, and its rate where it is known."""
        if kind == CLOSES:
            gaps, rates = self._gaps_at([self.t, solved.nodes[-1]], [self.z, solved.state[-1, -1]])
            start = gaps[0, c]  # what overlaps there and parts is to get no deeper
            return gaps[1, c] - (start if start < -self.law.rounding[c] else 0.0), rates[1, c]
        if kind == events.LEAVES:
            return self._reaches(solved.nodes[-1:], solved.state[-1:, -1])[0, c], None
        states = self.contacts.at_state(solved.nodes[-1:], solved.state[-1:, -1])
        here = self._in_mode(states)
        if kind == events.TOUCHES:
            return -states.gamma[0, c, 0], -here.accelerations[0, c, 0]
        keys, values, _ = values_of(self.directions, here)
        value = float(values[keys.index((kind, c)), 0])
        rate = float(here.accelerations[0, c, 1:] @ self.directions[c]) if kind == events.STICKS else None
        return value, rate

    def _slipping_with(self, c):
        """A contact that begins to slip, and others whose friction is at its limit too, such as its mirror image."""
        states = self._here
        here = self._in_mode(states)
        bound = states.friction[0] * np.where(self.contacts.persistent, here.load[0], here.forces[0, :, 0])
        at_limit = bound - np.hypot(*here.forces[0, :, 1:].T) <= self.options.at_limit * bound
        also = np.flatnonzero(((self.modes == STICKS) & at_limit | (self.modes == HELD)) & (bound > 0))
        return tuple({c, *also.tolist()})

    def _stopping_with(self, c):
        """A contact whose slip ends, and others as slow that are about to stop, such as the other corners of a box."""
        states = self._here
        slip = states.gamma[0, :, 1:]
        rate = self._in_mode(states).accelerations[0, :, 1:]
        slow = np.hypot(*slip.T) <= self.options.rest * self.law.speed
        also = np.flatnonzero((self.modes == SLIDES) & slow & ((slip * rate).sum(axis=1) < 0))
        return tuple({c, *also.tolist()})

    def _located(self, kind, c, h, longest):
        """The element from here that ends where the function of an event vanishes, or None where it does not.

        Newton's method and the secant on `h -> E(z_1(h))`, within a bracket: E is positive before the event.
        """
        low, high = 0.0, None
        known, best = [], None
        rises = kind == events.TOUCHES and self._here.gamma[0, c, 0] > 0  # least after it was largest, or not at all
        rounding = self._rounding(longest)
        whole, longest = longest, 1.5 * longest
        for _ in range(self.options.locations):
            if self.t + h <= self.t:
                raise AtOnce(kind, c)
            solved = self._solve(np.array([self.t, self.t + h]))
            if not len(solved.state):
                if best is None and low == 0.0 and h < 1e-6 * longest:
                    raise Stuck(solved.status.reason, f"the element that ends where {self.contacts.names[c]} {kind} "
                                "has no solution", solved.status.residual_history)
                high = h if high is None else min(high, h)
                h = (low + h) / 2
                continue
            value, rate = self._value(kind, c, solved)
            if kind == CLOSES and best is not None and self._stalls(value, best[0], self.law.rounding[c]):
                break
            if best is None or abs(value) <= abs(best[0]):
                best = value, solved
            if value > 0:
                low = max(low, h)
            else:
                high = h if high is None else min(high, h)
            if value == 0:
                break
            known.append((h, value))
            if len(known) > 1 and known[-1][0] != known[-2][0]:
                (h0, f0), (h1, f1) = known[-2:]
                slope = (f1 - f0) / (h1 - h0)
                slope = rate if rate is not None and abs(h1 - h0) < 1e-7 * longest else slope
            else:
                slope = rate
            step = -value / slope if slope and slope < 0 else None
            if step is not None and abs(step) <= rounding:
                break
            if step is None and (low >= whole if high is None else rises and low == 0.0):
                return None  # it does not fall towards zero, and all of the element is behind, or it rose up to here
            new = h + step if step is not None else (low + (high if high is not None else longest)) / 2
            if high is not None and high - low <= rounding:
                break
            if not low < new < (high if high is not None else longest):
                if high is None and new >= longest and low >= longest * (1 - 1e-9):
                    return None
                new = (low + high) / 2 if high is not None else longest
            h = new
        if rises and low == 0.0:
            return None
        if high is None and best is not None and best[0] > 0 and kind != events.TOUCHES and abs(
                best[0]) > 1e-6 * self.law.length[c]:
            return None
        return None if best is None else best[1]

    def _stalls(self, value, best, none):
        """Whether what is located is rounding, by a value after the best one, both below what is none."""
        return abs(best) <= none and abs(value) > self.options.stalls * abs(best)

    def _stop(self, c, ahead):
        """The element that ends where the slip of a contact in space vanishes: from below, as there is none beyond.

        None where the slip turns away before, or elements have no solution up to there."""
        h, known, failed = self.options.first_stop * ahead, [], np.inf
        best, left = None, np.inf
        for _ in range(self.options.locations):
            if self.t + h <= self.t:
                break
            solved = self._solve(np.array([self.t, self.t + h]))
            if not len(solved.state):
                if best is None:
                    h *= 0.5
                    if h < 1e-6 * ahead:
                        return None
                    continue
                failed = h
            else:
                value, rate = self._value(events.STICKS, c, solved)
                known.append((h, value))
                if best is not None and self._stalls(value, left, self.law.still[c]):
                    break
                if best is None or abs(value) <= left:
                    best, left = solved, abs(value)
                if abs(value) <= 1e-12 * max(self.law.speed[c], 1e-300):
                    break
                slope = rate if len(known) < 2 else (known[-1][1] - known[-2][1]) / (known[-1][0] - known[-2][0])
                step = -value / slope if slope < 0 else 0.0
                if abs(step) <= 1e-15 * ahead:
                    break
            last = known[-1][0]
            h = min(last + step, (last + failed) / 2)
            if failed - last <= max(1e-13 * ahead, self.options.beyond * step):
                break
        return None if best is None or self._turned(best, c) else best

    def _turned(self, solved, c):
        """Whether a slip in space goes on at the end of an element, across the direction that it had."""
        slip = self.contacts.at_state(solved.nodes[-1:], solved.state[-1:, -1]).gamma[0, c, 1:]
        return np.hypot(*slip) > self.options.rest * self.law.speed[c]
