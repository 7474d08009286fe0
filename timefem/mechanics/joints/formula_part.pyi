# made by tools/stubs.py: change the module

from collections.abc import Sequence
from timefem.types import UserFunction, Vector
from typing import Any
import numpy as np
from ..part import Body, Part


class FormulaPart(Part):
    bodies: tuple[Body, ...]
    formula: Any
    formula_parameters: np.ndarray
    def __init__(self, bodies: Body | Sequence[Body], formula: UserFunction | str | Sequence[Any],
                 parameters: Vector = (), name: str | None = None) -> None: ...
