# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Expression, UserFunction, Vector
from typing import Any
import numpy as np
from ..joints.formula_part import FormulaPart
from ..symbols import Symbols


class FormulaEnergy(FormulaPart):
    table: str
    formula: Any
    formula_parameters: np.ndarray
    n_lift: int
    lift_formula: Any | None
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    def energy(self, s: Symbols) -> Expression: ...
    def lift(self, s: Symbols) -> ca.SX | None: ...
    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression: ...
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame], formula: UserFunction | str | Sequence[Any],
                 parameters: Vector = (), n_lift: int = 0, lift: UserFunction | str | Sequence[Any] | None = None,
                 name: str | None = None) -> None: ...
