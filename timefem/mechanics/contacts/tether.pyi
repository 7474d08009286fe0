# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, Vector
from typing import Any
from ..forces.springs import PointForce
from ..symbols import Symbols
from .rigid import RigidContact


class Tether(RigidContact, PointForce):
    length: float
    friction: Any
    line: str
    def gap(self, s: Symbols) -> ca.SX: ...
    def lift(self, s: Symbols) -> None: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), restitution: Number = 0.0, length: Number = ...,
                 name: str | None = None) -> None: ...
