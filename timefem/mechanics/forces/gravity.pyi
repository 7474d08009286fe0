# made by tools/stubs.py: change the module

from timefem.types import Expression, Vector
from typing import Any
import numpy as np
from ..part import Body, Part
from ..symbols import Symbols


class Gravity(Part):
    body: Body
    acceleration: np.ndarray
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def energy(self, s: Symbols) -> Expression: ...
    def __init__(self, body: Body, acceleration: Vector, name: str | None = None) -> None: ...
