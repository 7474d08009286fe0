# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Mapping
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Matrix, Vector
from typing import Any
import numpy as np
from .frame import Frame
from .joint import Joint
from .turning import Turning


class _SlidingJoint(Joint):
    point_a: np.ndarray
    point_b: np.ndarray
    axis_b: np.ndarray
    def workless_motions(self) -> np.ndarray: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def coordinate_numbers(self, c: Any) -> dict[str, Any]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector, point_b: Vector,
                 axis_b: Vector, name: str | None = None) -> None: ...


class Cylindrical(_SlidingJoint, Turning):
    constraint_names: Any
    coordinate_kinds: Any
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, axis_a: Vector,
                 direction_a: Vector | None = None, direction_b: Vector | None = None, point_a: Vector, point_b: Vector,
                 axis_b: Vector, name: str | None = None) -> None: ...


class Prismatic(_SlidingJoint):
    orientation: np.ndarray
    constraint_names: Any
    coordinate_kinds: Any
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector, point_b: Vector,
                 axis_b: Vector, orientation: Vector | Matrix = (1.0, 0.0, 0.0, 0.0),
                 name: str | None = None) -> None: ...


class Planar(_SlidingJoint):
    axis_a: np.ndarray
    constraint_names: Any
    coordinate_kinds: Any
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def coordinate_numbers(self, c: Any) -> dict[str, Any]: ...
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, point_a: Vector, point_b: Vector,
                 axis_b: Vector, axis_a: Vector, name: str | None = None) -> None: ...
