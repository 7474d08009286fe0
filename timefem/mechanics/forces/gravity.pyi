# made by tools/stubs.py: change the module

from timefem.types import Expression, Vector
from typing import Any
import numpy as np
from ..body_frame import BodyFrame
from ..part import Part
from ..symbols import Symbols


class Gravity(Part):
    body: BodyFrame
    acceleration: np.ndarray
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def energy(self, s: Symbols) -> Expression: ...
    def __init__(self, body: BodyFrame, acceleration: Vector, name: str | None = None) -> None: ...
