"""Two points at a fixed distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..declared import Point, Real
from ..shapes import Stroke
from ..symmetry import ALL, turns
from .joint import Joint, gap

if TYPE_CHECKING:
    from ..symbols import Symbols
    from .frame import Frame


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
