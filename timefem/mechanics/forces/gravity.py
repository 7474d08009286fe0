"""Weight."""

import casadi as ca

from ...errors import InputError
from ..declared import On, Vector
from ..part import Body, Part


class Gravity(Part):
    """Weight of one body, V = -m g.phi. `System(gravity=...)` makes one for every body.

    The body has a `mass`, and its first coordinates, three or as many as it has, are its centre of mass.
    """

    body = On()
    acceleration = Vector("gravitational acceleration g in space, for instance (0, 0, -9.81)", "m/s^2")

    def _checked_bodies(self, bodies):
        body, = bodies
        if not isinstance(body, Body):
            raise InputError(f"Gravity: body must be a body, not {body!r}")
        if body.mass is None:
            raise InputError(f"Gravity: {body!r} has no mass in space; state its weight in its potential")
        return tuple(bodies)

    def _argument(self, name):
        return "gravity"

    def numbers(self):
        return {"weight": self.bodies[0].mass * self.acceleration}

    def energy(self, s):
        n = min(3, self.bodies[0].n_q)  # a point mass in one or two dimensions feels its components only
        return -ca.dot(s.own[:n], s.q[0][:n])
