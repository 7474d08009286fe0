"""Ropes that go slack, and are taut without stretch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from ..declared import Real
from ..forces.springs import PointForce
from .geometry import distance
from .rigid import RigidContact

if TYPE_CHECKING:
    from ..symbols import Symbols


class Tether(RigidContact, PointForce):
    """A rope without mass and stretch between two points, which are never further apart than its length L.

    When it becomes taut the points part again with the restitution e; with e = 0 they stay at the length until the
    rope goes slack. One that stretches is a `SlackRope`.
    """

    length = Real("L", "m", None, above=0)
    friction = None
    line = "rope"

    def gap(self, s: Symbols) -> ca.SX:
        length = self.named(s.own).length
        return length - distance(self._gap(s), length)

    def lift(self, s: Symbols) -> None:
        return None
