# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.body_frame import BodyFrame
from timefem.mechanics.time_functions import TimeFunction
from timefem.types import Matrix, Number, UserFunction, Vector
from typing import Any
import numpy as np
from ..shapes import Stroke
from ..symbols import Symbols
from .geometry import Touch
from .surfaces import Touching


class HalfAxes(Vector):
    ...


class _OnPlane(Touching):
    body: BodyFrame
    on: BodyFrame | None
    normal: np.ndarray
    plane_point: np.ndarray
    motion: tuple[TimeFunction, ...]
    surface_velocity: tuple[TimeFunction, ...]
    @property
    def t_span(self) -> tuple[float, float]: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def directions(self, touch: Touch, s: Symbols, c: Any) -> ca.SX: ...
    def velocity_of_surface(self, s: Symbols, c: Any) -> ca.SX: ...
    def __init__(self, body: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 on: BodyFrame | None = None, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 motion: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 surface_velocity: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 name: str | None = None) -> None: ...


class PlaneContact(_OnPlane):
    points: np.ndarray
    radius: float
    @property
    def n_touches(self) -> int: ...
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 on: BodyFrame | None = None, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 motion: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 surface_velocity: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 points: Matrix = ((0, 0, 0),), radius: Number = 0.0, name: str | None = None) -> None: ...


class BoxContact(PlaneContact):
    body: BodyFrame
    size: np.ndarray | None
    points: Any
    radius: Any
    needs_rotation: bool
    @property
    def from_bodies(self) -> dict[str, Any]: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def __init__(self, body: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 on: BodyFrame | None = None, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 motion: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 surface_velocity: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 size: Vector | None = None, name: str | None = None) -> None: ...


class EllipsoidContact(_OnPlane):
    body: BodyFrame
    half_axes: np.ndarray
    centre: np.ndarray
    orientation: np.ndarray
    needs_rotation: bool
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 on: BodyFrame | None = None, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 motion: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 surface_velocity: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 half_axes: Vector, centre: Vector = (0.0, 0.0, 0.0), orientation: Vector | Matrix = (1, 0, 0, 0),
                 name: str | None = None) -> None: ...


class RimContact(_OnPlane):
    body: BodyFrame
    radius: float
    axis: np.ndarray
    centre: np.ndarray
    needs_rotation: bool
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 on: BodyFrame | None = None, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 motion: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 surface_velocity: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction = (0.0, 0.0, 0.0),
                 radius: Number, axis: Vector = (0, 0, 1), centre: Vector = (0.0, 0.0, 0.0),
                 name: str | None = None) -> None: ...


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
