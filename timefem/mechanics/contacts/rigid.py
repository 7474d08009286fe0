"""What a rigid contact states: gaps, the slip of the points that touch, and the numbers of the laws; and ropes that go
slack, and are taut without stretch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...errors import InputError
from ..declared import Real, Term
from ..forces.springs import PointForce
from ..part import Part
from .geometry import distance

if TYPE_CHECKING:
    from ..part import Body
    from ..symbols import Symbols
    from ..system import System


def refuse_events(system: System, what: str) -> None:
    """InputError, by name, of parts whose forces change at times of their own: rigid contacts, sampled controllers."""
    if system.rigid_contacts:
        first, name = system.rigid_contacts[0], system.label(system.rigid_contacts[0])
        raise InputError(f"{name} is a rigid contact, which {what} does not take; solve an initial-value problem with "
                         f"driver='march', or give {name} {first.made_soft_by}")
    refuse_samples(system, what)


def refuse_samples(system: System, what: str) -> None:
    """InputError, by name, of sampled controllers."""
    for part in system.parts:
        if part.period is not None:
            raise InputError(f"{system.label(part)} is feedback in discrete time, which {what} does not take; take a "
                             "Controller, or march an initial-value problem")


class RigidContact(Part, abstract=True):
    """Unilateral constraints `g(q, t) >= 0` without a stiffness, with Newton's restitution and Coulomb's friction.

    It has no energy and no force of its own: a march finds out when which row touches, sticks and slides, see
    `timefem.solvers.nonsmooth`. Formulas are written as all others, in `Symbols`: of the coordinates `s.q`, and `slip`
    of the velocities `s.velocity`, in which it is affine.

    Attributes
    ----------
    n_contacts : int
        Rows; by arguments alone, as all of the kind are the same. 0: it is not a rigid contact as it was made.
    n_slip : int
        Tangential velocities per row: 0 without friction, 1 of what slides along one line only, 2 in space.
    contact_names : tuple of str
        One per row.
    has_ends : bool
        Whether surfaces end: `reach` tells where.
    persistent : bool
        Whether rows are never open, as of dry friction under a given normal force (`load`): then there is no gap.
    """

    restitution = Real("e, speed of separation over that of approach, with stiffness None", "", 0.0, least=0, most=1)
    friction = Term("mu", "", 0.0, least=0)
    n_contacts, n_slip, persistent, has_ends = 1, 0, False, False
    made_soft_by = "a stiffness"  # with which it is no rigid contact
    where_infinite = ""  # what to do where the gap is not finite
    where_overlapping = ""  # what may be meant where it is negative at the start

    @property
    def contact_names(self) -> tuple[str, ...]:
        return ("contact",) if self.n_contacts == 1 else tuple(f"contact {i}" for i in range(self.n_contacts))

    @abstractmethod
    def gap(self, s: Symbols) -> ca.SX:  # of persistent rows SX(n_contacts, 1), zeros
        """Gaps g(q, t), SX (n_contacts,), positive when open, with unit gradient in the distance of the surfaces."""

    def slip(self, s: Symbols) -> ca.SX:
        """Velocities of the material points that touch along the surface, relative to those of the other one, SX
        (n_contacts, n_slip); along orthonormal directions that change smoothly."""
        return ca.SX(self.n_contacts, 0)

    def closed_gap(self, s: Symbols) -> ca.SX:
        """Gaps of what is closed: as if surfaces went on beyond their ends."""
        return self.gap(s)

    def closed_slip(self, s: Symbols) -> ca.SX:
        """Slips, in the same way."""
        return self.slip(s)

    def reach(self, s: Symbols) -> ca.SX:
        """Negative where places of contact are beyond the ends of their surfaces, SX (n_contacts,)."""
        return ca.SX.ones(self.n_contacts)

    def contact_frames(self, s: Symbols) -> ca.SX:
        """Where forces act in space, SX (n_contacts, 12): the point, the normal, and both directions of sliding, zero
        where there is none. Infinite where contacts are not at points of space (NaN marks numbers of a part)."""
        return ca.SX.inf(self.n_contacts, 12)

    def load(self, s: Symbols) -> ca.SX:
        """Normal forces of persistent rows, SX (n_contacts,): friction is at most mu times as large."""
        return ca.SX(self.n_contacts, 1)

    def load_by(self, s: Symbols, w: ca.SX) -> ca.SX:
        """The same of rows with `reactions_of`, by the forces `w` of those constraints."""
        return self.load(s)

    def restitutions(self, s: Symbols) -> ca.SX:
        """Newton's e of each row, SX (n_contacts,)."""
        return self._of_rows(self.named(s.own).restitution)

    def frictions(self, s: Symbols) -> ca.SX:
        """Coulomb's mu of each row, SX (n_contacts,); zero of what has none."""
        if self.friction is None:
            return ca.SX.zeros(self.n_contacts)
        return self._of_rows(self.named(s.own).friction)

    def _of_rows(self, values):
        return ca.SX(values) if values.numel() == self.n_contacts else ca.repmat(ca.SX(values), self.n_contacts, 1)


# ---- forces on all coordinates of a system, as numbers that change from element to element

class MeanForce(Part):
    """A constant generalized force on a body, its own parameters."""

    def __init__(self, body: Body) -> None:
        self.bodies, self.name, self.own_parameters = (body,), "contacts", np.zeros(body.n_q)

    @property
    def kind(self) -> Hashable:
        return MeanForce, self.bodies[0].kind

    def force(self, s: Symbols) -> ca.SX:
        return s.own


class Tether(RigidContact, PointForce):
    """A rope without mass and stretch between two points, which are never further apart than its length L.

    When it becomes taut the points part again with the restitution e; with e = 0 they stay at the length until the
    rope goes slack. One that stretches is a `SlackRope`.
    """

    length = Real("L", "m", None, above=0)
    friction = None
    line = "rope"

    def gap(self, s: Symbols) -> ca.SX:
        length = self.named(s.own).length
        return length - distance(self._gap(s), length)

    def lift(self, s: Symbols) -> None:
        return None
