# made by tools/stubs.py: change the module

from collections.abc import Iterable, Sequence
from timefem.mechanics.time_functions import TimeFunction
from timefem.types import Number, UserFunction, Vector
from typing import Any, Literal
import numpy as np
from ..bodies.states import Pose
from ..declared import Numbers, On
from ..part import Body, Part
from .composite import Composite
from .mesh import CurveMesh


class OnBeam(On):
    kind_of_value: str
    given_as: str
    kept_as: str


class Span(Numbers):
    varies: bool


class LoadPoint(Part):
    ...


class LineLoad(Composite):
    table: str
    turns: bool
    beam: CurveMesh
    value: tuple[TimeFunction, ...]
    time: TimeFunction
    frame: str
    span: np.ndarray
    profile: np.ndarray
    def make_nodes(self) -> Iterable[Body]: ...
    def reference(self, i: int) -> Pose: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def make_elements(self) -> Iterable[Part]: ...
    def __init__(self, beam: CurveMesh,
                 value: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction,
                 time: Number | TimeFunction | UserFunction = 1.0, frame: Literal['space', 'section'] = 'space',
                 span: Vector = (), profile: Vector = (1.0, 1.0), name: str | None = None) -> None: ...


class LineForce(LineLoad):
    def __init__(self, beam: CurveMesh,
                 value: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction,
                 time: Number | TimeFunction | UserFunction = 1.0, frame: Literal['space', 'section'] = 'space',
                 span: Vector = (), profile: Vector = (1.0, 1.0), name: str | None = None) -> None: ...


class LineTorque(LineLoad):
    turns: bool
    def __init__(self, beam: CurveMesh,
                 value: Sequence[Number | TimeFunction | UserFunction] | np.ndarray | UserFunction,
                 time: Number | TimeFunction | UserFunction = 1.0, frame: Literal['space', 'section'] = 'space',
                 span: Vector = (), profile: Vector = (1.0, 1.0), name: str | None = None) -> None: ...
