# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, Vector
from typing import Any
import numpy as np
from ..symbols import Symbols
from .geometry import Touch
from .touching import Touching


class _RoundContact(Touching):
    body_a: BodyFrame
    body_b: BodyFrame | None
    radius_a: float
    radius_b: float
    point_a: np.ndarray
    point_b: np.ndarray
    inside: bool
    refuses_arms: bool
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, restitution: Number = 0.0,
                 friction: Number = 0.0, stiffness: Number | None = None, damping: Number = 0.0,
                 friction_width: Number = 0.0, radius_a: Number, radius_b: Number, point_a: Vector = (0.0, 0.0, 0.0),
                 point_b: Vector = (0.0, 0.0, 0.0), inside: bool = False, name: str | None = None) -> None: ...


class SphereContact(_RoundContact):
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, restitution: Number = 0.0,
                 friction: Number = 0.0, stiffness: Number | None = None, damping: Number = 0.0,
                 friction_width: Number = 0.0, radius_a: Number, radius_b: Number, point_a: Vector = (0.0, 0.0, 0.0),
                 point_b: Vector = (0.0, 0.0, 0.0), inside: bool = False, name: str | None = None) -> None: ...


class DiscContact(_RoundContact):
    axis: np.ndarray
    n_directions: int
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def directions(self, touch: Touch, s: Symbols, c: Any) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, restitution: Number = 0.0,
                 friction: Number = 0.0, stiffness: Number | None = None, damping: Number = 0.0,
                 friction_width: Number = 0.0, radius_a: Number, radius_b: Number, point_a: Vector = (0.0, 0.0, 0.0),
                 point_b: Vector = (0.0, 0.0, 0.0), inside: bool = False, axis: Vector = (0, 0, 1),
                 name: str | None = None) -> None: ...
