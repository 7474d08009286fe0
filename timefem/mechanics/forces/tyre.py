"""Tyres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from ...types import Expression
from ..contacts.geometry import disc_on_plane
from ..declared import Direction, On, Real, Vector
from .between import ForcePart, damping_of_penalty, force_at

if TYPE_CHECKING:
    from ..symbols import Symbols


class Tyre(ForcePart):
    """A wheel on a plane at rest: a disc with an elastic rim, and a tyre whose forces are linear in its slip.

    With the lowest point of the disc at the depth delta, the normal force F, the velocity v of the centre and that of
    the lowest point, v_c, the forces along the plane are `-c_x F v_c.t / V` along the wheel's heading t and
    `-c_y F v_c.s / V` across it, `V = sqrt((v.t)^2 + v_0^2)`: c_x, c_y are the slopes of the friction at small slip.
    They are not bounded: what is found at large slip is too large. The disc must not lie flat. F is
    `k delta (1 + a ddelta/dt)`, Hunt & Crossley (1975), and never a pull, so that it has no jump.
    """

    body = On(rotating=True)
    normal = Direction("of the plane, in space; the body is on its side", default=(0, 0, 1))
    plane_point = Vector("of the plane, in space", "m", (0.0, 0.0, 0.0))
    stiffness = Real("k", "N/m", None, above=0)
    damping = Real("a: at a speed v of impact a share of about 2/3 a v of it is lost", "s/m", 0.0, least=0)
    radius = Real("of the wheel, whose centre is the centre of mass", "m", None, above=0)
    axis = Direction("of the wheel, in body axes", default=(0, 1, 0))
    longitudinal = Real("c_x, force per load and slip", "", 10.0, least=0)
    lateral = Real("c_y, force per load and tangent of the slip angle", "1/rad", 10.0, least=0)
    slow = Real("v_0, speed below which the slip is regularised", "m/s", 0.1, above=0)
    keyword_only = needs_rotation = True

    def _lowest(self, s, c):
        """From the centre to the lowest point, in space; the axis there; and the depth."""
        position, rotation = self.bodies[0].frame(s.q[0])
        axis = rotation @ c.axis
        touch = disc_on_plane(ca.SX(3, 1), axis, c.radius, c.normal, c.plane_point - position)
        return touch.at_a, axis, ca.fmax(-touch.gap, 0)

    def energy(self, s: Symbols) -> Expression:
        c = self.named(s.own)
        return c.stiffness / 2 * self._lowest(s, c)[2] ** 2

    def force(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        arm, axis, depth = self._lowest(s, c)
        body, q = self.bodies[0], s.q[0]
        position, velocity = body.frame(q)[0], ca.jtimes(body.frame(q)[0], q, s.velocity[0])
        ahead = ca.cross(axis, c.normal)
        ahead /= ca.sqrt(ca.sumsqr(ahead))
        across = ca.cross(c.normal, ahead)
        v = velocity + ca.cross(body.angular_velocity_map(q) @ s.velocity[0], arm)
        extra = damping_of_penalty(c, depth, -ca.dot(c.normal, velocity))
        pressed = c.stiffness * depth + extra
        speed = ca.sqrt(ca.dot(velocity, ahead) ** 2 + c.slow**2)
        slip = c.longitudinal * ca.dot(v, ahead) * ahead + c.lateral * ca.dot(v, across) * across
        return force_at(body, q, position + arm, extra * c.normal - pressed / speed * slip)
