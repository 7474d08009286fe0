# made by tools/stubs.py: change the module

from collections.abc import Iterable
from timefem.types import Number, Vector
import numpy as np
from ..bodies.states import Pose
from ..part import Body, Part
from .composite import Composite


class RestPlace(Vector):
    varies: bool


class MassSpringChain(Composite):
    n: int
    mass: float
    stiffness: float
    end: np.ndarray
    start: np.ndarray
    length: float
    damping: float
    def make_nodes(self) -> Iterable[Body]: ...
    def make_elements(self) -> Iterable[Part]: ...
    def reference(self, i: int) -> Pose: ...
    def __init__(self, n: int, mass: Number, stiffness: Number, end: Vector, start: Vector = (0.0, 0.0, 0.0),
                 length: Number = 0.0, damping: Number = 0.0, name: str | None = None) -> None: ...
