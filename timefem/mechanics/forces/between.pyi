# made by tools/stubs.py: change the module

from timefem.types import Vector
import numpy as np
from ..part import Body, Part
from ..shapes import Stroke


class ForcePart(Part):
    needs_rotation: bool


class PointForce(ForcePart):
    body_a: Body
    body_b: Body | None
    point_a: np.ndarray
    point_b: np.ndarray
    line: str
    def drawn_lines(self) -> list[Stroke]: ...
    def __init__(self, body_a: Body, body_b: Body | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), name: str | None = None) -> None: ...
