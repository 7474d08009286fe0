# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Mapping
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Matrix, Number, Vector
from typing import Any
import numpy as np
from ..part import Part
from ..shapes import Stroke
from ..symbols import Symbols
from .frame import Frame
from .joint import Joint


GAP_NAMES: Any
NOWHERE: Any
TURN_NAMES: Any


class _PointJoint(Joint):
    point_a: np.ndarray
    point_b: np.ndarray
    invariant: bool
    further: Any
    @property
    def constraint_names(self) -> tuple[str, ...]: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def symmetry(self, s: Symbols) -> ca.SX: ...
    def workless_motions(self) -> np.ndarray: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector, point_b: Vector,
                 invariant: bool = False, name: str | None = None) -> None: ...


class Spherical(_PointJoint):
    point_mass_dimension: int
    free_rotation: bool
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector, point_b: Vector,
                 invariant: bool = False, name: str | None = None) -> None: ...


class Turning(Joint):
    axis_a: np.ndarray
    axis_b: np.ndarray
    direction_a: np.ndarray | None
    direction_b: np.ndarray | None
    coordinate_kinds: Any
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def coordinate_numbers(self, c: Any) -> dict[str, Any]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, axis_a: Vector, axis_b: Vector,
                 direction_a: Vector | None = None, direction_b: Vector | None = None,
                 name: str | None = None) -> None: ...


class Revolute(_PointJoint, Turning):
    further: Any
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, axis_a: Vector, axis_b: Vector,
                 direction_a: Vector | None = None, direction_b: Vector | None = None, point_a: Vector, point_b: Vector,
                 invariant: bool = False, name: str | None = None) -> None: ...


class Universal(_PointJoint):
    axis_a: np.ndarray
    axis_b: np.ndarray
    further: Any
    coordinate_kinds: Any
    def coordinate_numbers(self, c: Any) -> dict[str, Any]: ...
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector, point_b: Vector,
                 invariant: bool = False, axis_a: Vector, axis_b: Vector, name: str | None = None) -> None: ...


class Weld(_PointJoint):
    orientation: np.ndarray
    further: Any
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector, point_b: Vector,
                 invariant: bool = False, orientation: Vector | Matrix = (1.0, 0.0, 0.0, 0.0),
                 name: str | None = None) -> None: ...


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
