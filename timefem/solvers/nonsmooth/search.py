"""The first event in elements that were solved in one mode."""

from typing import NamedTuple

import numpy as np

from ...mechanics.values.evaluate import quantities_at
from . import events
from .crossings import closings, first_negative, quintic
from .events import CLOSES
from .options import CONTACT
from .sharing import OPEN
from .states import InMode


class Candidate(NamedTuple):
    """An event that is to be located: of a contact, at theta of an element."""

    kind: str
    contact: int
    theta: float


class Search:
    """Events of a motion in one mode.

    Parameters
    ----------
    contacts : Contacts
    degree : int
        Of the element.
    until : float
        End of the mesh.
    """

    def __init__(self, contacts, degree, until):
        self.contacts, self.until = contacts, until
        self.still, self.touching = np.zeros((2, contacts.n))
        self._scratch = np.zeros((5, 6))
        n, self.fine = 2 * degree + 6, np.linspace(0, 1, CONTACT.samples)
        self.theta = np.concatenate([[0.0], (1 - np.cos(np.pi * (np.arange(n) + 0.5) / n)) / 2, [1.0]])

    def first(self, mode, directions, t, z, zero):
        """The first event in elements with ends at times t (n + 1,), in states z (n + 1, n_z).

        Parameters
        ----------
        mode : Mode
        directions : ndarray, shape (n_contacts, 2)
            Of slips at the start.
        zero : set of (str, int)
            What is zero at the start because it has just begun.

        Returns
        -------
        element : int or None
        candidate : Candidate
        """
        modes = np.array(mode.modes)
        free = np.flatnonzero((modes == OPEN) & ~self.contacts.persistent)
        bound = ((modes != OPEN) & (~self.contacts.persistent | (self.contacts.n_slip > 0))).any()
        self.gaps, rates = quantities_at(self.contacts.system, t, z, "gaps", "gap rates", repeatable=False)
        self.gamma = rates[:, :, None]  # with slips where something is closed
        h = np.diff(t)[:, None]
        near = np.zeros((len(h), self.contacts.n), bool)
        if len(free):
            least = np.minimum(self.gaps[:-1], self.gaps[1:])
            reach = h * (np.abs(rates[:-1]) + np.abs(rates[1:]) + np.abs(np.diff(rates, axis=0)))
            near[:, free] = (least <= reach)[:, free]
        flagged = near.any(axis=1)
        if not (flagged.any() or bound):
            return None, None
        # all nodes where forces are asked for, else those of elements where something may close
        own = np.arange(len(t)) if bound else np.flatnonzero(np.append(flagged, False) | np.append(False, flagged))
        states = self.contacts.at_state(t[own], z[own])
        here = InMode(states, mode.modes, directions, mode.sharing)
        self.gamma = states.gamma if bound else self.gamma
        forces = self._of_forces(mode, directions, states, here, zero) if bound else [[]] * len(h)
        place = np.searchsorted(own, np.arange(len(t)))
        closings = self._of_gaps(states, here, h[:, 0], near, place, zero, t[1:] < self.until)
        for e, found in enumerate(forces):
            found = found + closings.get(e, [])
            if found:
                return e, _earliest(found)
        return None, None

    def _of_gaps(self, states, here, h, near, place, zero, goes_on):
        """Candidates of contacts that are open, by element, those up to the first element that has some.

        `place` is that of the nodes among the states; where the mesh `goes_on` what closes just beyond the end of an
        element does so in it, as no element is to be as short as that.
        """
        e, c = np.nonzero(near)
        ends = np.stack([states.gap, states.gamma[:, :, 0], here.accelerations[:, :, 0]], axis=2)
        f0, f1 = ends[place[e], c], ends[place[e + 1], c]
        started = np.array([at == 0 and (CLOSES, int(k)) in zero for at, k in zip(e, c, strict=True)], bool)
        level = np.where(started, np.minimum(f0[:, 0], 0), 0)  # what overlaps and parts is to get no deeper
        f1[:, 0] -= level
        # along the normals at the start: of thin bodies that pass through each other in one element
        moves = np.zeros_like(states.q)
        moves[:-1] = np.diff(states.q, axis=0)
        behind = (states.gap + states.jacobian.times(moves)[:, ::3])[place[e], c] < 0
        # side by side, without a force
        rests = (np.abs(f0[:, 0]) <= self.touching[c]) & (np.abs(f0[:, 1]) <= self.still[c])
        of = np.empty((len(e), 3))
        closings(h[e], f0, f1, rests | started, self.still[c], self._scratch, of)
        soon = goes_on[e] & ~rests & (f1[:, 0] > 0) & (f1[:, 0] <= -CONTACT.sliver * h[e] * f1[:, 1])
        of[soon, 0] = np.where(np.isnan(of[soon, 0]), 1.0, of[soon, 0])
        away = np.where(rests, f1[:, 0] >= -self.touching[c], (of[:, 2] > 0) & ~(behind | started | soon))
        found, between = {}, {}
        for k in np.flatnonzero(~away):
            at, contact = int(e[k]), int(c[k])
            if found and at not in found:
                break
            crossing, minimum = of[k, :2]
            candidate = None
            if crossing == crossing:
                candidate = Candidate(CLOSES, contact, float(crossing))
            elif behind[k]:
                if at not in between:
                    between[at] = states_between(self.fine, states, here.of_coordinates, place[at]).gap
                passed = self._passed(between[at][:, contact] - level[k], started[k])
                candidate = None if passed is None else Candidate(CLOSES, contact, passed)
            if candidate is None and minimum == minimum:
                candidate = Candidate(events.TOUCHES, contact, float(minimum))
            if candidate is not None:
                found.setdefault(at, []).append(candidate)
        return found

    def _of_forces(self, mode, directions, states, here, zero):
        """Candidates where functions of the forces of closed contacts become negative, by element."""
        n = len(states.t) - 1
        between = states_between(self.theta, states, here.of_coordinates)
        found = [[] for _ in range(n)]
        inside = InMode(between, mode.modes, directions, mode.sharing)
        keys, *both = values_of(directions, inside)
        values, terms = (value.reshape(len(keys), n, -1) for value in both)
        flagged = (values < -CONTACT.unsure * terms.max(axis=2, initial=0.0)[:, :, None]).any(axis=2)
        flagged[:, 0] |= [key in zero for key in keys]
        for k, e in np.argwhere(flagged).tolist():
            at = first_negative(self.theta, values[k, e], e == 0 and keys[k] in zero)
            if at is not None:
                found[e].append(Candidate(*keys[k], at))
        return found

    def _passed(self, gaps, starts_at_zero):
        """First theta at which sampled gaps become negative, or None."""
        size = np.abs(gaps).max()
        below = np.flatnonzero(gaps < -CONTACT.seen * size)
        below = below[below > (1 if starts_at_zero else 0)]
        if not len(below):
            return None
        k = int(below[0])
        share = gaps[k - 1] / (gaps[k - 1] - gaps[k]) if gaps[k - 1] > 0 else 0.0
        return float(self.fine[k - 1] + share * (self.fine[k] - self.fine[k - 1]))


def _earliest(candidates):
    """The first one: of a contact whose friction vanishes with its normal force, that it opens."""
    first = min(candidates, key=lambda candidate: candidate.theta)
    opens = [other for other in candidates if first.kind == events.SLIPS and other.kind == events.OPENS
             and other.contact == first.contact and other.theta - first.theta <= CONTACT.at_limit]
    return opens[0] if opens else first


def values_of(directions, here):
    """Functions that are positive as long as a mode lasts: (kind, contact) of each, their values (n_functions, n), and
    the size of the terms that these are differences of: friction may equal its limit exactly.
    """
    states, forces, places = here.states, here.forces, here.states.contacts.places(here.modes)
    closed, slips, holds = places.closed, places.slips, places.holds
    keys, values = [(events.OPENS, c) for c in closed.tolist()], [forces[:, closed, 0]]
    if len(slips):  # what begins has hardly a slip, and ends as soon as it has
        keys += [(events.STICKS, c) for c in slips.tolist()]
        values.append((states.gamma[:, slips, 1:] * directions[slips]).sum(axis=2))
    if len(holds):
        keys += [(events.SLIPS, c) for c in holds.tolist()]
        limit = states.friction[:, holds] * np.where(places.hangs, here.load[:, holds], forces[:, holds, 0])
        friction = np.hypot(forces[:, holds, 1], forces[:, holds, 2])
        # what leans is at its limit until both vanish: smooth there, so that it opens and does not slip before
        values.append(np.where(places.leans, np.abs(limit) + CONTACT.lean * limit, limit) - friction)
        terms = [*map(np.abs, values[:-1]), np.abs(limit) + friction]
    else:
        terms = [np.abs(value) for value in values]
    return keys, np.concatenate(values, axis=1).T, np.concatenate(terms, axis=1).T


def states_between(theta, states, accelerations, first=None):
    """`ContactStates` at theta in the elements between states (n + 1,), element by element, or in that after the first
    one of them: by the quintics through these and their derivatives."""
    own = slice(None) if first is None else slice(first, first + 2)
    times, q, v, a = states.t[own], *(value[own, None] for value in (states.q, states.v, accelerations))
    h = np.diff(times)
    x, length, flows = theta[:, None], h[:, None, None], states.contacts.flows
    given = v[:, :, flows]
    if len(flows):  # whose velocities are none, and whose rates stand among the accelerations
        v, a = v.copy(), a.copy()
        v[:, :, flows], a[:, :, flows] = a[:, :, flows], 0.0
    c0, c1, c2, c3, c4, c5 = quintic(length, (q[:-1], v[:-1], a[:-1]), (q[1:], v[1:], a[1:]))
    q = c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
    v = (c1 + x * (2 * c2 + x * (3 * c3 + x * (4 * c4 + x * 5 * c5)))) / length
    v[:, :, flows] = given[:-1] + x * (given[1:] - given[:-1])
    t, n_q = times[:-1, None] + h[:, None] * theta, q.shape[-1]
    return states.contacts.at(t.ravel(), q.reshape(-1, n_q), v.reshape(-1, n_q))
