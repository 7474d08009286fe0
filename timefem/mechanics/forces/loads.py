"""Loads on bodies: forces, torques, gravity, and tyres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ...types import Expression
from ..body_frame import BodyFrame
from ..contacts.geometry import disc_on_plane
from ..declared import Choice, Direction, Function, On, Point, Real, Vector, VectorFunction
from ..part import Part
from .springs import ForcePart, damping_of_penalty, force_at

if TYPE_CHECKING:
    from ..symbols import Symbols


class _Load(ForcePart):
    """A vector of three functions of time times one more, in space or body axes."""

    def _in_space(self, s, c):
        """The vector in space axes, from the `named` numbers."""
        factor, = self.values_at("time", s.t, c)
        vector = ca.vertcat(*self.values_at("value", s.t, c)) * factor
        return vector if self.frame == "space" else self.bodies[0].frame(s.q[0])[1] @ vector


class Force(_Load):
    """Force at a point of a body: dead (axes fixed in space) or follower (axes fixed in the body).

    Generalized force Q = (d x_P / d q)^T F, so that Q.qdot = F.v_P.

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers, or functions that fail on CasADi symbols.
    """

    body = On()
    value = VectorFunction("components: numbers or functions of time (see `time_functions`), or one function of the "
                           "CasADi symbol t that returns three", "N")
    point = Point("where it acts, in body axes from the centre of mass, of a link from its origin", (0.0, 0.0, 0.0))
    time = Function("factor of all components", "", 1.0)
    frame = Choice('axes of `value`: "body" is a follower force', ("space", "body"), "space")

    def force(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        return ca.jtimes(self._place(s, 0, c.point), s.q[0], self._in_space(s, c), True)


class Torque(_Load):
    """Torque m on a body, in axes fixed in space or in the body.

    Generalized force Q with Q.qdot = m.omega: 2 E(q)^T m in quaternions, 1/2 m x d_i on directors.

    Raises
    ------
    InputError
        As for `Force`.
    """

    body = On(rotating=True)
    value = VectorFunction("components, as for `Force`", "N m")
    time = Function("factor of all components", "", 1.0)
    frame = Choice("axes of `value`", ("space", "body"), "space")
    needs_rotation = True

    def force(self, s: Symbols) -> ca.SX:
        return self.bodies[0].angular_velocity_map(s.q[0]).T @ self._in_space(s, self.named(s.own))


# ---- Weight

class Gravity(Part):
    """Weight of one body, V = -m g.phi. `System(gravity=...)` makes one for every body.

    The body has a `mass`, and a `centre_of_mass`.
    """

    body = On()
    acceleration = Vector("gravitational acceleration g in space, for instance (0, 0, -9.81)", "m/s^2")

    def _checked_bodies(self, bodies):
        body, = bodies
        if not isinstance(body, BodyFrame):
            raise InputError(f"Gravity: body must be a body, not {body!r}")
        if not body.is_body or body.mass is None:
            raise InputError(f"Gravity: {body!r} has no mass in space; state its weight in its potential")
        return tuple(bodies)

    def _argument(self, name):
        return "gravity"

    def numbers(self, c: Any) -> dict[str, Any]:
        return {"weight": self.bodies[0].mass_of(c.body) * c.acceleration}

    def energy(self, s: Symbols) -> Expression:
        centre = self.bodies[0].centre_of_mass(s.q[0], s.bodies[0], of_weight=True)
        n = centre.numel()  # a point mass in one or two dimensions feels its components only
        return -ca.dot(s.own[:n], centre)


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
