"""Ropes that go slack, and the drag of the air."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...types import Expression
from ..declared import On, Point, Real, Term, Vector
from .between import ForcePart, PointForce, damping_of_penalty

if TYPE_CHECKING:
    from ..symbols import Symbols

STILL = 1e-12  # m/s, below which drag is smoothed: it has no direction there


class SlackRope(PointForce):
    """An elastic rope without mass between two points: it pulls where they are further apart than its length L.

    With the strain delta = l - L >= 0 it pulls with `k delta (1 + a ddelta/dt)`, and never pushes.
    """

    length = Real("L", "m", None, above=0)
    stiffness = Real("k", "N/m", None, above=0)
    damping = Term("a", "s/m", 0.0, least=0)
    line = "rod"

    def _stretch(self, s, square):
        """Of a slack rope zero, and smooth where its points coincide."""
        c = self.named(s.own)
        return c, ca.sqrt(ca.fmax(square, c.length**2)) - c.length

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        c, stretch = self._stretch(s, square)
        return c.stiffness / 2 * stretch**2

    def workless_motions(self) -> np.ndarray:
        return self.line_motions()

    def force(self, s: Symbols) -> ca.SX:
        if not self.damping:
            return super().force(s)
        c, stretch = self._stretch(s, self._square(s))
        along = ca.gradient(stretch, ca.vertcat(*s.q))
        rate = ca.dot(along, ca.vertcat(*s.velocity))
        return -damping_of_penalty(c, stretch, rate) * along


class Drag(ForcePart):
    """Resistance of a fluid, quadratic in the velocity v of a point against it: force `-c |v| v`.

    c is density times area times coefficient of drag, divided by two.
    """

    body = On()
    coefficient = Real("c", "N s^2/m^2", None, least=0)
    point = Point("where it acts, in body axes from the centre of mass", (0.0, 0.0, 0.0))
    wind = Vector("velocity of the fluid, in space", "m/s", (0.0, 0.0, 0.0))

    def force(self, s: Symbols) -> ca.SX:
        c, q = self.named(s.own), s.q[0]
        place = self._place(s, 0, c.point)
        v = ca.jtimes(place, q, s.velocity[0]) - c.wind
        return ca.jtimes(place, q, -c.coefficient * ca.sqrt(ca.sumsqr(v) + STILL**2) * v, True)
