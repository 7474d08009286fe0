"""A point of a body held fast in space."""

import numpy as np

from ... import validate
from ...errors import InputError
from ..bodies.rigid import RigidBodyBase
from ..part import Part


class FixedPoint(Part):
    """A point of a body held at a fixed point in space (spherical joint to ground), May & Betsch (67).

    Its configuration-level multiplier gamma is the force [N] that the ground exerts on the body.

    Parameters
    ----------
    body : RigidBody
    point : array_like, shape (3,)
        The point in body axes, from the centre of mass [m].
    at : array_like, shape (3,)
        Where it is held, in space [m].
    """

    constraint_names = ("fixed point, x", "fixed point, y", "fixed point, z")

    def __init__(self, body, point, at=(0.0, 0.0, 0.0), name=None):
        if not isinstance(body, RigidBodyBase):
            raise InputError(f"FixedPoint: body must be a RigidBody, not {body!r}")
        self.bodies = (body,)
        self.point, self.at = validate.array("point", point, (3,)), validate.array("at", at, (3,))
        self.own_parameters = np.concatenate([self.point, self.at])
        self.name = name

    @property
    def kind(self):
        return ("fixed point", self.bodies[0].kind)

    def constraints(self, s):
        position, rotation = self.bodies[0].frame(s.q[0])
        return s.own[3:] - position - rotation @ s.own[:3]
