"""The first event in elements that were solved in one mode."""

from typing import NamedTuple

import numpy as np

from ...mechanics.values.evaluate import quantities_at
from . import events
from .crossings import Closing, first_negative, quintic
from .options import CONTACT
from .states import BEGINS, OPEN, SLIDES, STICKS, InMode

CLOSES = "closes"


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
    """

    def __init__(self, contacts, degree):
        self.contacts, self.still, self.touching = contacts, 0.0, 0.0
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
        system = self.contacts.system
        gaps, rates = quantities_at(system, t, z, "gaps", "gap rates", repeatable=False)
        self.gaps, self.rates = gaps, rates
        h = np.diff(t)[:, None]
        near = np.zeros((len(h), self.contacts.n), bool)
        if len(free):
            least = np.minimum(gaps[:-1], gaps[1:])
            reach = h * (np.abs(rates[:-1]) + np.abs(rates[1:]) + np.abs(np.diff(rates, axis=0)))
            near[:, free] = (least <= reach)[:, free]
        flagged = near.any(axis=1)
        if bound:
            flagged |= self._changes(mode, directions, t, z, zero)
        for e in np.flatnonzero(flagged):
            started = zero if e == 0 else set()
            found = self._in_element(mode, directions, t[e:e + 2], z[e:e + 2], np.flatnonzero(near[e]), bound, started)
            if found is not None:
                return int(e), found
        return None, None

    def _changes(self, mode, directions, t, z, zero):
        """Whether a function of the forces of closed contacts may become negative, shape (n,) bool."""
        states, n = self.contacts.at_state(t, z), len(t) - 1
        between = states_between(self.theta, states, InMode(states, mode.modes, directions).of_coordinates)
        found = np.zeros(n, bool)
        for key, values in values_of(mode, directions, InMode(between, mode.modes, directions)).items():
            values = values.reshape(n, -1)
            found |= (values < -CONTACT.unsure * np.abs(values).max(axis=1, initial=0.0)[:, None]).any(axis=1)
            found[0] |= key in zero
        return found

    def _in_element(self, mode, directions, t, z, near, bound, started):
        states = self.contacts.at_state(t, z)
        here, h, found = InMode(states, mode.modes, directions), t[1] - t[0], []
        ahead = states.gap[0] + states.jacobian[0, ::3] @ (states.q[1] - states.q[0])  # along the normals at the start
        behind = near[ahead[near] < 0]
        # of thin bodies that pass through each other in one element
        between = states_between(self.fine, states, here.of_coordinates).gap if len(behind) else None
        for c in near:
            ends = np.stack([states.gap[:, c], states.gamma[:, c, 0], here.accelerations[:, c, 0]], axis=1)
            rests = abs(ends[0, 0]) <= self.touching and abs(ends[0, 1]) <= self.still  # side by side, without a force
            if rests and ends[1, 0] >= -self.touching:
                continue
            closing = Closing(h, ends[0], ends[1], rests or (CLOSES, c) in started, self.still)
            if closing.crossing is not None:
                found.append(Candidate(CLOSES, int(c), closing.crossing))
            elif c in behind and (passed := self._passed(between[:, c], (CLOSES, c) in started)) is not None:
                found.append(Candidate(CLOSES, int(c), passed))
            elif closing.minimum is not None:
                found.append(Candidate(events.TOUCHES, int(c), closing.minimum))
        if bound:
            found += self._of_forces(mode, directions, states, here, started)
        return min(found, key=lambda candidate: candidate.theta) if found else None

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

    def _of_forces(self, mode, directions, states, here, started):
        between = states_between(self.theta, states, here.of_coordinates)
        functions = values_of(mode, directions, InMode(between, mode.modes, directions))
        found = []
        for (kind, c), values in functions.items():
            at = first_negative(self.theta, values, (kind, c) in started)
            if at is not None:
                found.append(Candidate(kind, c, at))
        return found


def values_of(mode, directions, here):
    """Functions that are positive as long as a mode lasts: dict (kind, contact) -> (n,)."""
    states, contacts, found = here.states, here.states.contacts, {}
    for c, what in enumerate(mode.modes):
        if what == OPEN:
            continue
        if not contacts.persistent[c]:
            found[events.OPENS, c] = here.forces[:, c, 0]
        if what in (SLIDES, BEGINS):
            found[events.STICKS, c] = states.gamma[:, c, 1:] @ directions[c]
        elif what == STICKS:
            normal = states.load[:, c] if contacts.persistent[c] else here.forces[:, c, 0]
            found[events.SLIPS, c] = states.friction[:, c] * normal - np.hypot(*here.forces[:, c, 1:].T)
    return found


def states_between(theta, states, accelerations):
    """`ContactStates` at theta in the elements between states (n + 1,), element by element: by the quintics through
    these and their derivatives."""
    h = np.diff(states.t)
    x, length = theta[:, None], h[:, None, None]
    q, v, a = (value[:, None] for value in (states.q, states.v, accelerations))
    c0, c1, c2, c3, c4, c5 = quintic(length, (q[:-1], v[:-1], a[:-1]), (q[1:], v[1:], a[1:]))
    q = c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
    v = (c1 + x * (2 * c2 + x * (3 * c3 + x * (4 * c4 + x * 5 * c5)))) / length
    t, n_q = states.t[:-1, None] + h[:, None] * theta, q.shape[-1]
    return states.contacts.at(t.ravel(), q.reshape(-1, n_q), v.reshape(-1, n_q))
