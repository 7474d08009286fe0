# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Expression, Number, Vector
import numpy as np
from ..symbols import Symbols
from .between import ForcePart, PointForce


STILL: float


class SlackRope(PointForce):
    length: float
    stiffness: float
    damping: float
    line: str
    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression: ...
    def workless_motions(self) -> np.ndarray: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), length: Number = ..., stiffness: Number = ..., damping: Number = 0.0,
                 name: str | None = None) -> None: ...


class Drag(ForcePart):
    body: BodyFrame
    coefficient: float
    point: np.ndarray
    wind: np.ndarray
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame, coefficient: Number = ..., point: Vector = (0.0, 0.0, 0.0),
                 wind: Vector = (0.0, 0.0, 0.0), name: str | None = None) -> None: ...
