# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.time_functions import TimeFunction
from timefem.types import Expression, Number, UserFunction, Vector
from typing import Any, Literal
import numpy as np
from ..body_frame import BodyFrame
from ..part import Part
from ..symbols import Symbols
from .springs import ForcePart


class _Load(ForcePart):
    ...


class Force(_Load):
    body: BodyFrame
    value: tuple[TimeFunction, ...]
    point: np.ndarray
    time: TimeFunction
    frame: str
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame,
                 value: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction,
                 point: Vector = (0.0, 0.0, 0.0), time: Number | TimeFunction | UserFunction = 1.0,
                 frame: Literal['space', 'body'] = 'space', name: str | None = None) -> None: ...


class Torque(_Load):
    body: BodyFrame
    value: tuple[TimeFunction, ...]
    time: TimeFunction
    frame: str
    needs_rotation: bool
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame,
                 value: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction,
                 time: Number | TimeFunction | UserFunction = 1.0, frame: Literal['space', 'body'] = 'space',
                 name: str | None = None) -> None: ...


class Gravity(Part):
    body: BodyFrame
    acceleration: np.ndarray
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def energy(self, s: Symbols) -> Expression: ...
    def __init__(self, body: BodyFrame, acceleration: Vector, name: str | None = None) -> None: ...


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
