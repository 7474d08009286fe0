# made by tools/stubs.py: change the module

from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, Vector
from typing import Any
import numpy as np
from ..shapes import Stroke
from ..symbols import Symbols
from .geometry import Touch
from .touching import Touching


class BoxPairContact(Touching):
    body_a: BodyFrame
    body_b: BodyFrame
    size_a: np.ndarray | None
    size_b: np.ndarray | None
    edges: bool
    needs_rotation: bool
    @property
    def from_bodies(self) -> dict[str, Any]: ...
    @property
    def n_touches(self) -> int: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame, *, restitution: Number = 0.0, friction: Number = 0.0,
                 stiffness: Number | None = None, damping: Number = 0.0, friction_width: Number = 0.0,
                 size_a: Vector | None = None, size_b: Vector | None = None, edges: bool = True,
                 name: str | None = None) -> None: ...


class EdgeContact(Touching):
    body_a: BodyFrame
    body_b: BodyFrame | None
    start_a: np.ndarray
    end_a: np.ndarray
    start_b: np.ndarray
    end_b: np.ndarray
    outwards: np.ndarray
    def drawn_lines(self) -> list[Stroke]: ...
    def touches(self, s: Symbols, c: Any) -> list[Touch]: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, *, restitution: Number = 0.0,
                 friction: Number = 0.0, stiffness: Number | None = None, damping: Number = 0.0,
                 friction_width: Number = 0.0, start_a: Vector, end_a: Vector, start_b: Vector, end_b: Vector,
                 outwards: Vector = (0, 0, 1), name: str | None = None) -> None: ...
