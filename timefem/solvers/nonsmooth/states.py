"""What the contacts of a system are worth at states: gaps, velocities, compliance, and forces on acceleration level."""

from functools import cached_property

import numpy as np

from ...mechanics.joints.bound import JointPart
from ...mechanics.numbers.records import rebuilt
from ...mechanics.states.consistent_multipliers import norms_of_terms, row_sizes
from ...mechanics.symbols import first_order_places
from ...mechanics.values.equations_of_motion import MotionFormulas
from ...mechanics.values.evaluate import Matrix, PerThread, evaluator
from ...mechanics.values.of_parts import has_reaction_forces
from ...mechanics.values.state_values import velocities_at
from .mobility import blocks_of, constrained
from .options import CONTACT, RANK
from .reacting import Reacting, Reactions
from .sharing import OPEN, Places, shared, within_limits, without_contacts

NAMES = ("row", "row_a", "psi", "form", "psi_v", "form_v", "second", "third", "gap", "gap rate", "gap acceleration",
         "gap_q", "slip", "slip rate", "slip_v", "restitution", "friction", "load")


def _largest(values, label):
    largest = np.zeros(label.max(initial=0) + 1)
    with np.errstate(invalid="ignore"):  # what is not finite is named where sizes are taken
        np.maximum.at(largest, label, values)
    return largest[label]


class Contacts:
    """The rows of rigid contact of a system, without numbers that depend on a state.

    Attributes
    ----------
    n : int
    names : list of str
    parts : list of (Part, int)
        Of each row, and which of its rows it is.
    n_slip : ndarray of int, shape (n,)
    persistent, ends : ndarray of bool, shape (n,)
        Whether they are never open, and whether their surfaces end.
    helpers, flows : ndarray of int
        Coordinates that count turns, and those of first order.
    """

    def __init__(self, system):
        self.system = system
        self.parts = [(part, i) for part in system.rigid_contacts for i in range(part.n_contacts)]
        self.names = [f"{system.label(part)}: {part.contact_names[i]}" if part.n_contacts > 1 else system.label(part)
                      for part, i in self.parts]
        self.n = len(self.parts)
        self.n_slip = np.array([part.n_slip for part, _ in self.parts], int)
        self.persistent = np.array([part.persistent for part, _ in self.parts], bool)
        self.ends = np.array([part.has_ends for part, _ in self.parts], bool)
        # rows of slip, contact by contact, among the three of each
        self.tangents = np.concatenate([np.zeros(0, int), *(3 * c + 1 + np.arange(n)
                                                            for c, n in enumerate(self.n_slip))])
        self._blocks, self._sizes, self.stacks, self._places, self._kept = None, None, {}, {}, {}
        self.flows = np.array(first_order_places(system), int)
        self.helpers = np.concatenate([np.zeros(0, int), *(np.arange(system.n_q)[system.coordinates(b)]
                                                           for b in system.bodies if b.is_counter)])

    @cached_property
    def free(self):
        """The system without its rigid contacts."""
        return without_contacts(self.system)

    @cached_property
    def reactions(self):
        """`Reactions` of forces that depend on those of constraints and contacts, None without any."""
        return Reactions(self) if has_reaction_forces(self.system) else None

    @cached_property
    def labels(self):
        """Of contacts and coordinates: numbers of the sets of bodies that parts couple."""
        system = self.system
        label = {body: k for k, body in enumerate(system.bodies)}
        for part in system.parts:
            own = {label[body] for body in part.bodies if body in label}
            if len(own) > 1:
                label = {body: min(own) if k in own else k for body, k in label.items()}
        of = np.zeros(system.n_q, int)
        for body, k in label.items():
            of[system.coordinates(body)] = k
        return np.array([next((label[body] for body in part.bodies if body in label), 0) for part, _ in self.parts],
                        int), of

    @cached_property
    def alike(self):
        """Of contacts, shape (n_contacts,): numbers of the sets of bodies that parts couple, apart for lengths and for
        angles, whose sizes say nothing of each other."""
        label, _ = self.labels
        angle = [isinstance(part, JointPart) and part.bound.coordinate.unit == "rad" for part, _ in self.parts]
        return np.unique(2 * label + np.array(angle, int), return_inverse=True)[1]

    @cached_property
    def islands(self):
        """Contacts that are alike, list of ndarray of int."""
        return [np.flatnonzero(self.alike == k) for k in dict.fromkeys(self.alike.tolist())]

    def together(self, values):
        """The largest of values (n_contacts,) among the contacts that each one depends on, and is like."""
        return _largest(values, self.alike)

    def of_bodies(self, values):
        """The largest of values (n_contacts,) among the contacts that each one depends on."""
        return _largest(values, self.labels[0])

    def energies(self, values):
        """Sums of values (n_q,) of the bodies on which each contact depends, shape (n_contacts,)."""
        label, of = self.labels
        return np.maximum(np.bincount(of, values, minlength=label.max(initial=0) + 1), 0.0)[label]

    def sizes(self, t, q):
        """Sizes of the terms of constraints by velocities, at one time and coordinates, for coordinates that are
        weighted with the mass, shape (m,): what is rounding beside them holds nothing."""
        if self._sizes is None:
            z = np.concatenate([q, np.zeros_like(q)])
            self._sizes = norms_of_terms(self.system, t, z, self.system.mass_scale**-0.5)
        return self._sizes

    def blocks(self, mass, gradient, sizes):
        """`Block`s of coordinates that masses and constraints couple, by the patterns of these matrices."""
        if self._blocks is None:
            self._blocks = blocks_of(mass, gradient, self.helpers, np.sqrt(np.array(self.system.mass_scale)), sizes)
        return self._blocks

    def stacked(self, first, second, of):
        """One `Matrix` of the rows of two of the values `of` states: of gaps and slips, or of constraints."""
        a, b = of[first], of[second]
        if first not in self.stacks:
            places = (3 * np.arange(self.n), self.tangents) if first == "gap_q" else (
                np.arange(a.shape[0]), a.shape[0] + np.arange(b.shape[0]))
            n_rows = 3 * self.n if first == "gap_q" else a.shape[0] + b.shape[0]
            rows = np.concatenate([places[0][a.rows], places[1][b.rows]])
            order = np.argsort(rows, kind="stable")
            rows, columns = rows[order], np.concatenate([a.columns, b.columns])[order]
            self.stacks[first] = order, Matrix((n_rows, a.shape[1]), rows, columns, np.searchsorted(
                rows, np.arange(n_rows + 1)), None)
        order, pattern = self.stacks[first]
        return pattern._replace(data=np.concatenate([a.data, b.data], axis=1)[:, order])

    def places(self, modes):
        """`Places` of modes, ndarray of int."""
        key = modes.tobytes()
        if key not in self._places:
            self._places[key] = Places.of(modes, self)
        return self._places[key]

    def kept(self, key, make):
        """What earlier marches made for a key, or `make()`; of many the one that was not asked for longest goes."""
        found = self._kept.pop(key, None) or make()
        self._kept[key] = found
        if len(self._kept) > CONTACT.kept:
            del self._kept[next(iter(self._kept))]
        return found

    def keeps(self, thing):
        """Whether it is among what is kept."""
        return any(thing is other for other in self._kept.values())

    def take(self, system):
        """Go on with a system of the same structure in which other parts than contacts have other numbers."""
        parts = {part: part for part in system.parts if not part.n_contacts}
        self.system = system
        if "free" in vars(self):
            self.free = rebuilt(self.free, parts)
        vars(self).pop("reactions", None)
        for mode in self._kept.values():
            mode.take(parts)

    def at(self, t, q, v):
        """`ContactStates` at times (n,), coordinates and velocities (n, n_q)."""
        return ContactStates(self, np.atleast_1d(t), np.atleast_2d(q), np.atleast_2d(v))

    def at_state(self, t, z):
        """The same at states (n, n_z)."""
        z = np.atleast_2d(z)
        t = np.atleast_1d(t)
        v = velocities_at(self.system, t, z, repeatable=False)
        v[:, self.helpers] = 0.0
        return self.at(t, z[:, :self.system.n_q], v)

    def state_of(self, t, z, velocity):
        """The state with other velocities, shape (n_z,); counters go on with what they count."""
        n, helpers = self.system.n_q, self.helpers
        momenta = self.system.momentum(t, z, velocity)
        if len(helpers):  # whose momentum is their speed less that of what they count
            velocity = velocity.copy()
            velocity[helpers] -= momenta[helpers] / self.system.mass_scale[helpers]
            momenta = self.system.momentum(t, z, velocity)
            momenta[helpers] = z[n:][helpers]
        return np.concatenate([z[:n], momenta])


def contacts_of(system):
    """The `Contacts` of a system that this thread keeps with it."""
    things = system.__dict__.setdefault("_contacts", PerThread()).things
    if things.get("of") is not system:  # a copy of the system may have come with them
        things["of"], things["contacts"] = system, Contacts(system)
    return things["contacts"]


class ContactStates:
    """At n states; of each contact the normal row comes first, then two along the surface, zero where there is none.

    Attributes
    ----------
    t, q, v : ndarray, shapes (n,), (n, n_q), (n, n_q)
    gap : ndarray, shape (n, n_contacts)
    gamma : ndarray, shape (n, n_contacts, 3)
        Rate of the gap and slip.
    restitution, friction, load : ndarray, shape (n, n_contacts)
    """

    def __init__(self, contacts, t, q, v):
        self.contacts, self.t, self.q, self.v = contacts, t, q, v
        self._of = dict(zip(NAMES, self._evaluated(*NAMES), strict=True))
        if len(contacts.flows):  # what comes in or leaves with the velocity of a body changes no velocity
            rates = np.zeros_like(q)
            rates[:, contacts.flows] = -self._of["row"][:, contacts.flows]
            row, = self._evaluated("flowing_row", a=rates)
            self._of["row"] = row - self._of["row_a"].times(rates)
        self.gap = self._of["gap"]
        self.restitution, self.friction, self.load = (self._of[x] for x in ("restitution", "friction", "load"))
        self.gamma = self._rows(self._of["gap rate"], self._of["slip"]).reshape(len(q), -1, 3)

    def _evaluated(self, *names, **given):
        """Quantities of the motion, without multipliers and controls; accelerations are zero unless given."""
        system, n = self.contacts.system, len(self.q)
        sizes = {"a": system.n_q, "gamma": system.n_constraints, "nu": system.n_nonholonomic,
                 "controls": sum(part.n_controls for part in system.parts)}
        zeros = {name: np.zeros((n, size)) for name, size in sizes.items()}
        return evaluator(system, *names, formulas=MotionFormulas)(
            system, self.t, self.q, repeatable=False, v=self.v, **zeros | given)

    def _rows(self, normal, along):
        """Three rows of each contact, shape (n, 3 n_contacts)."""
        rows = np.zeros((normal.shape[0], 3 * self.contacts.n))
        rows[:, ::3], rows[:, self.contacts.tangents] = normal, along
        return rows

    @cached_property
    def jacobian(self):
        """d gamma / dv, a `Matrix` (3 n_contacts, n_q)."""
        return self.contacts.stacked("gap_q", "slip_v", self._of)

    def pattern(self, name):
        """One of the matrices of `NAMES`, a `Matrix`."""
        return self._of[name]

    @cached_property
    def drift(self):
        """What of `gamma` is due to surfaces that move, shape (n, n_contacts, 3)."""
        return self.gamma - self.jacobian.times(self.v).reshape(self.gamma.shape)

    @cached_property
    def gradient(self):
        """Of the constraints on velocities, a `Matrix`."""
        return self.contacts.stacked("psi_v", "form_v", self._of)

    @cached_property
    def reacting(self):
        """`Reacting` of forces that depend on those of constraints and contacts, None without any."""
        reactions = self.contacts.reactions
        return None if reactions is None else Reacting(self, reactions)

    @cached_property
    def blocks(self):
        """`Block`s of coordinates."""
        return self.contacts.blocks(self._of["row_a"], self.gradient, self.contacts.sizes(self.t[0], self.q[0]))

    @cached_property
    def forces(self):
        """On the coordinates, without those of constraints and contacts, and what depends on them, shape (n, n_q)."""
        force = -self._of["row"]
        force[:, self.contacts.helpers] = 0.0
        return force

    @cached_property
    def plain(self):
        """`Mobility` of the constrained system, and the accelerations by `forces`, (n, n_q)."""
        of = self._of
        right = -np.concatenate([of["second"], of["third"]], axis=1)
        return constrained(self.blocks, of["row_a"], self.gradient, self.forces, right)

    @cached_property
    def constraint_forces_by_forces(self):
        """Multipliers of constraints, nonholonomic ones last, that hold forces on the coordinates, (n, m, n_q)."""
        weight = 1 / np.sqrt(self.contacts.system.mass_scale)
        gradient = self.gradient.dense() * weight
        terms = self.contacts.sizes(self.t[0], self.q[0])
        length = row_sizes(np.linalg.norm(gradient, axis=2), terms, RANK.rounding)[:, :, None]
        return np.linalg.pinv((gradient / length).swapaxes(1, 2), rcond=RANK.dependent) / length * weight

    def momenta_of(self, v):
        """Mass times velocities (n, n_q)."""
        found, helpers = self._of["row_a"].times(v), self.contacts.helpers
        found[:, helpers] = v[:, helpers]
        return found

    @cached_property
    def allowed(self):
        """Velocities that the constraints allow, by the least impulse, shape (n, n_q)."""
        right = -np.concatenate([self._of["psi"], self._of["form"]], axis=1)
        return self.v + constrained(self.blocks, self._of["row_a"], self.gradient, np.zeros_like(self.v), right)[1]

    @cached_property
    def rooted(self):
        """All rows at the first state times R, with the mobility `R R^T`, shape (3 n_contacts, n_q); zero where the
        constraints leave of a row but rounding, which would be divided by."""
        found = self.plain[0].rooted(self.jacobian.dense()[0])
        found[np.linalg.norm(found, axis=1) <= RANK.dependent * self._alone] = 0.0
        return found

    @cached_property
    def _alone(self):
        """Length of all rows at the first state, as if there were no constraints, shape (3 n_contacts,)."""
        return np.linalg.norm(self.jacobian.dense()[0] / np.sqrt(self.contacts.system.mass_scale), axis=1)

    def compliance(self, rows):
        """D of some of the rows at the first state, shape (n_rows, n_rows)."""
        rooted = self.rooted[rows]
        return rooted @ rooted.T

    def softness(self):
        """Largest entry of the diagonal of D of each contact at the first state, shape (n_contacts,)."""
        return (self.rooted * self.rooted).sum(axis=1).reshape(-1, 3).max(axis=1)

    @cached_property
    def _possible(self):
        """Size of the accelerations that each contact could have at the first state, beside which what constraints stop
        is rounding, shape (n_contacts,)."""
        known = self._rows(self._of["gap acceleration"], self._of["slip rate"])[0]
        most = np.abs(self.plain[1]) + np.abs(self.forces) / self.contacts.system.mass_scale
        terms = np.abs(known) + self.jacobian._replace(data=np.abs(self.jacobian.data)).times(most)[0]
        return terms.reshape(-1, 3).max(axis=1)

    def possible_forces(self):
        """Size of the forces that each contact could need at the first state, shape (n_contacts,)."""
        softness = self.softness()
        return np.where(softness > 0, self._possible / np.where(softness > 0, softness, 1.0), 0.0)

    def carried(self, c):
        """Direction (2,) in which constraints alone, whatever the friction, let a contact begin to slip at the first
        state, as that of a piston at its dead centre; None without any."""
        rows = 3 * c + np.array([1, 2])
        across, lengths, _ = np.linalg.svd(np.pad(self.rooted[rows], ((0, 0), (0, 1))))
        across = across[:, lengths <= RANK.dependent * self._alone[rows].max()]
        along = across @ (self.free[0, rows] @ across)
        size = np.hypot(*along)
        return along / size if size > RANK.independent * self._possible[c] else None

    def terms(self):
        """Size of the terms that gaps at the first state are made of, shape (n_contacts,)."""
        return self.jacobian._replace(data=np.abs(self.jacobian.data)).times(np.abs(self.q))[0, ::3]

    @cached_property
    def free(self):
        """Accelerations of the rows without forces of contacts, shape (n, 3 n_contacts)."""
        return self.free_with(self.plain[1])

    def free_with(self, accelerations):
        """The same with other accelerations of the coordinates."""
        known = self._rows(self._of["gap acceleration"], self._of["slip rate"])
        return known + self.jacobian.times(accelerations)

    def moved_by(self, impulses):
        """What impulses (n, n_contacts, 3) of the contacts change of velocities, shape (n, n_q)."""
        return self.plain[0](self.jacobian.transposed_times(impulses.reshape(len(impulses), -1)))

    def velocities_after(self, impulses):
        """Velocities after impulses (n, n_contacts, 3) of the contacts, shape (n, n_q)."""
        return self.v + self.moved_by(impulses)


class InMode:
    """Forces of contacts that are in given modes, on acceleration level, at `ContactStates`.

    Parameters
    ----------
    states : ContactStates
    modes : tuple of int
        OPEN, CLOSED, SLIDES, STICKS, BEGINS or HELD, of each contact.
    signs : ndarray, shape (n_contacts, 2)
        Direction of the slip: of lines with its sign; in space only where it begins, or is held.
    sharing : Sharing, optional
        Of these modes; default: that at the first state.

    Attributes
    ----------
    forces : ndarray, shape (n, n_contacts, 3)
        Normal forces and friction.
    accelerations : ndarray, shape (n, n_contacts, 3)
        Of the gaps and slips.
    load : ndarray, shape (n, n_contacts)
        Given normal forces of persistent rows.
    of_coordinates : ndarray, shape (n, n_q)
        Accelerations of the coordinates.
    pressed : ndarray
        Normal forces at the first state that are multipliers, as others follow from them.
    margins : (ndarray of int, ndarray of shape (n, n_own)), or None
        Which contacts may share friction otherwise, and how far they are from their limits, see `within_limits`.
    """

    margins = None

    def __init__(self, states, modes, signs, sharing=None):
        modes = np.asarray(modes)
        self.states, self.modes, reacting = states, modes, states.reacting
        sharing = shared(states, modes) if sharing is None else sharing
        if reacting is None:
            self.load = states.load
            self._take(states.free, *states.plain, None, signs, sharing)
            return

        def step(seen):
            linear = reacting.linear(seen)
            self.load, free = reacting.reactions.loads(states, seen), states.free_with(linear.accelerations)
            self._take(free, linear.mobility, linear.accelerations, linear.by_normal, signs, sharing)
            return linear.seen(self.forces)

        self._seen = reacting.solved(step)

    @cached_property
    def constraint_forces(self):
        """Multipliers of the constraints, and of nonholonomic ones after them, shape (n, m)."""
        states = self.states
        pushed = states.jacobian.transposed_times(self.forces.reshape(len(self.forces), -1))
        if states.reacting is not None:  # what slides by them is among the forces
            pushed = pushed + states.reacting.reactions(states.t, states.q, states.v, self._seen)[0]
        left = states.forces + pushed - states.pattern("row_a").times(self.of_coordinates)
        return np.einsum("nij,nj->ni", states.constraint_forces_by_forces, left)

    def _take(self, free, mobility, accelerations, by_normal, signs, sharing):
        """Take forces and accelerations, linear in each other, from those without forces of contacts."""
        states, modes, contacts, n = self.states, self.modes, self.states.contacts, len(self.states.t)
        if not (modes != OPEN).any():
            self.forces, self.of_coordinates = np.zeros((n, contacts.n, 3)), accelerations
            self.accelerations, self.pressed = free.reshape(n, -1, 3), np.zeros(0)
            return
        rows, jacobian = sharing.rows, states.jacobian
        own = jacobian.dense_rows(sharing.own)
        pushes = jacobian.dense_rows(rows).swapaxes(1, 2)  # forces on the coordinates by those of the contacts
        if by_normal is not None:
            pushes[:, :, :sharing.n_normal] += by_normal[:, :, rows[:sharing.n_normal] // 3]
        given, places = np.zeros((n, 3 * contacts.n)), contacts.places(modes)
        rubs, slides, across = places.rubs, places.slides, places.across
        if len(rubs):
            along = directions(states.gamma[:, rubs, 1:], signs[rubs], places.turns)
            along = states.friction[:, rubs, None] * along
            loaded, sliding = places.loaded, along[:, ~places.loaded]
            given[:, places.given] = -self.load[:, rubs[loaded], None] * along[:, loaded]
        if len(slides):
            of_slips = jacobian.dense_rows(across.ravel()).reshape(n, len(slides), 2, -1)
            pushes[:, :, np.searchsorted(rows[:sharing.n_normal], 3 * slides)] -= np.einsum(
                "nsij,nsi->njs", of_slips, sliding)
        moved = mobility(jacobian.transposed_times(given)) if given.any() else np.zeros((n, jacobian.shape[1]))
        forces, self.pressed = given, np.zeros(0)
        if len(rows):
            pushed = mobility(pushes @ sharing.matrix)
            right = -free[:, sharing.own] - np.einsum("nij,nj->ni", own, moved)
            unknown = solved(own @ pushed, right)
            self.pressed = unknown[0, :(sharing.own % 3 == 0).sum()]
            forces[:, rows] += unknown @ sharing.matrix.T
            if len(slides):
                forces[:, across] -= forces[:, 3 * slides, None] * sliding
            moved = moved + np.einsum("nij,nj->ni", pushed, unknown)
        self.forces = forces.reshape(n, -1, 3)
        if sharing.free.size:
            which, change = sharing.changes
            pressed = np.where(contacts.persistent, self.load, self.forces[:, :, 0])[:, which]
            self.forces[:, which, 1:], margins = within_limits(
                self.forces[:, which, 1:], states.friction[:, which] * pressed, change)
            self.margins = which, margins
        self.accelerations = (free + jacobian.times(moved)).reshape(n, -1, 3)
        self.of_coordinates = accelerations + moved


def directions(slip, sign, turns):
    """Directions of slips (n, n_contacts, 2): those of the slip where it `turns` (n_contacts,), else, and where it is
    zero, the sign (n_contacts, 2)."""
    if not turns.any():
        return np.broadcast_to(sign, slip.shape)
    size = np.hypot(slip[:, :, 0], slip[:, :, 1])[:, :, None]
    turned = (size > 0) & turns[:, None]
    return np.where(turned, slip / np.where(turned, size, 1.0), sign)


def solved(matrix, right):
    """Solutions of square systems, with rows and columns scaled alike; the least ones where rows repeat others, as they
    may at states after the first."""
    scale = 1 / np.sqrt(np.maximum(np.abs(np.einsum("nii->ni", matrix)), 1e-300))
    scaled = scale[:, :, None] * matrix * scale[:, None, :]
    right = (scale * right)[:, :, None]
    try:
        return scale * np.linalg.solve(scaled, right)[:, :, 0]
    except np.linalg.LinAlgError:
        return scale * (np.linalg.pinv(scaled, rcond=RANK.dependent) @ right)[:, :, 0]
