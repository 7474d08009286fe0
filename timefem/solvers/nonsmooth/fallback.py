"""Elements for many impacts, and for slips in space that begin without a smooth motion: Moreau's midpoint.

It is mG(1) with impulses that are constant in the element, of first order whatever happens inside. Contacts that
overlap at the midpoint or the end obey the law of impact with the velocities at the ends; what still overlaps at the
end is moved apart as far as the dissipation of the element pays for it.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...mechanics.contacts.rigid import MeanForce
from ...mechanics.values.evaluate import quantities_at
from ...memory import Late
from ...status import Reason
from .events import Stuck, some
from .impact_law import complementary, stepped
from .modes import Mode, ModeSystem
from .sharing import NOTHING_SHARED, OPEN

optimize = Late("scipy.optimize")


class Step(NamedTuple):
    """One fallback element.

    Attributes
    ----------
    solved : Solved
    impulses : ndarray, shape (n_contacts, 3)
    statuses : ndarray of int, shape (n_contacts,)
    energy : float
        Change by the contacts, with what moved them apart.
    share : float
        Of the restitutions.
    """

    solved: object
    impulses: np.ndarray
    statuses: np.ndarray
    energy: float
    share: float


class Gaining(Exception):
    """An element in which contacts gain energy: rows turn too far in it, or its impulses have not converged."""


class Fallback:
    """Fallback elements of a system.

    Parameters
    ----------
    contacts : Contacts
    element : TimeElement
    how : Marching
    options : ContactOptions
    """

    def __init__(self, contacts, element, how, options):
        self.contacts, self.element, self.options = contacts, element, options
        seeing = [part for part in contacts.system.parts if (part.n_contacts and part.reactions_of) or any(
            other.n_contacts for other in part.reactions_of)]
        if seeing:
            names = some([contacts.system.label(part) for part in seeing])
            raise Stuck(Reason.IMPACT_BUDGET, f"the fallback for many impacts has no normal forces for {names}")
        points = None if element.n_points == element._form.most_points * element.degree else 1
        open_ = Mode((OPEN,) * contacts.n, (1,) * contacts.n, NOTHING_SHARED)
        self.forces = [MeanForce(body) for body in contacts.system.bodies]
        self.system = ModeSystem(contacts, replace(element, degree=1, n_points=points), open_,
                                 np.zeros((contacts.n, 2)), how, self.forces)
        own = {force: i for i, force in enumerate(self.forces)}
        self._places, start = [None] * len(self.forces), 0
        for group in self.system.system.groups:
            for member, row in zip(group.members, group.parameters, strict=True):
                if member in own:
                    self._places[own[member]] = slice(start, start + len(member.own_parameters))
                start += len(row)

    def step(self, t, z, h, rest, apart):
        """The element from t to t + h; None where it has no solution.

        Parameters
        ----------
        t, h : float
        z : ndarray, shape (n_z,)
        rest : ndarray, shape (n_contacts,)
            Speeds below which nothing bounces.
        apart : ndarray of bool, shape (n_contacts,)
            Contacts that get no impulses, whatever their gaps.

        Raises
        ------
        Gaining
        """
        contacts, n = self.contacts, self.contacts.system.n_q
        free = self._solve(t, z, h, np.zeros(n))
        if free is None:
            return None
        start, end, step, none = contacts.at_state(t, z), free.state[-1, -1, :n], None, np.zeros((contacts.n, 3))
        middle = contacts.at(t + h / 2, (z[:n] + end) / 2, start.v[0])
        active = (middle.gap[0] <= 0) & ~apart | contacts.persistent
        while True:  # what stands on others closes where these do not fall with it
            closes = ~(active | apart) & (contacts.at(t + h, end, start.v[0]).gap[0] < 0)
            if step is not None and not closes.any():
                break
            active |= closes
            if not active.any():
                return Step(self._filled(free, none), none, np.zeros(contacts.n, int), 0.0, 1.0)
            step, middle = self._pushed(t, z, h, start, middle, free, np.flatnonzero(active), rest)
            if step is None:
                return None
            end = step.solved.state[-1, -1, :n]
        lost = max(-step.energy, 0.0)
        reached = step.solved.state[-1, -1]
        step.solved.state[-1, -1], paid = self._apart(t + h, reached, contacts.at_state(t + h, reached).v[0], lost)
        driven = float((step.impulses * middle.drift[0]).sum())  # the work of surfaces that move
        energy, velocities = step.energy + paid - driven, (start.v, middle.moved_by(step.impulses[None]))
        size = sum(float(start.momenta_of(v)[0] @ v[0]) for v in velocities) / 4  # the mean kinetic energy
        if energy > self.options.gain * (size + abs(driven)):
            raise Gaining(f"the fallback for many impacts gains energy at {some(np.array(contacts.names)[active])}")
        return step._replace(solved=self._filled(step.solved, step.impulses / h), energy=energy)

    def _pushed(self, t, z, h, start, middle, free, active, rest):
        """The `Step` with impulses of the active contacts, and the states in the middle at which they are; None without
        a solution.

        Rows are those of the middle of the element itself, in which contacts that stay closed keep their gaps.
        """
        contacts, n = self.contacts, self.contacts.system.n_q
        rows = (3 * active[:, None] + np.arange(3)).ravel()
        solved, impulses, predicted = free, np.zeros((len(active), 3)), np.inf
        speed = rest[active] / self.options.rest
        for _ in range(self.options.corrections):
            compliance, gamma0 = middle.compliance(rows), middle.gamma[0][active]
            # velocities at the end for which impulses times mean velocities are the work of the element
            mean = (solved.state[-1, -1, :n] - z[:n]) / h
            gamma1 = 2 * contacts.at(middle.t[0], middle.q[0], mean).gamma[0][active] - gamma0
            off = np.abs(np.stack([gamma0, gamma1]) - predicted).max(axis=(0, 2))
            if (off <= self.options.corrected * np.maximum(np.abs(gamma1).max(), speed)).all():
                break
            turned = gamma0[:, 0] - start.gamma[0, active, 0]
            bounce = np.where(np.abs(gamma0[:, 0]) < rest[active], 0.0, middle.restitution[0][active])
            friction = middle.friction[0][active] * (contacts.n_slip[active] > 0)
            bound = np.where(contacts.persistent[active], friction * middle.load[0][active] * h, 0.0)
            friction = np.where(contacts.persistent[active], 0.0, friction)
            after = gamma1 - (compliance @ impulses.ravel()).reshape(-1, 3)
            found = stepped(compliance, after, gamma0, turned, bounce, friction, bound)
            if found is None:
                return None, middle
            impulses, statuses, share = found
            pushed = middle.jacobian.dense_rows(rows)[0].T @ impulses.ravel()
            solved = self._solve(t, z, h, pushed / h)
            if solved is None:
                return None, middle
            predicted = np.stack([gamma0, after + (compliance @ impulses.ravel()).reshape(-1, 3)])
            used, middle = middle, contacts.at(t + h / 2, (z[:n] + solved.state[-1, -1, :n]) / 2, start.v[0])
        # the work is that of the rows that had the impulses
        mean = (solved.state[-1, -1, :n] - z[:n]) / h
        work = float((impulses * contacts.at(used.t[0], used.q[0], mean).gamma[0][active]).sum())
        every, said = np.zeros((contacts.n, 3)), np.zeros(contacts.n, int)
        every[active], said[active] = impulses, statuses
        return Step(solved, every, said, work, share), used

    def up_to(self, t, z, end, law, others, rounding):
        """The element from t to `end`, or to the first closing of `others`; shorter where it would gain energy.

        Returns
        -------
        h : float
        step : Step or None
            None where they close at once.
        closes : ndarray of int
            Those that close at its end.

        Raises
        ------
        Stuck
            When no impulses are found.
        """
        for _ in range(self.options.halvings):
            try:
                return self._up_to(t, z, end, law, others, rounding)
            except Gaining as error:
                gaining, end = error, (t + end) / 2
        raise Stuck(Reason.IMPACT_BUDGET, str(gaining))

    def _up_to(self, t, z, end, law, others, rounding):
        contacts, whole, kept, closes = self.contacts, end - t, None, np.zeros(0, int)
        rest, tolerance = self.options.rest * law.speed, self.options.touching * law.length

        def least(h):
            """Least gap of the others after an element of length h: zero where it is none, to rounding."""
            nonlocal kept, closes
            if h == 0:
                return self._gaps_at(t, z)[others].min()
            step = self.step(t, z, h, rest, others)
            if step is None:
                near = some(np.array(contacts.names)[~others])
                raise Stuck(Reason.IMPACT_BUDGET, f"no impulses were found by the fallback for many impacts of {near}")
            gaps = self._gaps_at(t + h, step.solved.state[-1, -1])
            through, reached = (gaps < -law.rounding) & others, np.flatnonzero((gaps <= tolerance) & others)
            if not through.any() and (kept is None or h > kept[0]):
                kept, closes = (h, step), reached
            elif kept is None:
                closes = reached
            return 0.0 if len(reached) and not through.any() else gaps[others].min(initial=np.inf)

        if least(whole) < 0:
            optimize.brentq(least, 0.0, whole, xtol=rounding, maxiter=self.options.locations, disp=False)
        return *(kept or (0.0, None)), closes

    def _gaps_at(self, t, z):
        return quantities_at(self.contacts.system, np.array([t]), z[None], "gaps", repeatable=False)[0][0]

    def _solve(self, t, z, h, force):
        """The element with a force (n_q,); None where Newton's method fails."""
        parameters = self.system.plan.arrays.parameters
        for body, place in zip(self.contacts.system.bodies, self._places, strict=True):
            parameters[place] = force[self.contacts.system.coordinates(body)]
        solved = self.system.march(np.array([t, t + h]), z, exact=True)
        return solved if len(solved.state) else None

    def _filled(self, solved, forces):
        """Nodal values of the element of the march, linear in time."""
        x = self.element.state.basis.points[:, None]
        start, end = solved.state[0, 0], solved.state[0, -1]
        n = self.element.multiplier.basis.n_shapes
        return solved._replace(
            state=(start + x * (end - start))[None], multipliers=solved.multipliers.repeat(n, axis=1)[:, :n],
            forces=np.broadcast_to(forces, (1, n, *forces.shape)).copy(), others={})

    def _apart(self, t, z, v, pays):
        """The state with contacts that overlap moved apart, by the smallest way in the metric of the mass, as far as
        that takes no more energy than `pays`; and what it takes."""
        contacts, system, n = self.contacts, self.contacts.system, self.contacts.system.n_q
        here = contacts.at(t, z[:n], v)
        gap = np.where(contacts.persistent, np.inf, here.gap[0])
        deep = np.flatnonzero(gap < self.options.reach * np.abs(np.minimum(gap, 0)).max(initial=0.0))
        if not (gap < 0).any() or pays <= 0:
            return z, 0.0
        rows = (3 * deep[:, None] + np.arange(3)).ravel()
        free = np.zeros((len(deep), 3))
        free[:, 0] = gap[deep]
        flat = here.compliance(rows)
        along = np.arange(len(rows)) % 3 > 0
        flat[along], flat[:, along] = 0.0, 0.0
        found = complementary(flat, free.ravel(), np.zeros(len(deep)), np.zeros(len(deep)))
        if found is None:
            return z, 0.0
        apart = np.zeros((1, contacts.n, 3))
        apart[0, deep] = found[0]
        dq = here.moved_by(apart)[0]
        share = 1.0
        for _ in range(self.options.locations):
            q = self._on_constraints(t, z[:n] + share * dq)
            moved = np.concatenate([q, z[n:]])
            velocity = contacts.at(t, q, v).allowed[0]
            moved[n:] = system.momentum(t, moved, velocity)
            moved[n:][contacts.helpers] = z[n:][contacts.helpers]
            takes = float(system.hamiltonian(t, moved) - system.hamiltonian(t, z))
            if takes <= pays:
                return moved, takes
            share *= min(0.5, 0.9 * pays / takes)
        return z, 0.0

    def _on_constraints(self, t, q):
        """The nearest coordinates that hold the constraints."""
        system = self.contacts.system
        for _ in range(4 if system.n_constraints else 0):
            z = np.concatenate([q, np.zeros(system.n_q)])[None]
            phi, jacobian = quantities_at(system, np.array([t]), z, "positions", "jacobian")
            gradient = jacobian.dense()[0][:system.n_constraints, :system.n_q]
            q = q - np.linalg.lstsq(gradient, phi[0], rcond=None)[0]
        return q
