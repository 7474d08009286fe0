# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.part import Body
from timefem.types import Expression, Matrix, Number, Vector
from typing import Any
import numpy as np
from ..contacts.rigid import RigidContact
from ..symbols import Symbols
from .between import ForcePart


class _OnPlane(ForcePart):
    body: Body
    normal: np.ndarray
    plane_point: np.ndarray
    stiffness: float
    damping: float
    keyword_only: bool
    def __init__(self, body: Body, *, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 stiffness: Number, damping: Number = 0.0, name: str | None = None) -> None: ...


class PlaneContact(RigidContact, _OnPlane):
    points: np.ndarray
    radius: float
    stiffness: float | None
    friction_width: float
    @property
    def is_rigid(self) -> bool: ...
    @property
    def n_contacts(self) -> int: ...
    @property
    def n_slip(self) -> int: ...
    def gap(self, s: Symbols) -> ca.SX: ...
    def slip(self, s: Symbols) -> ca.SX: ...
    def energy(self, s: Symbols) -> Expression: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: Body, *, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 damping: Number = 0.0, restitution: Number = 0.0, friction: Number = 0.0,
                 points: Matrix = ((0, 0, 0),), radius: Number = 0.0, stiffness: Number | None = None,
                 friction_width: Number = 0.0, name: str | None = None) -> None: ...


class BoxContact(PlaneContact):
    body: Body
    size: np.ndarray | None
    points: Any
    radius: Any
    needs_rotation: bool
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def __init__(self, body: Body, *, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 damping: Number = 0.0, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, friction_width: Number = 0.0, size: Vector | None = None,
                 name: str | None = None) -> None: ...


class Tyre(_OnPlane):
    body: Body
    radius: float
    axis: np.ndarray
    longitudinal: float
    lateral: float
    slow: float
    needs_rotation: bool
    def energy(self, s: Symbols) -> Expression: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: Body, *, normal: Vector = (0, 0, 1), plane_point: Vector = (0.0, 0.0, 0.0),
                 stiffness: Number, damping: Number = 0.0, radius: Number, axis: Vector = (0, 1, 0),
                 longitudinal: Number = 10.0, lateral: Number = 10.0, slow: Number = 0.1,
                 name: str | None = None) -> None: ...
