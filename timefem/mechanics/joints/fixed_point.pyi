# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Vector
from typing import Any
import numpy as np
from ..part import Part
from ..shapes import Stroke
from ..symbols import Symbols


class FixedPoint(Part):
    body: BodyFrame
    point: np.ndarray
    at: np.ndarray
    free_rotation: bool
    constraint_names: Any
    table: str
    relative: Any
    @property
    def point_a(self) -> np.ndarray: ...
    @property
    def point_b(self) -> np.ndarray: ...
    def workless_motions(self) -> np.ndarray: ...
    def drawn_lines(self) -> list[Stroke]: ...
    def constraints(self, s: Symbols) -> ca.SX: ...
    def constraint_lift(self, s: Symbols) -> ca.SX | None: ...
    def lifted_constraints(self, s: Symbols, e: ca.SX, t: ca.SX) -> ca.SX: ...
    def __init__(self, body: BodyFrame, point: Vector, at: Vector = (0.0, 0.0, 0.0),
                 name: str | None = None) -> None: ...
