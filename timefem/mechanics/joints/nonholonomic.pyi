# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.types import UserFunction, Vector
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
