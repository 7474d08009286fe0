# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.body_frame import BodyFrame
from timefem.mechanics.time_functions import TimeFunction
from timefem.types import Number, UserFunction, Vector
from typing import Any
import numpy as np
from ..shapes import Stroke
from ..symbols import Symbols
from .bound import JointPart
from .frame import Frame
from .joint import Joint


class _Prescribed(Joint):
    @property
    def t_span(self) -> tuple[float, float]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, name: str | None = None) -> None: ...


class PrescribedPosition(_Prescribed):
    body: BodyFrame
    body_a: Any
    body_b: Any
    position: tuple[TimeFunction, ...]
    point: np.ndarray
    keyword_only: Any
    constraint_names: Any
    point_mass_dimension: int
    def drawn_lines(self) -> list[Stroke]: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, body: BodyFrame,
                 position: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction, *,
                 point: Vector = (0.0, 0.0, 0.0), name: str | None = None) -> None: ...


class PrescribedAngle(_Prescribed):
    angle: TimeFunction
    axis_b: np.ndarray
    direction_a: np.ndarray
    direction_b: np.ndarray
    constraint_names: Any
    def workless_motions(self) -> np.ndarray: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *,
                 angle: Number | TimeFunction | UserFunction, axis_b: Vector, direction_a: Vector, direction_b: Vector,
                 name: str | None = None) -> None: ...


class PrescribedJoint(JointPart):
    value: TimeFunction
    table: str
    constraint_names: Any
    @property
    def t_span(self) -> tuple[float, float]: ...
    def constraints(self, s: Symbols) -> ca.SX: ...
    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def right_side(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None,
                 value: Number | TimeFunction | UserFunction, name: str | None = None) -> None: ...
