"""One march of the pilot, in runs of pairs, which ends pairs where forces begin and end."""

import numpy as np

from ...assembly import TimeMesh
from ..linear.element.code import DONE, PAUSE, ROOM
from .events import EVENTS
from .pilot_loop import PilotArrays, adapt_elements

CHUNK = 1000  # pairs between two looks at signals


class PilotRun:
    """The arrays of a pilot march, and how far it has come; see `adapt_elements`.

    Parameters
    ----------
    pilot : Pilot
    density : float
        Of the local error in time [1/s].
    """

    def __init__(self, pilot, density):
        plan, self.pilot, self.density = pilot.plan, pilot, density
        self.step, self.n_node = plan.columns.step, pilot.loop.record.n_node
        self.span = pilot.t_span[1] - pilot.t_span[0]
        self.first = plan.first_element(TimeMesh(pilot.t_span), pilot.z0, pilot.multipliers)
        self.reference, room = pilot.scaling.size(pilot.z0), 2 * CHUNK
        pilot.loop.begin()
        self.march = pilot.loop.march(np.zeros(self.n_node + room * self.step), np.zeros(room + 1), np.zeros(room),
                                      pilot.settings, self.reference, False)
        self.nodes[0], self.errors, self._tolerances = pilot.t_span[0], np.zeros(CHUNK), self.march.tolerances.copy()
        self.shortest = max(pilot.least, pilot.options.first_pair * self.span)
        self.control = np.array([min(pilot.most, self.shortest), 1.0])
        self.counts, self.e, self.code = np.zeros(2, int), 0, PAUSE
        self.work = np.zeros(plan.columns.n_local), *np.zeros((3, len(pilot.estimate.right)))
        motion = pilot.motion
        self.attempt = motion.replaced(speed=motion.speed.copy(), rate=motion.rate.copy())
        self.breaks, self._pairs = pilot.kinks, CHUNK if pilot.crossings is None else EVENTS.few

    @property
    def x(self):
        """Dofs in time order."""
        return self.march.x

    @property
    def nodes(self):
        """Ends of the elements."""
        return self.march.t

    def advance(self):
        """Go on by some pairs, to the next event at most."""
        saved = self._state()
        self._solve(self._pairs)
        if self.pilot.crossings is None:
            return
        found = self._first_event(saved[0])
        if found is None:
            self._pairs = min(2 * self._pairs, CHUNK)
            return
        element, function, time = found
        pairs = (element - saved[0]) // 2
        self._restore(saved)
        if pairs:
            self._solve(pairs)
        self._end_at(function, time)
        self._pairs = EVENTS.few

    def _end_at(self, j, time):
        """End the next pair where the switching function j vanishes, near that time, and begin anew there."""
        breaks, saved, close, off = self.breaks, self._state(), EVENTS.close * self.span, np.inf
        for _ in range(EVENTS.most_locations):
            place = np.searchsorted(breaks, time)
            self.breaks = np.insert(breaks, place, time) if breaks[place] - time > close else breaks
            self._solve(1)
            if self.code not in (PAUSE, DONE) or abs(self.nodes[self.e] - time) > close:
                break  # Newton's method or the error ask for a shorter pair
            now = self.pilot.crossings.near_end(*self._elements(self.e - 2, self.e), j)
            if not abs(now - time) <= 0.1 * (time - self.nodes[saved[0]]):
                break  # what was found from too long an element is no event
            off, before = abs(now - time), off
            if off <= EVENTS.exact * self.span or (off <= close and off >= 0.1 * before):  # no nearer, by rounding
                break
            time = now
            if not saved[1] < time:
                break
            self._restore(saved)
        self.control[:] = min(self.control[0], self.shortest), 1.0

    def _first_event(self, start):
        """Element, switching function and time of the first event from element `start` on, or None.

        None in short pairs, whose errors tell what forces do, and near the ends of pairs.
        """
        for e, j, time in self.pilot.crossings.inside(*self._elements(start, self.e)):
            pair = start + e - e % 2
            low, high = self.nodes[pair], self.nodes[pair + 2]
            if high - low > EVENTS.short * self.span and EVENTS.near * (high - low) < min(time - low, high - time):
                return pair, j, time
        return None

    def _elements(self, first, last):
        """Times, lengths and nodal states of elements."""
        columns = self.pilot.plan.columns
        x = self.x[first * self.step:self.n_node + last * self.step]
        return self.nodes[first:last], self.march.h[first:last], columns.unpack(x)[0]

    def _state(self):
        motion = self.pilot.motion
        return (self.e, self.nodes[self.e], self.control.copy(), self.counts.copy(), motion.speed.copy(),
                motion.rate.copy())

    def _restore(self, saved):
        self.e, _, self.control[:], self.counts[:], self.pilot.motion.speed[:], self.pilot.motion.rate[:] = saved

    def _solve(self, n_pairs):
        pilot, stop = self.pilot, self.e + 2 * n_pairs
        while True:
            arrays = PilotArrays(self.first, self._tolerances, self.reference, self.errors, pilot.estimate,
                                 pilot.motion, self.attempt, self.breaks, self.density, pilot.least, pilot.most,
                                 self.control, self.counts, *self.work)
            self.e, self.code = adapt_elements(self.march, arrays, self.e, (stop - self.e) // 2)
            if self.code != ROOM:
                return
            room = {name: np.append(values, np.zeros_like(values)) for name in ("x", "t", "h", "iterations")
                    for values in (getattr(self.march, name),)}
            self.march, self.errors = self.march.replaced(**room), np.append(self.errors, np.zeros_like(self.errors))
