"""Rows of rigid contacts that are closed, as constraints with friction by their own multipliers."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from ..part import Part
from ..symbols import n_reactions
from .rigid import RigidContact

if TYPE_CHECKING:
    from ..symbols import Symbols
    from .reacting import ReactionForce


class Bystander(Part):
    """Does nothing, but needs the bodies of a part: counters of turns stay in a system while a stop is open."""

    def __init__(self, part: Part) -> None:
        self.bodies, self.name, self.own_parameters = part.bodies, f"bodies of {part.name}", np.zeros(0)

    @property
    def kind(self) -> Hashable:
        return Bystander, tuple(body.kind for body in self.bodies)


class Rubbing(NamedTuple):
    """What slides by a normal force, or a share of it.

    Attributes
    ----------
    contact : RigidContact
    row : int
    begins : bool
        Whether it only begins to slide in space, and has no slip yet.
    direction : tuple of float
        Of the slip, two numbers, where it is along a line, or only begins.
    share : float
    """

    contact: RigidContact
    row: int
    begins: bool
    direction: tuple
    share: float


class ClosedContact(Part):
    """One row of a rigid contact while it is closed.

    The constraint is -g, so that its multiplier is the normal force lambda_N. What slides has the friction
    `-mu lambda_N d` on its points, with the direction d of the slip; what sticks has the slip as a nonholonomic
    constraint, whose multiplier is the friction. Where contacts depend on each other, several slide by shares of one
    multiplier.

    Parameters
    ----------
    contact : RigidContact
        With the numbers that count.
    row : int
    sticks : bool
    kept : tuple of int
        What of the gap (0) and the slips (1, 2) are constraints: others repeat those of other contacts.
    rubbing : list of Rubbing
        What slides by the multiplier, or by the given load of a persistent row.
    """

    def __init__(self, contact: RigidContact, row: int, sticks: bool, kept: tuple[int, ...],
                 rubbing: list[Rubbing]) -> None:
        self.contact, self.row, self.sticks, self.kept, self.rubbing = contact, row, sticks, kept, rubbing
        seen = dict.fromkeys([contact, *(one.contact for one in rubbing)])
        self.bodies = tuple(dict.fromkeys(body for one in seen for body in one.bodies))
        self.name = f"{contact.name or type(contact).__name__}, closed"
        self._numbers, first = {}, 0  # of each contact, where they stand
        for one in seen:
            self._numbers[one] = slice(first, first + len(one.own_parameters))
            first += len(one.own_parameters)
        self.first_direction = first
        if contact.reactions_of and rubbing:
            self.reactions_of, self.kept_reactions = contact.reactions_of, contact.kept_reactions
        self.own_parameters = np.concatenate([*(one.own_parameters for one in seen),
                                              *([*one.direction, one.share] for one in rubbing)])
        name = contact.contact_names[row]
        self.constraint_names = (name,) if 0 in kept else ()
        self.nonholonomic_names = tuple(f"{name}, slip {i}" for i in kept if i) if sticks else ()

    @property
    def kind(self) -> Hashable:
        order = list(self._numbers)
        seen = tuple((one.kind, tuple(self.bodies.index(body) for body in one.bodies)) for one in order)
        return (ClosedContact, seen, self.row, self.sticks, self.kept, self.kept_reactions,
                tuple((order.index(one.contact), one.row, one.begins) for one in self.rubbing))

    def _given(self, s, contact):
        """The symbols as a contact takes them."""
        given = copy(s)
        given.own = s.own[self._numbers[contact]]
        chosen = [self.bodies.index(body) for body in contact.bodies]
        given.q, given.p, given.bodies = ([values[i] for i in chosen] for values in (s.q, s.p, s.bodies))
        given._of = contact.bodies
        given._velocity = [s.velocity[i] for i in chosen] if s.velocity_given else None
        return given

    def constraints(self, s: Symbols) -> ca.SX:
        if not self.constraint_names:
            return ca.SX(0, 1)
        return -self.contact.closed_gap(self._given(s, self.contact))[self.row]

    def velocity_form(self, s: Symbols) -> ca.SX:
        if not self.nonholonomic_names:
            return ca.SX(0, 1)
        return -self._slip(s, self.contact, self.row)[[i - 1 for i in self.kept if i]]

    def force(self, s: Symbols) -> ca.SX:
        if not (self.contact.persistent and self.rubbing) or self.reactions_of:
            return super().force(s)
        return self._friction(s, self.contact.load(self._given(s, self.contact))[self.row])

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        if self.reactions_of:
            seen = self.contact.seen(w, {})
            return self._friction(s, self.contact.load_by(self._given(s, self.contact), seen)[self.row])
        return self._friction(s, w) if self.constraint_names and self.rubbing else None

    def _slip(self, s, contact, row):
        return contact.closed_slip(self._given(s, contact))[row, :].T

    def _friction(self, s, pressed):
        """Of a normal force."""
        moving = s.at(s.q, s.p, [ca.SX.sym("v", b.n_q) for b in self.bodies])
        total = 0
        for k, one in enumerate(self.rubbing):
            numbers = s.own[self.first_direction + 3 * k:self.first_direction + 3 * k + 3]
            by_velocity = ca.jacobian(self._slip(moving, one.contact, one.row), ca.vertcat(*moving.velocity))
            if one.contact.n_slip == 1:
                along = numbers[0]
            elif one.begins:
                along = numbers[:2]
            else:
                slip = self._slip(s, one.contact, one.row)
                along = slip / ca.sqrt(ca.sumsqr(slip))
            mu = one.contact.frictions(self._given(s, one.contact))[one.row]
            total -= mu * numbers[2] * pressed * (by_velocity.T @ along)
        return total

    @property
    def numbers_from(self) -> dict[RigidContact, slice]:
        """Where the numbers of each contact stand."""
        return self._numbers


class SeenContact(ClosedContact):
    """Stands for the normal force of a row, where forces that see it are evaluated: it constrains nothing."""

    @property
    def kind(self) -> Hashable:
        return SeenContact, super().kind

    def constraints(self, s: Symbols) -> ca.SX:
        return ca.SX(1, 1)


class PressedForce(Part):
    """A force that sees normal forces of rigid contacts, some of which are closed.

    Parameters
    ----------
    force : ReactionForce
        With the numbers that count.
    closed : list of ClosedContact
        Whose multipliers are seen.
    shares : list of (int, int, float)
        Place among what the force sees, which one of `closed`, and the share of its multiplier.
    """

    def __init__(self, force: ReactionForce, closed: list[ClosedContact], shares: list[tuple[int, int, float]]) -> None:
        self.force_seen, self.bodies, self.name = force, force.bodies, force.name
        self._n_seen = n_reactions(force)
        joints = tuple(part for part in force.reactions_of if not part.n_contacts)
        self.reactions_of = (*joints, *closed)
        if force.kept_reactions is not None:
            first = sum(len(part.constraint_names) for part in joints)
            self.kept_reactions = (*force.kept_reactions, *range(first, first + len(closed)))
        self._places = tuple((place, k) for place, k, _ in shares)
        self.own_parameters = np.concatenate([force.own_parameters, [share for *_, share in shares]])

    @property
    def kind(self) -> Hashable:
        return PressedForce, self.force_seen.kind, self._places, len(self.reactions_of), self.kept_reactions

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        n, given, pressed = len(self.force_seen.own_parameters), copy(s), {}
        given.own = s.own[:n]
        for i, (place, k) in enumerate(self._places):
            pressed[place] = pressed.get(place, 0) + s.own[n + i] * w[self._n_seen + k]
        return ca.SX(self.force_seen.reaction_force(given, self.force_seen.seen(w[:self._n_seen, 0], pressed)))

    @property
    def numbers_from(self) -> dict[Part, slice]:
        """Where the numbers of the force stand."""
        return {self.force_seen: slice(0, len(self.force_seen.own_parameters))}


class StruckContact(ClosedContact):
    """One row of a rigid contact in an impact, as constraints on velocities with impulses by their own multipliers.

    Parameters
    ----------
    contact, row, sticks, kept, rubbing
        As of a `ClosedContact`; what slides does so after the impact.
    share : float
        Of the restitution that is taken: less than 1 where the impact is slow, or contacts jam.
    """

    def __init__(self, contact: RigidContact, row: int, sticks: bool, kept: tuple[int, ...], rubbing: list[Rubbing],
                 share: float) -> None:
        super().__init__(contact, row, sticks, kept, rubbing)
        self.own_parameters = np.append(self.own_parameters, share)

    @property
    def kind(self) -> Hashable:
        return StruckContact, super().kind

    def restitution(self, s: Symbols) -> ca.SX:
        """Of the velocity before, that comes back."""
        return s.own[-1] * self.contact.restitutions(self._given(s, self.contact))[self.row]
