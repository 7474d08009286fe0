"""Weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ...types import Expression
from ..body_frame import BodyFrame
from ..declared import On, Vector
from ..part import Part

if TYPE_CHECKING:
    from ..symbols import Symbols


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
