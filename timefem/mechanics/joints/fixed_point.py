"""A point of a body held fast in space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ..declared import On, Vector
from ..part import Part
from ..shapes import Stroke
from ..symmetry import turns
from .frame import Frame, constraint_lift, lifted_constraints
from .turning import Spherical

if TYPE_CHECKING:
    import casadi as ca

    from ..symbols import Symbols


class FixedPoint(Part):
    """A point of a body held at a fixed point in space (spherical joint to ground), May & Betsch (67).

    Its configuration-level multiplier gamma is the force [N] that the ground exerts on the body.
    """

    body = On(rotating=True)
    point = Vector("the point in body axes, from the centre of mass", "m")
    at = Vector("where it is fixed, in space", "m", (0.0, 0.0, 0.0))
    free_rotation = True
    constraint_names = ("fixed point, x", "fixed point, y", "fixed point, z")
    table = "joints"

    def _checked_bodies(self, bodies):
        if not getattr(bodies[0], "has_orientation", False):
            raise InputError(f"FixedPoint: body must be a RigidBody, not {bodies[0]!r}")
        return tuple(bodies)

    relative = Spherical.relative

    @property
    def point_a(self) -> np.ndarray:
        return self.point

    @property
    def point_b(self) -> np.ndarray:
        return self.at

    def workless_motions(self) -> np.ndarray:
        return turns(self.at)

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke("joint", ((self.bodies[0], self.point),))]

    def constraints(self, s: Symbols) -> ca.SX:
        return s.own[3:] - Frame.of(self.bodies[0], s.q[0]).point(s.own[:3])

    def constraint_lift(self, s: Symbols) -> ca.SX | None:
        return constraint_lift(self, s)

    def lifted_constraints(self, s: Symbols, e: ca.SX, t: ca.SX) -> ca.SX:
        return lifted_constraints(self, s, e, t, lambda frames, t: s.own[3:] - frames[0].point(s.own[:3]))
