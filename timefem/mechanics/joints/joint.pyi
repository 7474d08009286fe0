# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from timefem.mechanics.body_frame import BodyFrame
from typing import Any
from ..part import Part
from ..shapes import Stroke
from ..symbols import Symbols
from .bound import BoundCoordinate
from .coordinates import JointCoordinate
from .frame import Frame


OPTIONS: Any


@dataclass(frozen=True)
class AngleOptions:
    tie: float = ...
    tiny: float = ...


class Joint(Part):
    body_a: BodyFrame
    body_b: BodyFrame | None
    keyword_only: bool
    refuses_arms: bool
    table: str
    point_mass_dimension: Any
    coordinate_kinds: Any
    free_rotation: bool
    def drawn_lines(self) -> list[Stroke]: ...
    def formula(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX]: ...
    def closing(self, a: Frame, b: Frame, t: ca.SX, c: Any) -> list[ca.SX] | None: ...
    def transmitted(self, q: Sequence[ca.SX], t: ca.SX, c: Any, w: ca.SX) -> tuple[ca.SX, ca.SX]: ...
    @cached_property
    def coordinates(self) -> tuple[JointCoordinate, ...]: ...
    def coordinate_numbers(self, c: Any) -> dict[str, Any]: ...
    def relative(self, x: Mapping[str, Any]) -> Any: ...
    def bound(self, name: str | None = None) -> BoundCoordinate: ...
    first_turn: float
    def constraints(self, s: Symbols) -> ca.SX: ...
    def constraint_lift(self, s: Symbols) -> ca.SX | None: ...
    def lifted_constraints(self, s: Symbols, e: ca.SX, t: ca.SX) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, name: str | None = None) -> None: ...
