"""What contacts do at a node: impacts, and the modes that follow."""

import numpy as np

from ...status import Reason
from . import events
from .impact_law import OPEN as SEPARATES
from .impact_law import PRESSED, complementary, impact
from .impact_law import SLIDES as SLIDE
from .impact_law import STICKS as STICK
from .sharing import BEGINS, CLOSED, OPEN, SLIDES, STICKS, shared

SAID = {SEPARATES: "separates", SLIDE: "slides", STICK: "sticks", PRESSED: "pressed"}


class NodeLaw:
    """Impacts and modes at nodes.

    Parameters
    ----------
    contacts : Contacts
    options : ContactOptions

    Attributes
    ----------
    speed, length, still : ndarray, shape (n_contacts,)
        Sizes of each contact by what was met so far: its largest velocity; its largest gap, and the way possible in an
        element; the speed that is none, by the speeds that contacts could have with the
        kinetic energies of these bodies, or get in an element.
    rounding : ndarray, shape (n_contacts,)
        Gap that is none.
    slow : ndarray, shape (n_contacts,)
        Speed of what is closed, at most, that is the error of the method.
    """

    def __init__(self, contacts, options):
        self.contacts, self.options = contacts, options
        self.speed, self.length, self.still, self.rounding, self._met, self._pulled = np.zeros((6, contacts.n))

    @property
    def sizes(self):
        """All of them, shape (6, n_contacts)."""
        return np.array([self.speed, self.length, self.still, self.rounding, self._met, self._pulled])

    @property
    def slow(self):
        return self.options.rest / self.options.still * self.still

    def take_sizes(self, sizes):
        self.speed, self.length, self.still, self.rounding, self._met, self._pulled = sizes.copy()

    def meet(self, gaps, gamma):
        """Take note of sizes: gaps (n, n_contacts), velocities (n, n_contacts, 3)."""
        largest = np.where(self.contacts.persistent, 0.0, np.abs(gaps).max(axis=0, initial=0.0))
        self._met = np.maximum(self._met, largest)
        self.length = np.maximum(self.length, largest)
        self.speed = np.maximum(self.speed, np.abs(gamma).max(axis=(0, 2), initial=0.0))

    def know(self, states, length):
        """Take note of the speeds and ways that are possible at the first state, with an element of that length."""
        contacts, pulled = self.contacts, np.abs(states.free[0].reshape(-1, 3))
        reach = np.sqrt(states.softness() * contacts.energies(states.v[0] * states.momenta_of(states.v)[0]))
        possible = contacts.together(np.maximum(reach, pulled.max(axis=1) * length))
        terms = states.terms()
        unseen = np.finfo(float).eps * terms / length  # a way in an element that places do not tell from none
        self.still = np.maximum(self.still, np.maximum(self.options.still * possible, unseen))
        self.length = np.maximum(self.length, possible * length)
        self.rounding = self.options.through * np.maximum(self.length, terms)
        self._pulled = np.maximum(self._pulled, pulled[:, 0] * length**2)
        wrong = ~np.isfinite(self.still + self.length)
        if wrong.any():
            names = [contacts.names[c] for c in np.flatnonzero(wrong)[:6]]
            hint = contacts.parts[np.flatnonzero(wrong)[0]][0].where_infinite
            raise events.Stuck(Reason.NOT_FINITE, ", ".join(names) + (hint and f": {hint}"))

    def usual(self):
        """Length of each contact by half of those that it depends on: one of them alone does not make it large."""
        found = self.contacts.together(self._met)
        for own in self.contacts.islands:
            found[own] = np.maximum(found[own], np.median(self._pulled[own]))
        return found

    def touching(self, states, modes, sure=()):
        """Contacts that touch at the first state."""
        near = states.gap[0] <= self.options.touching * self.length
        near |= np.asarray(modes) != OPEN
        near[list(sure)] = True
        return np.flatnonzero(near & ~self.contacts.persistent)

    def impact(self, states, touching, length):
        """The impact of contacts, or None where none approaches; `length` is that of the element.

        Returns
        -------
        velocity : ndarray, shape (n_q,)
            After it.
        found : Impact
            With all contacts.
        """
        gamma, o = states.gamma[0], self.options
        approach = -gamma[touching, 0]
        if not (approach > self.still[touching]).any():
            return None
        rest = states.restitution[0].copy()
        acceleration = np.abs(states.free[0].reshape(-1, 3)[:, 0])
        flight = 2 * rest * np.abs(gamma[:, 0]) / np.maximum(acceleration, 1e-300)
        slow = (rest < 1) & ((np.abs(gamma[:, 0]) < o.rest * self.speed) | (flight < o.short_flight * length))
        rest[slow | (gamma[:, 0] > 0)] = 0.0  # what leaves is not to come back by the restitution
        rows = (3 * touching[:, None] + np.arange(3)).ravel()
        found = impact(states.compliance(rows), gamma[touching], rest[touching],
                       states.friction[0][touching] * (self.contacts.n_slip[touching] > 0))
        if not found.solved:
            names = ", ".join(self.contacts.names[c] for c in touching)
            raise events.Stuck(Reason.IMPACT_BUDGET, f"no impulses were found for the impact of {names}")
        return self._after(states, touching, found)

    def modes(self, states, touching, length, opens=(), slips=None):
        """Modes, and directions of slips, at the first state after all impacts.

        Parameters
        ----------
        states : ContactStates
        touching : ndarray of int
        length : float
            Of the element.
        opens : tuple of int
            Contacts that open, whatever the forces.
        slips : dict
            Contact -> direction (2,) in which it begins to slip.

        Returns
        -------
        modes : ndarray of int, shape (n_contacts,)
        directions : ndarray, shape (n_contacts, 2)
            Of slips.
        """
        contacts, slips = self.contacts, dict(slips or {})
        gamma = states.gamma[0]
        pulled = np.abs(states.free[0].reshape(-1, 3)[:, 0])
        slow = np.maximum(self.still, pulled * self.options.short_flight * length / 2)
        inside = [c for c in touching if c not in opens and gamma[c, 0] <= slow[c]]  # if pressed, it would soon return
        inside = np.array(sorted({*inside, *np.flatnonzero(contacts.persistent)}), int)
        modes, directions = np.zeros(contacts.n, int), np.zeros((contacts.n, 2))
        if not len(inside):
            return modes, directions
        friction = states.friction[0] * (contacts.n_slip > 0)
        size = np.hypot(gamma[:, 1], gamma[:, 2])
        rows = (3 * inside[:, None] + np.arange(3)).ravel()
        columns, rubs = np.eye(len(rows)), np.zeros(len(rows))
        law_friction, slides = np.where(contacts.persistent, 0.0, friction), {}
        for i, c in enumerate(inside):
            moving = contacts.n_slip[c] and size[c] > self.still[c] and c not in slips
            carried = states.carried(c) if contacts.n_slip[c] and not moving and c not in slips else None
            if carried is not None:
                slips[c] = carried
            if not (moving or c in slips):
                continue
            along = gamma[c, 1:] / size[c] if moving else slips[c]
            directions[c] = slides[c] = along
            place = slice(3 * i + 1, 3 * i + 3)
            columns[place, place] = 0.0
            if contacts.persistent[c]:
                rubs[place] = -friction[c] * along
            else:
                columns[place, 3 * i] = -friction[c] * along
            law_friction[c] = 0.0
        turns, dry = np.isin(inside, list(slides)), friction * contacts.persistent
        dry[list(slides)] = 0.0

        def found_with(free, compliance, load):
            given = rubs * load[inside].repeat(3)
            matrix, free = compliance @ columns, free + compliance @ given
            for i in np.flatnonzero(turns):
                matrix[3 * i + 1:3 * i + 3], free[3 * i + 1:3 * i + 3] = 0.0, 0.0
            found = complementary(matrix, free, law_friction[inside], (dry * load)[inside])
            return None if found is None else (*found, given)

        if states.reacting is None:
            found = found_with(states.free[0, rows], states.compliance(rows), states.load[0])
        else:
            found = self._with_reactions(states, inside, rows, columns, found_with)
        if found is None:
            return None
        forces, statuses, given = found
        sizes = np.zeros(contacts.n)
        sizes[inside] = np.maximum(np.abs(forces), np.abs(given).reshape(-1, 3)).max(axis=1)  # beside dry friction, too
        none = self.options.none * np.maximum(contacts.of_bodies(sizes), states.possible_forces())
        for c, force, status in zip(inside, forces, statuses, strict=True):
            if not contacts.persistent[c] and (status == SEPARATES or force[0] <= none[c]):
                continue
            if c in slides:
                modes[c] = BEGINS if c in slips and contacts.n_slip[c] == 2 else SLIDES
            elif status == PRESSED:
                modes[c] = CLOSED
            elif status == SLIDE:
                modes[c] = BEGINS if contacts.n_slip[c] == 2 else SLIDES
                directions[c] = -force[1:] / np.hypot(*force[1:])
            else:
                modes[c] = STICKS
        return modes, directions

    def _with_reactions(self, states, inside, rows, columns, found_with):
        """The same where forces depend on those of constraints and contacts, step by step linear."""
        found, reacting, every = None, states.reacting, np.zeros((1, self.contacts.n, 3))

        def step(seen):
            nonlocal found
            linear = reacting.linear(seen)
            load = reacting.reactions.loads(states, seen)[0]
            found = found_with(states.free_with(linear.accelerations)[0, rows], linear.compliance(rows), load)
            if found is None:
                return np.full_like(seen, np.nan)
            every[0, inside] = (columns @ found[0].ravel() + found[2]).reshape(-1, 3)
            return linear.seen(every)

        try:
            reacting.solved(step)
        except events.Stuck:
            return None
        return found

    def jam(self, states, touching):
        """Impulses where forces alone are not consistent (Painleve): those of an impact with a very slow approach."""
        rows = (3 * touching[:, None] + np.arange(3)).ravel()
        gamma = states.gamma[0][touching].copy()
        gamma[:, 0] = np.minimum(gamma[:, 0], -1e-9 * np.maximum(self.speed[touching], 1e-300))
        found = impact(states.compliance(rows), gamma, np.zeros(len(touching)),
                       states.friction[0][touching])
        of_bodies, size = self.contacts.of_bodies, np.zeros((2, self.contacts.n))
        size[:, touching] = np.abs(gamma).max(axis=1), np.abs(found.impulses).max(axis=1)
        if not (found.solved and (of_bodies(size[1]) * of_bodies(states.softness()) > 1e-6 * of_bodies(size[0])).any()):
            return None
        return self._after(states, touching, found)

    def _after(self, states, touching, found):
        """Velocities after impulses of those that touch, and the `Impact` with all contacts."""
        impulses, statuses = np.zeros((self.contacts.n, 3)), np.zeros(self.contacts.n, int)
        impulses[touching], statuses[touching] = found.impulses, found.statuses
        v, after = states.v[0], states.velocities_after(impulses[None])[0]
        # with the work of surfaces that move, and of joints whose motion is prescribed
        energy = float(states.momenta_of((after - v)[None])[0] @ (v + after)) / 2
        return after, found._replace(impulses=impulses, statuses=statuses, energy=energy)

    def consistent(self, states, modes):
        """Velocities for which what is closed does not move, and what sticks does not slip, by the least impulse; and
        the `Sharing` of the contacts."""
        sharing = shared(states, modes)
        rows = sharing.own
        if not len(rows):
            return states.v[0], sharing
        forces = np.zeros(3 * self.contacts.n)
        forces[rows] = -np.linalg.solve(states.compliance(rows), states.gamma[0].ravel()[rows])
        return states.velocities_after(forces.reshape(1, -1, 3))[0], sharing

    def along(self, states, slips, directions, sharing):
        """Velocities whose slips of given contacts are along `directions` (n_contacts, 2), by the least impulse that
        keeps what is closed."""
        turned, across = np.eye(3 * self.contacts.n), 3 * slips + 1
        turned[across, across], turned[across, across + 1] = -directions[slips, 1], directions[slips, 0]
        turned = turned[np.concatenate([sharing.own, across])]
        rooted = turned @ states.rooted
        forces = -np.linalg.lstsq(rooted @ rooted.T, turned @ states.gamma[0].ravel(), rcond=None)[0] @ turned
        return states.velocities_after(forces.reshape(1, -1, 3))[0]


def event(t, node, kind, names, found=None, touching=(), contacts=()):
    """A `ContactEvent`, of an impact with its impulses."""
    if found is None:
        return events.ContactEvent(float(t), node, kind, tuple(names))
    touching = list(touching)
    return events.ContactEvent(
        float(t), node, kind, tuple(contacts.names[c] for c in touching), found.impulses[touching],
        tuple(SAID[int(s)] for s in found.statuses[touching]), found.energy, float(found.share.min(initial=1.0)),
        found.distance)


def fallback_event(t, node, step, rows, contacts):
    """The `ContactEvent` of a fallback element."""
    return events.ContactEvent(
        float(t), node, events.FALLBACK, tuple(contacts.names[c] for c in rows), step.impulses[rows],
        tuple(SAID[int(s)] for s in step.statuses[rows]), step.energy, step.share)
