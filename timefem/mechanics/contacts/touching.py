"""What contacts of two surfaces share: gap, slip, and the law of penalties, from where the surfaces are closest."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression
from ..declared import Real, Term
from ..forces.springs import ForcePart, damping_of_penalty, force_at
from ..joints.frame import Frame
from ..symmetry import ALL
from .geometry import Touch, across
from .rigid import RigidContact

if TYPE_CHECKING:
    from ..symbols import Symbols


class Touching(RigidContact, ForcePart, abstract=True):
    """Surfaces of a body and of another one, or of the ground, in one or more places.

    A subclass states `touches`. Without a stiffness the contact is rigid. With one it is a penalty with the depth
    delta: `F = k delta (1 + a ddelta/dt)`, Hunt & Crossley (1975), and never a pull, so that the force has no jump.
    Besides F a friction `-mu F v / sqrt(|v|^2 + w^2)` acts against the velocity v of sliding.
    """

    stiffness = Real("k of a penalty; rigid unless given", "N/m", None, above=0, optional=True)
    damping = Term("a, with a stiffness: at a speed v of impact a share of about 2/3 a v of it is lost", "s/m", 0.0,
                   least=0)
    friction_width = Real("w, with a stiffness: speed below which friction is regularised", "m/s", 0.0, least=0)
    keyword_only = True

    n_touches = 1

    @property
    def is_rigid(self) -> bool:
        return self.stiffness is None

    @property
    def n_contacts(self) -> int:
        return self.n_touches if self.is_rigid else 0

    @property
    def n_slip(self) -> int:
        return self.n_directions if self.is_rigid and self.has("friction") else 0

    @property
    def n_directions(self) -> int:
        """Of sliding: one of bodies in a plane."""
        return min(2, max(body.dimension for body in self.bodies) - 1)

    def _complete(self):
        if self.is_rigid:
            if self.damping or self.friction_width:
                raise InputError(f"{self._title}: damping and friction_width belong to a penalty; without a stiffness "
                                 "the contact is rigid, with restitution and friction")
        elif self.restitution:
            raise InputError(f"{self._title}: restitution belongs to a rigid contact, without a stiffness; a penalty "
                             "loses energy by its damping")
        elif self.friction and not self.friction_width:
            raise InputError(f"{self._title}: friction needs a friction_width [m/s], the speed below which it is "
                             "regularised")

    # ---- what a subclass states

    @abstractmethod
    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        """Where the surfaces are closest, `n_touches` of them, by the numbers `c` as from `named`."""

    def directions(self, touch: Touch, s: Symbols, c: Any) -> ca.SX:
        """Orthonormal directions of sliding, SX (3, n_directions)."""
        if self.n_directions == 2:
            return across(touch.normal)
        return ca.vertcat(touch.normal[1], -touch.normal[0], 0)

    def velocity_of_surface(self, s: Symbols, c: Any) -> ca.SX:
        """Of the surface of b, in space, besides that of the body b."""
        return ca.SX(3, 1)

    # ---- what follows

    def _frame(self, s, i):
        """Frame of body a or b; of the ground where there is no body b."""
        return Frame.of(self.bodies[i], s.q[i]) if i < len(self.given_bodies) else Frame.ground()

    def _twist(self, s, i):
        """Place, velocity and angular velocity of body a or b; None of the ground."""
        if i >= len(self.given_bodies):
            return None
        body, q, v = self.bodies[i], s.q[i], s.velocity[i]
        position, _ = body.frame(q)
        return position, ca.jtimes(position, q, v), body.angular_velocity_map(q) @ v if body.has_orientation else None

    def _approaches(self, touches, s, c):
        """Velocity of the surface of a against that of b at each touch; twists are formed once for all of them."""
        a, b, own = self._twist(s, 0), self._twist(s, 1), self.velocity_of_surface(s, c)
        return [_velocity_at(a, touch.at_a) - _velocity_at(b, touch.at_b) - own for touch in touches]

    def gap(self, s: Symbols) -> ca.SX:
        return ca.vertcat(*(touch.gap for touch in self.touches(s, self.named(s.own))))

    def closed_gap(self, s: Symbols) -> ca.SX:
        return ca.vertcat(*(touch.gap for touch in _further(self.touches(s, self.named(s.own)))))

    def reach(self, s: Symbols) -> ca.SX:
        return ca.vertcat(*(touch.reach for touch in self.touches(s, self.named(s.own)))) if self.has_ends else (
            super().reach(s))

    def slip(self, s: Symbols) -> ca.SX:
        return self._slips(s, self.touches(s, self.named(s.own)))

    def closed_slip(self, s: Symbols) -> ca.SX:
        return self._slips(s, _further(self.touches(s, self.named(s.own))))

    def _slips(self, s, touches):
        if not self.n_slip:
            return super().slip(s)
        c = self.named(s.own)
        return ca.vertcat(*(v.T @ self.directions(touch, s, c)
                            for touch, v in zip(touches, self._approaches(touches, s, c), strict=True)))

    def contact_frames(self, s: Symbols) -> ca.SX:
        c, rows = self.named(s.own), []
        for touch in self.touches(s, c):
            along = [*ca.horzsplit(self.directions(touch, s, c))] if self.n_slip else []
            along += [ca.SX.zeros(3)] * (2 - len(along))
            rows.append(ca.horzcat(*(x.T for x in (touch.at_b, touch.normal, *along))))
        return ca.vertcat(*rows)

    def energy(self, s: Symbols) -> Expression:
        if self.is_rigid:
            return 0
        stiffness = self.named(s.own).stiffness
        return sum(stiffness / 2 * ca.fmax(-gap, 0) ** 2 for gap in ca.vertsplit(self.gap(s)))

    def force(self, s: Symbols) -> ca.SX:
        total = super().force(s)
        if self.is_rigid or not (self.has("friction") or self.has("damping")):
            return total
        c = self.named(s.own)
        touches = self.touches(s, c)
        for touch, v in zip(touches, self._approaches(touches, s, c), strict=True):
            depth = ca.fmax(-touch.gap, 0)
            rate = ca.dot(touch.normal, v)
            extra = damping_of_penalty(c, depth, -rate) if self.has("damping") else 0
            force = extra * touch.normal
            if self.has("friction"):
                sliding = v - rate * touch.normal
                pressed = c.stiffness * depth + extra
                force -= c.friction * pressed * sliding / ca.sqrt(ca.sumsqr(sliding) + c.friction_width**2)
            total += ca.vertcat(*(force_at(body, q, touch.at_a, sign * force)
                                  for body, q, sign in zip(self.given_bodies, s.q, (1, -1), strict=False)))
        return total

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions()

    def workless_motions(self) -> np.ndarray | None:
        return ALL if len(self.given_bodies) == 2 else None


def _further(touches):
    return [touch.further or touch for touch in touches]


def _velocity_at(twist, place):
    """Of the material point of a body at a place."""
    if twist is None:
        return ca.SX(3, 1)
    position, velocity, spin = twist
    return velocity if spin is None else velocity + ca.cross(spin, place - position)
