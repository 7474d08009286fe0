# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, Vector
from typing import Any
import numpy as np
from ..shapes import Stroke
from ..symbols import Symbols
from .frame import Frame
from .joint import Joint


class RigidDistance(Joint):
    point_a: np.ndarray
    point_b: np.ndarray
    length: float
    constraint_names: Any
    point_mass_dimension: int
    def drawn_lines(self) -> list[Stroke]: ...
    def symmetry(self, s: Symbols) -> ca.SX: ...
    def workless_motions(self) -> np.ndarray: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector = (0.0, 0.0, 0.0),
                 point_b: Vector = (0.0, 0.0, 0.0), length: Number, name: str | None = None) -> None: ...
