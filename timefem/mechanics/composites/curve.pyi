# made by tools/stubs.py: change the module

from collections.abc import Callable
from timefem.types import Floats, Matrix, Vector
from typing import Any
import numpy as np
from ...errors import NamedArguments
from ...records import frozen


STATIONS: int


@frozen(eq=False)
class Curve(NamedArguments):
    position: Callable[[np.ndarray], Any]
    stop: float
    axis: Vector | None = ...
    twist: float = ...
    def __getstate__(self) -> dict[str, Any]: ...
    def at(self, s: Floats) -> tuple[np.ndarray, np.ndarray]: ...
    def __init__(self, position: Callable[[np.ndarray], Any] | Matrix, stop: float, axis: Vector | None = None,
                 twist: float = 0.0) -> None: ...


@frozen(eq=False)
class Line(NamedArguments):
    start: np.ndarray
    end: np.ndarray
    axis: Vector | None = ...
    twist: float = ...
    @property
    def length(self) -> float: ...
    def at(self, s: Floats) -> tuple[np.ndarray, np.ndarray]: ...
    def __init__(self, start: Vector, end: Vector, axis: Vector | None = None, twist: float = 0.0) -> None: ...
