# made by tools/stubs.py: change the module

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from timefem.types import Number, Vector
from typing import Any
import numpy as np
from ..bodies.states import Pose
from ..declared.declared import Declared
from ..part import Body, Part
from ..shapes import Stroke


class Composite(Declared, ABC):
    table: str
    owner: Any
    helper: bool
    is_body: bool
    has_position: bool
    has_orientation: bool
    @abstractmethod
    def make_nodes(self) -> Iterable[Body]: ...
    @abstractmethod
    def make_elements(self) -> Iterable[Part]: ...
    @abstractmethod
    def reference(self, i: int) -> Pose: ...
    def drawn_lines(self) -> list[Stroke]: ...
    @property
    def members(self) -> tuple[Part, ...]: ...
    def node(self, i: int) -> Body: ...
    def element(self, i: int) -> Part: ...
    def at(self, s: float) -> Body: ...
    def states(self, given: Sequence[Any] | Callable[[float], Any]) -> dict[Body, Any]: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def made_of(self, values: Mapping[str, Any]) -> tuple[Part, ...]: ...
    places: Any
    nodes: Any
    elements: Any


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
