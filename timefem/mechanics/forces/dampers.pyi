# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, Vector
import numpy as np
from ..symbols import Symbols
from .between import ForcePart, PointForce


class Damper(PointForce):
    damping: float
    line: str
    def workless_motions(self) -> np.ndarray: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), damping: Number = ..., name: str | None = None) -> None: ...


class TorsionalDamper(ForcePart):
    body_a: BodyFrame
    body_b: BodyFrame | None
    axis: np.ndarray
    damping: float
    needs_rotation: bool
    def workless_motions(self) -> np.ndarray: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, axis: Vector = (0, 0, 1),
                 damping: Number = ..., name: str | None = None) -> None: ...


class RayleighDissipation(ForcePart):
    body: BodyFrame
    linear: float
    angular: float
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame, linear: Number = 0.0, angular: Number = 0.0,
                 name: str | None = None) -> None: ...
