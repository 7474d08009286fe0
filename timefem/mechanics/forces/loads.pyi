# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.functions.base import TimeFunction
from timefem.types import Expression, Number, UserFunction, Vector
from typing import Any, Literal
import numpy as np
from ..body_frame import BodyFrame
from ..part import Part
from ..symbols import Symbols
from .between import ForcePart


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
