# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, Vector
from typing import Any
import numpy as np
from ..part import Part
from ..shapes import Stroke
from ..symbols import Symbols
from .frame import Frame
from .joint import Joint


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
