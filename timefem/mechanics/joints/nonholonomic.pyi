# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.part import Body
from timefem.types import UserFunction, Vector
from typing import Any, NamedTuple
import numpy as np
from ..part import Symbols
from .formula_part import FormulaPart


class MovingFrame(NamedTuple):
    position: Any
    velocity: Any
    rotation: Any
    angular_velocity: Any
    q: Any
    rate: Any


class NonholonomicConstraint(FormulaPart):
    table: str
    n: int
    formula_parameters: np.ndarray
    names: tuple[str, ...] | None
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def velocity_form(self, s: Symbols) -> ca.SX: ...
    def __init__(self, bodies: Body | Sequence[Body], formula: UserFunction | str | Sequence[Any], n: int,
                 parameters: Vector = (), names: Sequence[str] | None = None, name: str | None = None) -> None: ...
