"""A point of a body held fast in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ..declared import On, Point, Real, Vector
from ..part import Part
from ..shapes import Stroke
from ..symmetry import ALL, turns
from .frame import Frame, constraint_lift, lifted_constraints
from .joint import Joint, gap
from .turning import Spherical

if TYPE_CHECKING:
    from ..symbols import Symbols
    from .frame import Frame

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


# ---- two points at a fixed distance

class RigidDistance(Joint):
    """A massless rod between a point of a and a point of b: (|x_b - x_a|^2 - length^2)/2 = 0; invariant.

    Raises
    ------
    InputError
        For wrong bodies, shapes and numbers; for distance zero use `Spherical`.

    Notes
    -----
    The force of b on a is multiplier times (x_b - x_a): a positive multiplier pulls the points together.
    """

    point_a = Point("in the axes of a, from its centre of mass", (0.0, 0.0, 0.0), of=0)
    point_b = Point("in the axes of b, or in space", (0.0, 0.0, 0.0), of=1)
    length = Real("distance of the points", "m", above=0, remedy="points that coincide need a Spherical joint")
    constraint_names = ("distance",)
    point_mass_dimension = 1

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke("rod", ((self.bodies[0], self.point_a), ((*self.bodies, None)[1], self.point_b)))]

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions(self.named(s.own).point_b)

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.bodies) == 2 else turns(self.point_b)

    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]:
        return [(ca.sumsqr(gap(a, b, c.point_a, c.point_b)) - c.length**2) / 2]
