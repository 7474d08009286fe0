# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, Vector
from typing import Any
import numpy as np
from ..shapes import Stroke
from ..symbols import Symbols
from .geometry import Touch
from .surfaces import Touching


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


class BoxPairContact(Touching):
    body_a: BodyFrame
    body_b: BodyFrame
    size_a: np.ndarray | None
    size_b: np.ndarray | None
    edges: bool
    needs_rotation: bool
    has_ends: bool
    @property
    def from_bodies(self) -> dict[str, Any]: ...
    @property
    def n_touches(self) -> int: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 size_a: Vector | None = None, size_b: Vector | None = None, edges: bool = True,
                 name: str | None = None) -> None: ...


class EdgeContact(Touching):
    body_a: BodyFrame
    body_b: BodyFrame | None
    start_a: np.ndarray
    end_a: np.ndarray
    start_b: np.ndarray
    end_b: np.ndarray
    outwards: np.ndarray
    has_ends: bool
    def drawn_lines(self) -> list[Stroke]: ...
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, restitution: Number = 0.0,
                 friction: Number = 0.0, stiffness: Number | None = None, damping: Number = 0.0,
                 friction_width: Number = 0.0, start_a: Vector, end_a: Vector, start_b: Vector, end_b: Vector,
                 outwards: Vector = (0, 0, 1), name: str | None = None) -> None: ...
