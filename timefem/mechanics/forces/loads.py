"""Applied forces and torques, constant or as functions of time; weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ...types import Expression
from ..body_frame import BodyFrame
from ..declared import Choice, Function, On, Point, Vector, VectorFunction
from ..part import Part
from .between import ForcePart

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
    point = Point("where it acts, in body axes from the centre of mass", (0.0, 0.0, 0.0))
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
