"""Contact with planes at rest, rigid or by penalty, and tyres."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression
from ..bodies.rigid.base import Lengths
from ..contacts.rigid import RigidContact
from ..declared import Direction, On, Real, Rows, Term, Vector
from ..joints.joint import across
from ..numbers.arithmetic import by_rows, diagonal
from .between import ForcePart, force_at

if TYPE_CHECKING:
    from ..symbols import Symbols


class _OnPlane(ForcePart, abstract=True):
    """Penalty and damping of what a plane at rest pushes back, with the depth delta of a contact in it:

    `F = k delta (1 + a ddelta/dt)`, Hunt & Crossley (1975), and never a pull, so that the force has no jump.
    """

    body = On(rotating=False)
    normal = Direction("of the plane, in space; the body is on its side", default=(0, 0, 1))
    plane_point = Vector("of the plane, in space", "m", (0.0, 0.0, 0.0))
    stiffness = Real("k", "N/m", None, above=0)
    damping = Term("a: at a speed v of impact a share of about 2/3 a v of it is lost", "s/m", 0.0, least=0)
    keyword_only = True

    def _pressed(self, c, depth, rate):
        """Normal force without the elastic part k delta, which has a potential."""
        return c.stiffness * depth * ca.fmax(c.damping * rate, -1)

    def _moving(self, s):
        """Position, rotation, velocity and angular velocity of the body in space."""
        body, q = self.bodies[0], s.q[0]
        position, rotation = body.frame(q)
        spin = body.angular_velocity_map(q) @ s.velocity[0] if body.has_orientation else ca.SX(3, 1)
        return position, rotation, ca.jtimes(position, q, s.velocity[0]), spin


class PlaneContact(RigidContact, _OnPlane):
    """Points of a body, or spheres around them, that may touch a plane at rest, with friction.

    Without a stiffness the contact is rigid: it keeps the points from the plane, with Newton's restitution in impacts
    and Coulomb's friction. With one it is a penalty: besides the normal force F a friction
    `-mu F v / sqrt(|v|^2 + w^2)` acts against the velocity v of sliding, which is Coulomb's from some w on: below, the
    contact creeps.
    """

    points = Rows("in body axes, from the centre of mass; that one unless given [m]", default=((0, 0, 0),))
    radius = Real("of spheres around the points", "m", 0.0, least=0)
    stiffness = Real("k, None: rigid", "N/m", None, above=0, optional=True)
    friction_width = Real("w, speed below which friction of a penalty is regularised", "m/s", 0.0, least=0)

    @property
    def is_rigid(self) -> bool:
        return self.stiffness is None

    @property
    def n_contacts(self) -> int:
        return len(self.points) if self.is_rigid else 0

    @property
    def n_slip(self) -> int:
        return min(2, self.bodies[0].dimension - 1) if self.is_rigid and self.friction else 0

    def _complete(self):
        if self.is_rigid:
            if self.damping or self.friction_width:
                raise InputError(f"{self._title}: damping and friction_width are those of a penalty; without a "
                                 "stiffness the contact is rigid, with restitution and friction")
        elif self.restitution:
            raise InputError(f"{self._title}: restitution is that of a rigid contact, without a stiffness; a penalty "
                             "loses energy by its damping")
        elif bool(self.friction) and not self.friction_width:
            raise InputError(f"{self._title}: friction needs a friction_width [m/s], the speed below which it is "
                             "regularised")
        if not self.bodies[0].has_orientation and np.any(self._corners(self)):
            raise InputError(f"{self._title}: {self.bodies[0]!r} has no points but its own; leave points out")

    def _corners(self, c):
        """Where it may touch, shape (n, 3), by arguments `c` as in `numbers`."""
        return c.points

    def _depths(self, s, c):
        """Place of each point, and its depth."""
        for place in self._places(s, c):
            yield place, ca.fmax(c.radius - ca.dot(c.normal, place - c.plane_point), 0)

    def _places(self, s, c):
        """Places of the points in space, list of SX (3,)."""
        position, rotation = self.bodies[0].frame(s.q[0])
        return [position + rotation @ point for point in ca.vertsplit(c.points, 3)]

    def gap(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        return ca.vertcat(*(ca.dot(c.normal, place - c.plane_point) - c.radius for place in self._places(s, c)))

    def slip(self, s: Symbols) -> ca.SX:
        if not self.n_slip:
            return super().slip(s)
        c = self.named(s.own)
        position, _, velocity, spin = self._moving(s)
        at = [velocity + ca.cross(spin, place - c.radius * c.normal - position) for place in self._places(s, c)]
        return ca.horzcat(*at).T @ self._along(c)

    def _along(self, c):
        """Directions in the plane, (3, n_slip): of a body in the plane (x, y) the one in both."""
        if self.n_slip == 1:
            line = ca.vertcat(c.normal[1], -c.normal[0], 0)
            return line / ca.sqrt(ca.sumsqr(line))
        return ca.horzcat(*across(c.normal))

    def energy(self, s: Symbols) -> Expression:
        if self.is_rigid:
            return 0
        c = self.named(s.own)
        return sum(c.stiffness / 2 * depth**2 for _, depth in self._depths(s, c))

    def force(self, s: Symbols) -> ca.SX:
        c, total = self.named(s.own), ca.SX(self.bodies[0].n_q, 1)
        if self.is_rigid or not (self.friction or self.damping):
            return total
        position, _, velocity, spin = self._moving(s)
        for place, depth in self._depths(s, c):
            at = place - c.radius * c.normal
            v = velocity + ca.cross(spin, at - position)
            extra = self._pressed(c, depth, -ca.dot(c.normal, v))
            force = extra * c.normal
            if self.friction:
                sliding = v - c.normal * ca.dot(c.normal, v)
                pressed = c.stiffness * depth + extra
                force -= c.friction * pressed * sliding / ca.sqrt(ca.sumsqr(sliding) + c.friction_width**2)
            total += force_at(self.bodies[0], s.q[0], at, force)
        return total


class BoxContact(PlaneContact):
    """The eight corners of a box that may touch a plane at rest; as `PlaneContact`."""

    body = On(rotating=True)
    size = Lengths("edge lengths in body axes; those of the body unless given", "m", None, optional=True)
    points = None
    radius = None
    needs_rotation = True

    def _complete(self):
        if self._edges(self) is None:
            raise InputError(f"{self._title}: {self.bodies[0]!r} has no size, and so no corners; give size=, or take "
                             "PlaneContact with points")
        super()._complete()

    def _edges(self, c):
        return getattr(c.body, "size", None) if self.size is None else c.size

    def _corners(self, c):
        return np.array(list(itertools.product((-0.5, 0.5), repeat=3))) @ diagonal(self._edges(c))

    def numbers(self, c: Any) -> dict[str, Any]:
        return {**super().numbers(c), "points": by_rows(self._corners(c)), "radius": np.zeros(1)}


class Tyre(_OnPlane):
    """A wheel on a plane at rest: a disc with an elastic rim, and a tyre whose forces are linear in its slip.

    With the lowest point of the disc at the depth delta, the normal force F, the velocity v of the centre and that of
    the lowest point, v_c, the forces along the plane are `-c_x F v_c.t / V` along the wheel's heading t and
    `-c_y F v_c.s / V` across it, `V = sqrt((v.t)^2 + v_0^2)`: c_x, c_y are the slopes of the friction at small slip.
    They are not bounded: what is found at large slip is too large. The disc must not lie flat.
    """

    body = On(rotating=True)
    radius = Real("of the wheel, whose centre is the centre of mass", "m", None, above=0)
    axis = Direction("of the wheel, in body axes", default=(0, 1, 0))
    longitudinal = Real("c_x, force by load and slip", "", 10.0, least=0)
    lateral = Real("c_y, force by load and tangent of the slip angle", "1/rad", 10.0, least=0)
    slow = Real("v_0, speed below which the slip is regularised", "m/s", 0.1, above=0)
    needs_rotation = True

    def _lowest(self, s, c):
        """From the centre to the lowest point, in space; the axis there; and the depth."""
        position, rotation = self.bodies[0].frame(s.q[0])
        axis = rotation @ c.axis
        down = ca.dot(c.normal, axis) * axis - c.normal
        arm = c.radius * down / ca.sqrt(ca.sumsqr(down))
        return arm, axis, ca.fmax(-ca.dot(c.normal, position + arm - c.plane_point), 0)

    def energy(self, s: Symbols) -> Expression:
        c = self.named(s.own)
        return c.stiffness / 2 * self._lowest(s, c)[2] ** 2

    def force(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        arm, axis, depth = self._lowest(s, c)
        position, _, velocity, spin = self._moving(s)
        ahead = ca.cross(axis, c.normal)
        ahead /= ca.sqrt(ca.sumsqr(ahead))
        across = ca.cross(c.normal, ahead)
        v = velocity + ca.cross(spin, arm)
        extra = self._pressed(c, depth, -ca.dot(c.normal, velocity))
        pressed = c.stiffness * depth + extra
        speed = ca.sqrt(ca.dot(velocity, ahead) ** 2 + c.slow**2)
        slip = c.longitudinal * ca.dot(v, ahead) * ahead + c.lateral * ca.dot(v, across) * across
        return force_at(self.bodies[0], s.q[0], position + arm, extra * c.normal - pressed / speed * slip)
