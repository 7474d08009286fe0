"""Rows of rigid contacts that are closed, as constraints with friction by their own multipliers."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...types import Vector
from ..part import Part
from .rigid import RigidContact

if TYPE_CHECKING:
    from ..symbols import Symbols

CLOSED, SLIDES, STICKS, BEGINS = "closed", "slides", "sticks", "begins to slide"


class Bystander(Part):
    """Does nothing, but needs the bodies of a part: counters of turns stay in a system while a stop is open."""

    def __init__(self, part: Part) -> None:
        self.bodies, self.name, self.own_parameters = part.bodies, f"bodies of {part.name}", np.zeros(0)

    @property
    def kind(self) -> Hashable:
        return Bystander, tuple(body.kind for body in self.bodies)


class ClosedContact(Part):
    """One row of a rigid contact while it is closed.

    The constraint is -g, so that its multiplier is the normal force lambda_N. What slides has the friction
    `-mu lambda_N d` on its points, with the direction d of the slip; what sticks has the slip as a nonholonomic
    constraint, whose multiplier is the friction.

    Parameters
    ----------
    contact : RigidContact
        With the numbers that count.
    row : int
    mode : {"closed", "slides", "sticks", "begins to slide"}
        "closed" is without friction. What begins to slide in space has no slip yet: its direction is given.
    kept : tuple of int
        What of the gap (0) and the slips (1, 2) are constraints: others repeat those of other contacts.
    direction : array_like, shape (2,)
        Of the slip, where it is along a line, or only begins.
    """

    def __init__(self, contact: RigidContact, row: int, mode: str, kept: tuple[int, ...], direction: Vector) -> None:
        self.contact, self.row, self.mode, self.kept = contact, row, mode, kept
        self.bodies, self.name = contact.bodies, f"{contact.name or type(contact).__name__}, {mode}"
        self.own_parameters = np.append(contact.own_parameters, direction)
        name = contact.contact_names[row]
        self.constraint_names = (name,) if 0 in kept else ()
        self.nonholonomic_names = tuple(f"{name}, slip {i}" for i in kept if i) if mode == STICKS else ()

    @property
    def kind(self) -> Hashable:
        return ClosedContact, self.contact.kind, self.row, self.mode, self.kept

    def _given(self, s):
        """The symbols as the contact takes them."""
        given = copy(s)
        given.own = s.own[:-2]
        return given

    def constraints(self, s: Symbols) -> ca.SX:
        return -self.contact.gap(self._given(s))[self.row] if self.constraint_names else ca.SX(0, 1)

    def velocity_form(self, s: Symbols) -> ca.SX:
        return -self._slip(s)[[i - 1 for i in self.kept if i]] if self.nonholonomic_names else ca.SX(0, 1)

    def force(self, s: Symbols) -> ca.SX:
        if not self.contact.persistent or self.mode not in (SLIDES, BEGINS):
            return super().force(s)
        return self._friction(s, self.contact.load(self._given(s))[self.row])

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        if self.mode not in (SLIDES, BEGINS) or not self.constraint_names:
            return None
        return self._friction(s, w)

    def _slip(self, s):
        return self.contact.slip(self._given(s))[self.row, :].T

    def _friction(self, s, pressed):
        """Of a normal force."""
        bodies = s.at(s.q, s.p, [ca.SX.sym("v", b.n_q) for b in self.bodies])
        by_velocity = ca.jacobian(self._slip(bodies), ca.vertcat(*bodies.velocity))
        if self.contact.n_slip == 1:
            along = s.own[-2]
        elif self.mode == BEGINS:
            along = s.own[-2:]
        else:
            slip = self._slip(s)
            along = slip / ca.sqrt(ca.sumsqr(slip))
        return -self.contact.frictions(self._given(s))[self.row] * pressed * (by_velocity.T @ along)
