# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.types import Number, UserFunction, Vector
from typing import Any, ClassVar, NamedTuple
import numpy as np
from ..body_frame import BodyFrame
from ..part import Part
from ..symbols import Symbols


class FormulaPart(Part):
    bodies: tuple[BodyFrame, ...]
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], name: str | None = None) -> None: ...


class FormulaEquations(FormulaPart):
    table: str
    frame: ClassVar[type] = ...
    formula: Any
    n: int
    formula_parameters: np.ndarray
    names: tuple[str, ...] | None
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], formula: UserFunction | str | Sequence[Any], n: int,
                 parameters: Vector = (), names: Sequence[str] | None = None, name: str | None = None) -> None: ...


class MovingFrame(NamedTuple):
    position: Any
    velocity: Any
    rotation: Any
    angular_velocity: Any
    q: Any
    rate: Any


class NonholonomicConstraint(FormulaEquations):
    frame: Any
    def velocity_form(self, s: Symbols) -> ca.SX: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], formula: UserFunction | str | Sequence[Any], n: int,
                 parameters: Vector = (), names: Sequence[str] | None = None, name: str | None = None) -> None: ...


class Constraint(FormulaEquations):
    def constraints(self, s: Symbols) -> ca.SX: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], formula: UserFunction | str | Sequence[Any], n: int,
                 parameters: Vector = (), names: Sequence[str] | None = None, name: str | None = None) -> None: ...


class _OnBody(Part):
    body: BodyFrame
    table: str
    def __init__(self, body: BodyFrame, name: str | None = None) -> None: ...


class _Rolling(_OnBody):
    radius: float
    normal: np.ndarray
    plane_point: np.ndarray
    keyword_only: bool
    constraint_names: Any
    nonholonomic_names: Any
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def constraints(self, s: Symbols) -> ca.SX: ...
    def velocity_form(self, s: Symbols) -> ca.SX: ...
    directions: Any
    def __init__(self, body: BodyFrame, *, radius: Number, normal: Vector = (0, 0, 1), plane_point: Vector = (0, 0, 0),
                 name: str | None = None) -> None: ...


class RollingSphere(_Rolling):
    def __init__(self, body: BodyFrame, *, radius: Number, normal: Vector = (0, 0, 1), plane_point: Vector = (0, 0, 0),
                 name: str | None = None) -> None: ...


class RollingDisc(_Rolling):
    axis: np.ndarray
    def __init__(self, body: BodyFrame, *, radius: Number, normal: Vector = (0, 0, 1), plane_point: Vector = (0, 0, 0),
                 axis: Vector = (0, 0, 1), name: str | None = None) -> None: ...


class KnifeEdge(_OnBody):
    point: np.ndarray
    across: np.ndarray
    keyword_only: bool
    nonholonomic_names: Any
    def velocity_form(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame, *, point: Vector = (0, 0, 0), across: Vector = (0, 1, 0),
                 name: str | None = None) -> None: ...


class NonTwisting(_OnBody):
    a: float
    nonholonomic_names: Any
    def velocity_form(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame, a: Number = 0.5, name: str | None = None) -> None: ...
