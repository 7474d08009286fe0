# made by tools/stubs.py: change the module

from collections.abc import Iterable, Sequence
from timefem.mechanics.composites.beam.curve import Curve, Line
from timefem.types import Number
from typing import Literal
from ...bodies.states import Pose
from ...part import Body, Part
from .mesh import CurveMesh
from .section import RopeSection


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
