# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.part import Body
from timefem.types import UserFunction, Vector
from typing import Any
import numpy as np
from ..part import Symbols
from .formula_part import FormulaPart


class Constraint(FormulaPart):
    table: str
    n: int
    formula_parameters: np.ndarray
    names: tuple[str, ...] | None
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def constraints(self, s: Symbols) -> ca.SX: ...
    def __init__(self, bodies: Body | Sequence[Body], formula: UserFunction | str | Sequence[Any], n: int,
                 parameters: Vector = (), names: Sequence[str] | None = None, name: str | None = None) -> None: ...
