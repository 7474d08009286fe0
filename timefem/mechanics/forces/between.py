"""What forces between two bodies, or a body and the ground, share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression
from ..body_frame import BodyFrame
from ..declared import On, Point
from ..formulas.formula import polynomial_degree
from ..part import CONSTRAINTS, ENERGIES, FORCES, Part, restated
from ..shapes import Stroke
from ..symmetry import ALL, turns

if TYPE_CHECKING:
    from ..symbols import Symbols


class ForcePart(Part, abstract=True):
    """Checks of the bodies, which may or may not need an orientation."""

    needs_rotation = False

    def _checked_bodies(self, bodies):
        if len(bodies) == 2 and bodies[1] is None:
            bodies = bodies[:1]
        for body in bodies:
            fits = "has_orientation" if self.needs_rotation else "has_position"
            if not (isinstance(body, BodyFrame) and getattr(body, fits)):
                what = "a rigid body" if self.needs_rotation else "a body"
                raise InputError(f"{self._title} must act on {what}, not on {body!r}"
                                 f"{'; the ground is body_b=None' if body is None else ''}")
        if len(bodies) == 2 and bodies[0] is bodies[1]:
            raise InputError(f"{self._title} needs two different bodies, or body_b=None for the ground")
        return tuple(bodies)

    def __repr__(self):
        to_ground = "body_b" in self.fields
        ground = " and ground" * (to_ground and len(self.given_bodies) == 1)
        return f"{self._title} on {' and '.join(map(repr, self.given_bodies))}{ground}"

    def _place(self, s, i, x):
        """Place in space of the point `x` in the axes of body `i`; beyond the last body is the ground."""
        if i == len(self.bodies):
            return x
        position, rotation = self.bodies[i].frame(s.q[i])
        return position + rotation @ x


class PointForce(ForcePart, abstract=True):
    """Along the line between a point of body a and a point of body b or of the ground: the first six parameters.

    A subclass states its energy by `energy_of_square`. One that overrides `energy` or a force has no motions without
    work unless it says so: `line_motions` where its force is along the line.
    """

    body_a = On()
    body_b = On(ground=True)
    point_a = Point("in body axes, from the centre of mass", (0, 0, 0), of=0)
    point_b = Point("in body axes, from the centre of mass; of the ground in space", (0, 0, 0), of=1)

    line = "spring"

    def workless_motions(self) -> np.ndarray | None:
        return None if restated(type(self), PointForce, *ENERGIES, *CONSTRAINTS, *FORCES) else self.line_motions()

    def line_motions(self) -> np.ndarray:
        """The `workless_motions` of forces along the line."""
        return ALL if len(self.bodies) == 2 else turns(self.point_b)

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke(self.line, ((self.bodies[0], self.point_a), ((*self.bodies, None)[1], self.point_b)))]

    def _gap(self, s):
        """Point a minus point b."""
        return self._place(s, 0, s.own[:3]) - self._place(s, 1, s.own[3:6])

    def _square(self, s):
        """Squared distance of the points."""
        return ca.sumsqr(self._gap(s))

    def lift(self, s: Symbols) -> ca.SX | None:
        """The squared distance, which rigid motions leave as it is; where points are quadratic in the coordinates, as
        of bodies in quaternions, their difference; None of links of trees, and of an energy of another form."""
        if restated(type(self), PointForce, *ENERGIES):
            return None
        gap = self._gap(s)
        degree = polynomial_degree(gap, ca.vertcat(*s.q))
        return None if degree > 2 else ca.sumsqr(gap) if degree <= 1 else gap

    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression:
        return self.energy_of_square(s, e if e.numel() == 1 else ca.sumsqr(e))

    def energy(self, s: Symbols) -> Expression:
        return self.energy_of_square(s, self._square(s))

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        """Energy as a function of the squared distance of the points; none of those that push without a potential."""
        return 0

    def symmetry(self, s: Symbols) -> ca.SX:
        if restated(type(self), PointForce, *ENERGIES, *CONSTRAINTS):
            return super().symmetry(s)
        return self.rigid_motions(s.own[3:6])


def force_at(body, q, place, force, torque=None):
    """Generalized force of a force at a place in space, and of a torque, on a body with coordinates q."""
    position, _ = body.frame(q)
    pulled = ca.jtimes(position, q, force, True)
    if not body.has_orientation:
        return pulled
    moment = ca.cross(place - position, force) + (0 if torque is None else torque)
    return pulled + body.angular_velocity_map(q).T @ moment


def damping_of_penalty(c: Any, depth: ca.SX, closing: ca.SX) -> ca.SX:
    """What the damping a adds to a penalty `k delta` as delta grows at the rate `closing`: `k delta a ddelta/dt`, of
    Hunt & Crossley (1975), and so much at least that both together never pull."""
    return c.stiffness * depth * ca.fmax(c.damping * closing, -1)


def relative_rotation(part, s, reference):
    """Rotation matrix of body a relative to body b or the ground, from the reference: `S^T R_b^T R_a`, (3, 3)."""
    turned = part.bodies[0].frame(s.q[0])[1]
    if len(part.bodies) == 2:
        turned = part.bodies[1].frame(s.q[1])[1].T @ turned
    return reference.T @ turned


def dissipative_force(s, rates, damping):
    """Q = -dD/d(qdot) of the dissipation function D = 1/2 sum_i c_i rate_i^2.

    `rates` are linear in the velocities: `rate_i = b_i(q) . qdot`; each b_i is given, SX of shape (n_q,).
    """
    velocity = ca.vertcat(*s.velocity)
    return -sum(c * ca.dot(b, velocity) * b for b, c in zip(rates, damping, strict=True))
