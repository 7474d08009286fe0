"""Solutions with rigid contact: events, forces of contacts, and what impacts and friction take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from ..assembly import TimeMesh
from ..mechanics.values.of_parts import rates_follow
from ..memory import Late
from ..polynomials import gauss_legendre
from ..types import Floats
from .solution import Solution

if TYPE_CHECKING:
    from ..solvers.nonsmooth.events import ContactEvent
    from ..status import Status

sharing = Late("timefem.solvers.nonsmooth.sharing")
states = Late("timefem.solvers.nonsmooth.states")
of_events = Late("timefem.solvers.nonsmooth.events")
evaluate = Late("timefem.mechanics.values.evaluate")
closed = Late("timefem.mechanics.contacts.reacting")


class ContactSolution(Solution):
    """Motion of a system with rigid contacts: elements end on events, and momenta may jump there.

    `sol(t)` is the state after an impact, `sol(t, side="left")` the one before it, and so is `sol.z`. Work and balance
    of energy count what impacts and friction take.

    Attributes
    ----------
    events : tuple of ContactEvent
        In time order.
    contact_names : list of str
        One per row of contact.
    contact_modes : ndarray of int, shape (n_elements, n_contacts)
        0 open, 1 closed without friction, 2 slides, 3 sticks, 4 begins to slide (in a very short element), 5 is held
        at the limit of its friction.
    slip_signs : ndarray of int, shape (n_elements, n_contacts)
        Of slips along a line.
    slip_directions : ndarray, shape (n_elements, n_contacts, 2)
        Of slips that begin.
    mode_nodes : ndarray of int, shape (n_elements,)
        Nodes at which the modes were entered.
    located : tuple of (int, str, int)
        Nodes whose times follow from the motion, by what vanishes there of which contact: "closes" (the gap), "touches"
        (its rate), "opens" (the normal force), "slips" (the limit of friction over it), "sticks" (the slip),
        "leaves" (the rest of a surface), or "beginning".
    nodal_contact_forces : ndarray, shape (n_elements, n, n_contacts, 3)
        Multipliers of the elements, of their order; see `contact_forces`.
    """

    def take_contacts(self, events: list[ContactEvent], arrays: dict[str, np.ndarray]) -> None:
        """What contacts did, see the attributes; arrays as of `contact_arrays`."""
        self.events = tuple(events)
        self.contact_modes, self.slip_signs, entered = (
            np.rint(arrays[name]).astype(int) for name in ("modes", "signs", "entered"))
        self.mode_nodes = entered[:, 0]
        self.slip_directions, self.nodal_contact_forces = arrays["directions"], arrays["forces"]
        self.located = tuple((int(node), of_events.LOCATED[int(kind)], int(contact))
                             for node, kind, contact in arrays["located"])

    def _cut(self, n: int, status: Status) -> ContactSolution:
        found = super()._cut(n, status)
        arrays = {name: values[:n] for name, values in self.contact_arrays().items()}
        arrays["located"] = np.array([row for row in self.contact_arrays()["located"] if row[0] <= n]).reshape(-1, 3)
        found.take_contacts([event for event in self.events if event.node <= n], arrays)
        return found

    @property
    def _contacts(self):
        return states.Contacts(self.system)

    @property
    def contact_names(self) -> list[str]:
        return self._contacts.names

    def contact_forces(self, t: Floats | None = None, *, side: str = "right") -> np.ndarray:
        """Forces of the contacts [N], shape t.shape + (n_contacts, 3): normal first, then friction along the surface.

        Those for which the accelerations keep the contacts closed or sticking, as accurate as the states. Impulses are
        in `events`.

        Parameters
        ----------
        t : array_like, optional
            Times [s]; default: the ends of the elements.
        side : {"right", "left"}
            At events, after or before.
        """
        t = self.t if t is None else np.asarray(t, float)
        found = np.zeros((t.size, len(self.contact_names), 3))
        for own, here in self._in_modes(t.ravel(), side):
            found[own] = here.forces
        return found.reshape(*t.shape, -1, 3)

    def _in_modes(self, t, side="right"):
        """`InMode` of those of times (n,) that have the same modes, and which ones these are."""
        e, _ = self._places(t, side)
        z, contacts = self(t, side=side), self._contacts
        given = np.isin(self.contact_modes, sharing.ALONG_GIVEN)[:, :, None]
        ways = np.where(given, self.slip_directions, self.slip_signs[:, :, None] * [1.0, 0.0])
        keys = np.concatenate([self.contact_modes, ways.reshape(len(ways), -1)], axis=1)[e]
        for key in np.unique(keys, axis=0):
            own = np.flatnonzero((keys == key).all(axis=1))
            modes, along = key[:contacts.n].astype(int), key[contacts.n:].reshape(-1, 2)
            yield own, states.InMode(contacts.at_state(t[own], z[own]), modes, along)

    def _constraint_forces(self, t):
        reactions, m = self._contacts.reactions, self.system.n_constraints
        if reactions is None or not rates_follow(self.system):
            return super()._constraint_forces(t)
        t = np.asarray(t, float)
        found = np.zeros((t.size, m + self.system.n_nonholonomic))
        for own, here in self._in_modes(t.ravel()):
            found[own] = here.constraint_forces
        found = found.reshape(*t.shape, -1)
        return np.concatenate([found[..., :m], np.zeros_like(found[..., :m])], axis=-1), found[..., m:]

    def _pressed_forces(self, t):
        reactions, found = self._contacts.reactions, {}
        if reactions is None:
            return found
        gamma = self._constraint_forces(t.ravel())[0][:, :reactions.m]
        normal = self.contact_forces(t).reshape(t.size, -1, 3)[:, reactions.normal, 0]
        seen = np.concatenate([gamma, normal], axis=1)
        for group in reactions.system.groups:
            for part, places in zip(group.members, group.reaction_index, strict=True):
                if isinstance(part, closed.PressedForce):
                    found[part.force_seen] = part, seen[:, places]
        return found

    def contact_pushes(self, t: np.ndarray, z: np.ndarray) -> np.ndarray:
        """`contact_forces` at times (n,) and states (n, n_z) there, as forces on the coordinates, (n, n_q)."""
        forces = self.contact_forces(t).reshape(len(t), -1)
        return self._contacts.at_state(t, z).jacobian.transposed_times(forces)

    def contact_gaps(self, t: Floats | None = None) -> np.ndarray:
        """Gaps [m], shape t.shape + (n_contacts,), at times or at the ends of the elements."""
        t, z = self._at(t)
        shape, z = z.shape[:-1], z.reshape(-1, self.system.n_z)
        return evaluate.quantities_at(self.system, np.broadcast_to(t, shape).ravel(), z, "gaps")[0].reshape(*shape, -1)

    def contact_points(self, t: Floats | None = None) -> np.ndarray:
        """Where the contacts are or would be [m], shape t.shape + (n_contacts, 3), at times or at the ends of the
        elements; NaN of those that are not at points of space, such as stops of joints."""
        t, z = self._at(t)
        return self._contact_frames(t, z)[..., 0, :]

    def contact_force_vectors(self, t: Floats | None = None, *, side: str = "right") -> np.ndarray:
        """`contact_forces` in space [N], shape t.shape + (n_contacts, 3), on the body that comes first."""
        forces = self.contact_forces(t, side=side)
        frames = self._contact_frames(*self._at(t))[..., 1:, :]
        return (forces[..., None] * frames).sum(axis=-2)

    def _contact_frames(self, t, z):
        shape, z = z.shape[:-1], z.reshape(-1, self.system.n_z)
        found, = evaluate.quantities_at(self.system, np.broadcast_to(t, shape).ravel(), z, "contact frames")
        return np.where(np.isinf(found), np.nan, found).reshape(*shape, -1, 4, 3)

    # ---- energy

    def energy_lost(self) -> dict[str, float]:
        """Energy that impacts and friction took [J], by contact, up to the end: an impact's is shared by the impulses.

        Negative where a surface that moves, such as a belt, does more work.
        """
        names = self.contact_names
        lost = dict.fromkeys(names, 0.0)
        n = len(self.t) - 1
        work = self._energy_of_impacts().sum(axis=0) + self._friction_work(np.arange(n), np.ones(n)).sum(axis=0)
        for name, value in zip(names, work, strict=True):
            lost[name] -= float(value)
        return lost

    def _energy_of_impacts(self):
        """What the energy changes at each end of an element, by contact, (n_elements + 1, n_contacts)."""
        n, names = len(self.t) - 1, self.contact_names
        found = np.zeros((n + 1, len(names)))
        for event in self.events:
            size = np.abs(event.impulses).sum(axis=1)
            if not size.any():  # slips that end do so within rounding
                size = np.ones(len(event.contacts))
            for name, share in zip(event.contacts, size / size.sum(), strict=False):
                found[min(event.node, n), names.index(name)] += share * event.energy
        return found

    def _friction_work(self, e, end):
        """Work of the forces of each contact in elements `e`, from their start to `end`, (n, n_contacts)."""
        x, weights = gauss_legendre(self.element.n_points)
        power = self._contact_powers(np.repeat(e, len(x)), (end[:, None] * x).ravel())
        h = np.diff(self.t)[e] * end
        return h[:, None] * (power.reshape(len(e), len(x), -1).transpose(0, 2, 1) @ weights)

    def _contact_powers(self, e, xi):
        """Power of the forces of each contact in elements `e` at places `xi`, (n, n_contacts)."""
        contacts, basis = self._contacts, self.element.state.basis
        out = np.zeros((len(e), contacts.n))
        for key in np.unique(self.contact_modes[e], axis=0):
            if not (key != sharing.OPEN).any():
                continue
            own = np.flatnonzero((self.contact_modes[e] == key).all(axis=1))
            many, at = e[own], xi[own]
            h = np.diff(self.t)[many]
            z = np.einsum("gi,gia->ga", basis.values(at), self.nodal.state[many])
            rate = np.einsum("gi,gia->ga", basis.derivatives(at), self.nodal.state[many][..., :self.system.n_q])
            t = self.t[many] + h * at
            force = np.einsum("gi,gica->gca", self.element.multiplier.basis.values(at), self.nodal_contact_forces[many])
            moving = contacts.at(t, z[:, :self.system.n_q], rate / h[:, None])
            pulled = moving.gamma - moving.drift  # surfaces that move do work
            here = contacts.at_state(t, z)
            load = here.load
            if contacts.reactions is not None:
                gamma = self.nodal.multipliers[many][..., :self.system.n_constraints]
                seen = np.einsum("gi,gia->ga", self.element.multiplier.basis.values(at), gamma)
                load = contacts.reactions.loads(here, seen)
            for c in np.flatnonzero(sharing.IS_RUBBING[key]):
                turns = contacts.n_slip[[c]] == 2
                along = states.directions(here.gamma[:, [c], 1:], np.array([[1.0, 0.0]]), turns)[:, 0]
                if key[c] in sharing.ALONG_GIVEN:
                    along = self.slip_directions[many, c]
                elif contacts.n_slip[c] == 1:
                    along = along * self.slip_signs[many, c][:, None]
                pressed = load[:, c] if contacts.persistent[c] else force[:, c, 0]
                force[:, c, 1:] = -(here.friction[:, c] * pressed)[:, None] * along
                force[:, c, 0] = 0.0 if contacts.persistent[c] else force[:, c, 0]
            out[own] = (force * pulled).sum(axis=-1)
        return out

    def _powers(self, e, xi):
        return self._with_contacts(super()._powers(e, xi), self._contact_powers(e, xi).T)

    def _with_contacts(self, found, values):
        """Values by part with those of each contact."""
        for (part, _), value in zip(self._contacts.parts, values, strict=True):
            name = self.system.label(part)
            found[name] = found.get(name, 0.0) + value
        return found

    @property
    def _seen_by_forces(self):
        system, reactions = super()._seen_by_forces[0], self._contacts.reactions
        if reactions is None:
            return system, self.nodal.multipliers
        m = system.n_constraints
        normal = self.nodal_contact_forces[:, :, reactions.normal, 0]
        gamma, mu = self.nodal.multipliers[..., :m], self.nodal.multipliers[..., m:]
        return reactions.system, np.concatenate([gamma, normal, mu, np.zeros_like(normal)], axis=-1)

    def _element_work(self, e, end):
        return super()._element_work(e, end) + self._friction_work(e, end).sum(axis=1)

    def _work_by_part(self):
        lost = self._energy_of_impacts()
        return self._with_contacts(super()._work_by_part(), (np.cumsum(lost, axis=0) - lost).T)

    def _work(self, t):
        n, jumps = len(self.t) - 1, self._energy_of_impacts().sum(axis=1)
        every = np.concatenate([[0.0], np.cumsum(self._element_work(np.arange(n), np.ones(n)))]) if n else np.zeros(1)
        after = np.cumsum(jumps)
        if t is None:
            return every + after - jumps
        t = np.asarray(t, float)
        e, xi = TimeMesh(self.t).locate(t.ravel())
        return (every[e] + after[e] + self._element_work(e, xi)).reshape(t.shape)

    # ---- files

    def contact_arrays(self) -> dict[str, np.ndarray]:
        """What `take_contacts` takes besides the events, for files."""
        located = [(node, of_events.LOCATED.index(kind), contact) for node, kind, contact in self.located]
        return {"modes": self.contact_modes.astype(float), "signs": self.slip_signs.astype(float),
                "entered": self.mode_nodes[:, None].astype(float), "directions": self.slip_directions,
                "forces": self.nodal_contact_forces, "located": np.array(located, float).reshape(-1, 3)}

    def events_as_text(self) -> str:
        """The events as JSON."""
        return json.dumps([event.as_dict() for event in self.events])
