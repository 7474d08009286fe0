# made by tools/stubs.py: change the module

from collections.abc import Callable
from timefem.types import Floats, Matrix, Vector
from typing import Any, TypedDict
from typing_extensions import Unpack
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


class MoreOfSection(TypedDict, total=False):
    damping: float


@frozen
class Section(NamedArguments):
    EA: float
    GA: tuple[float, float]
    GJ: float
    EI: tuple[float, float]
    mass: float
    inertia: tuple[float, float, float]
    damping: float = ...
    shape: tuple | None = ...
    @classmethod
    def from_file(cls, entry: dict[str, Any]) -> Section: ...
    @staticmethod
    def schema() -> dict[str, Any]: ...
    @property
    def stiffness(self) -> np.ndarray: ...
    @classmethod
    def circle(cls, E: float, nu: float, density: float, radius: float, shear_factor: float | None = None,
               **others: Unpack[MoreOfSection]) -> Section: ...
    @classmethod
    def tube(cls, E: float, nu: float, density: float, outer: float, inner: float, shear_factor: float | None = None,
             **others: Unpack[MoreOfSection]) -> Section: ...
    @classmethod
    def rectangle(cls, E: float, nu: float, density: float, width: float, height: float, shear_factor: float = ...,
                  **others: Unpack[MoreOfSection]) -> Section: ...
    def __init__(self, EA: float, GA: float | Vector, GJ: float, EI: float | Vector, mass: float, inertia: Vector,
                 damping: float = 0.0, shape: tuple | None = None) -> None: ...


@frozen
class RopeSection(NamedArguments):
    EA: float
    mass: float
    damping: float = ...
    @classmethod
    def from_file(cls, entry: dict[str, Any]) -> RopeSection: ...
    @staticmethod
    def schema() -> dict[str, Any]: ...
