# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Expression, Number, Vector
import numpy as np
from ..symbols import Symbols
from .between import ForcePart


class Tyre(ForcePart):
    body: BodyFrame
    normal: np.ndarray
    plane_point: np.ndarray
    stiffness: float
    damping: float
    radius: float
    axis: np.ndarray
    longitudinal: float
    lateral: float
    slow: float
    keyword_only: bool
    needs_rotation: bool
    def energy(self, s: Symbols) -> Expression: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame, *, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 stiffness: Number, damping: Number = 0.0, radius: Number, axis: Vector = (0, 1, 0),
                 longitudinal: Number = 10.0, lateral: Number = 10.0, slow: Number = 0.1,
                 name: str | None = None) -> None: ...
