"""Weight."""

import casadi as ca

from ... import validate
from ...errors import InputError
from ..part import Body, Part


class Gravity(Part):
    """Weight of one body, V = -m g.phi. `System(gravity=...)` makes one for every body.

    Parameters
    ----------
    body : Body
        A body with a `mass` whose first coordinates, three or as many as it has, are its centre of mass.
    acceleration : array_like, shape (3,)
        Gravitational acceleration g in space [m/s^2], for instance (0, 0, -9.81).
    """

    def __init__(self, body, acceleration, name=None):
        if not isinstance(body, Body):
            raise InputError(f"Gravity: body must be a body, not {body!r}")
        if not hasattr(body, "mass"):
            raise InputError(f"Gravity: {body!r} has no mass in space; state its weight in its potential")
        self.bodies = (body,)
        self.acceleration = validate.array("gravity", acceleration, (3,))
        self.own_parameters = body.mass * self.acceleration
        self.name = name

    @property
    def kind(self):
        return ("gravity", self.bodies[0].kind)

    def energy(self, s):
        n = min(3, self.bodies[0].n_q)  # a point mass in one or two dimensions feels its components only
        return -ca.dot(s.own[:n], s.q[0][:n])
