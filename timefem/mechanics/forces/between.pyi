# made by tools/stubs.py: change the module

import casadi as ca
from timefem.types import Expression, Vector
from typing import Any
import numpy as np
from ..body_frame import BodyFrame
from ..part import Part
from ..shapes import Stroke
from ..symbols import Symbols


class ForcePart(Part):
    needs_rotation: bool


class PointForce(ForcePart):
    body_a: BodyFrame
    body_b: BodyFrame | None
    point_a: np.ndarray
    point_b: np.ndarray
    line: str
    def workless_motions(self) -> np.ndarray | None: ...
    def line_motions(self) -> np.ndarray: ...
    def drawn_lines(self) -> list[Stroke]: ...
    def lift(self, s: Symbols) -> ca.SX | None: ...
    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression: ...
    def energy(self, s: Symbols) -> Expression: ...
    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression: ...
    def symmetry(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), name: str | None = None) -> None: ...


def damping_of_penalty(c: Any, depth: ca.SX, closing: ca.SX) -> ca.SX: ...
