"""Rows of rigid contacts that are closed, as constraints with friction by their own multipliers."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ..part import Part
from .rigid import RigidContact

if TYPE_CHECKING:
    from ..symbols import Symbols

CLOSED, SLIDES, STICKS = "closed", "slides", "sticks"


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
    mode : {"closed", "slides", "sticks"}
        "closed" is without friction.
    kept : tuple of int
        What of the gap (0) and the slips (1, 2) are constraints: others repeat those of other contacts.
    sign : int
        Of the slip along a line, which slides.
    """

    def __init__(self, contact: RigidContact, row: int, mode: str, kept: tuple[int, ...], sign: int = 1) -> None:
        self.contact, self.row, self.mode, self.kept = contact, row, mode, kept
        self.bodies, self.name = contact.bodies, f"{contact.name or type(contact).__name__}, {mode}"
        self.own_parameters = np.append(contact.own_parameters, float(sign))
        name = contact.contact_names[row]
        self.constraint_names = (name,) if 0 in kept else ()
        self.nonholonomic_names = tuple(f"{name}, slip {i}" for i in kept if i) if mode == STICKS else ()

    @property
    def kind(self) -> Hashable:
        return ClosedContact, self.contact.kind, self.row, self.mode, self.kept

    def _given(self, s):
        """The symbols as the contact takes them."""
        given = copy(s)
        given.own = s.own[:-1]
        return given

    def constraints(self, s: Symbols) -> ca.SX:
        return -self.contact.gap(self._given(s))[self.row] if self.constraint_names else ca.SX(0, 1)

    def velocity_form(self, s: Symbols) -> ca.SX:
        return -self._slip(s)[[i - 1 for i in self.kept if i]] if self.nonholonomic_names else ca.SX(0, 1)

    def force(self, s: Symbols) -> ca.SX:
        if not self.contact.persistent or self.mode != SLIDES:
            return super().force(s)
        return self._friction(s, self.contact.load(self._given(s))[self.row])

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        if self.mode != SLIDES or not self.constraint_names:
            return None
        return self._friction(s, w)

    def _slip(self, s):
        return self.contact.slip(self._given(s))[self.row, :].T

    def _friction(self, s, pressed):
        """Of a normal force."""
        bodies = s.at(s.q, s.p, [ca.SX.sym("v", b.n_q) for b in self.bodies])
        by_velocity = ca.jacobian(self._slip(bodies), ca.vertcat(*bodies.velocity))
        if self.contact.n_slip == 1:
            along = s.own[-1]
        else:
            slip = self._slip(s)
            along = slip / ca.sqrt(ca.sumsqr(slip))
        return -self.contact.frictions(self._given(s))[self.row] * pressed * (by_velocity.T @ along)
