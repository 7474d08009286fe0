# made by tools/stubs.py: change the module

from collections.abc import Iterable, Sequence
from timefem.mechanics.composites.section import Curve, Line
from timefem.types import Number
from typing import Any, Literal
import numpy as np
from ..bodies.states import Pose
from ..part import Body, Part
from .mesh import CurveMesh
from .section import RopeSection, Section


class Beam(CurveMesh):
    curve: tuple[Line | Curve, ...]
    section: Section
    n_elements: int
    degree: int
    rotation: str
    triads: str
    mass: str
    marks: tuple[tuple[str, float], ...]
    place_class: Any
    def node_axes(self, i: int) -> np.ndarray: ...
    def make_nodes(self) -> Iterable[Body]: ...
    @property
    def n_strain_points(self) -> int: ...
    def make_elements(self) -> Iterable[Part]: ...
    def place_axes(self, j: int, e: int, xi: float) -> dict[str, Any]: ...
    def __init__(self, curve: Number | Line | Curve | Sequence[Line | Curve], section: Section, n_elements: int,
                 degree: int = 3, rotation: Literal['quaternion', 'directors'] = 'quaternion',
                 triads: Literal['section', 'space'] = 'section',
                 mass: Literal['lumped', 'consistent', 'gauss'] = 'lumped', marks: Sequence[tuple[str, float]] = (),
                 name: str | None = None) -> None: ...


class StretchPoint(Part):
    ...


class Rope(CurveMesh):
    curve: tuple[Line | Curve, ...]
    section: RopeSection
    n_elements: int
    degree: int
    strain: str
    slack: bool
    marks: tuple[tuple[str, float], ...]
    mass: str
    dimension: int
    def make_nodes(self) -> Iterable[Body]: ...
    def reference(self, i: int) -> Pose: ...
    def make_elements(self) -> Iterable[Part]: ...
    def __init__(self, curve: Number | Line | Curve | Sequence[Line | Curve], section: RopeSection, n_elements: int,
                 degree: int = 1, strain: Literal['linear', 'green'] = 'linear', slack: bool = False,
                 marks: Sequence[tuple[str, float]] = (), mass: Literal['lumped', 'consistent', 'gauss'] = 'lumped',
                 dimension: int = 3, name: str | None = None) -> None: ...
