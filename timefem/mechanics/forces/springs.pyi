# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.types import Expression, Matrix, Number, UserFunction, Vector
from typing import Any, Literal
import numpy as np
from ..body_frame import BodyFrame
from ..part import Part
from ..shapes import Stroke
from ..symbols import Symbols


SMALL: float
STILL: float


class ForcePart(Part):
    needs_rotation: bool


class PointForce(ForcePart):
    body_a: BodyFrame
    body_b: BodyFrame | None
    point_a: np.ndarray
    point_b: np.ndarray
    line: str
    def workless_motions(self) -> np.ndarray | None: ...
    def line_motions(self) -> np.ndarray: ...
    def drawn_lines(self) -> list[Stroke]: ...
    def lift(self, s: Symbols) -> ca.SX | None: ...
    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression: ...
    def energy(self, s: Symbols) -> Expression: ...
    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression: ...
    def symmetry(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), name: str | None = None) -> None: ...


def damping_of_penalty(c: Any, depth: ca.SX, closing: ca.SX) -> ca.SX: ...


class Spring(PointForce):
    stiffness: float
    length: float
    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), stiffness: Number = ..., length: Number = 0.0,
                 name: str | None = None) -> None: ...


class NonlinearSpring(PointForce):
    potential: Any
    parameters_of_potential: np.ndarray
    def traced(self, name: str) -> tuple[ca.SX, dict[str, ca.SX]]: ...
    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), potential: UserFunction | str | Sequence[Any] = ...,
                 parameters: Vector = (), name: str | None = None) -> None: ...


class TorsionalSpring(ForcePart):
    body_a: BodyFrame
    body_b: BodyFrame | None
    axis: np.ndarray
    stiffness: float
    rest: float
    orientation: np.ndarray
    turns: bool
    needs_rotation: bool
    def coordinate_numbers(self, c: Any) -> dict[str, Any]: ...
    @property
    def members(self) -> tuple[Part, ...]: ...
    @property
    def first_turn(self) -> float: ...
    def symmetry(self, s: Symbols) -> ca.SX: ...
    def workless_motions(self) -> np.ndarray: ...
    def energy(self, s: Symbols) -> Expression: ...
    bound: Any
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, axis: Vector = (0, 0, 1),
                 stiffness: Number = ..., rest: Number = 0.0, orientation: Vector | Matrix = (1, 0, 0, 0),
                 turns: bool = True, name: str | None = None) -> None: ...


class RotationalSpring(ForcePart):
    body_a: BodyFrame
    body_b: BodyFrame | None
    stiffness: float
    orientation: np.ndarray
    law: str
    needs_rotation: bool
    def symmetry(self, s: Symbols) -> ca.SX: ...
    def workless_motions(self) -> np.ndarray: ...
    def energy(self, s: Symbols) -> Expression: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, stiffness: Number = ...,
                 orientation: Vector | Matrix = (1, 0, 0, 0), law: Literal['cosine', 'angle'] = 'cosine',
                 name: str | None = None) -> None: ...


class Damper(PointForce):
    damping: float
    line: str
    def workless_motions(self) -> np.ndarray: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), damping: Number = ..., name: str | None = None) -> None: ...


class TorsionalDamper(ForcePart):
    body_a: BodyFrame
    body_b: BodyFrame | None
    axis: np.ndarray
    damping: float
    needs_rotation: bool
    def workless_motions(self) -> np.ndarray: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, axis: Vector = (0, 0, 1),
                 damping: Number = ..., name: str | None = None) -> None: ...


class RayleighDissipation(ForcePart):
    body: BodyFrame
    linear: float
    angular: float
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame, linear: Number = 0.0, angular: Number = 0.0,
                 name: str | None = None) -> None: ...


class SlackRope(PointForce):
    length: float
    stiffness: float
    damping: float
    line: str
    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression: ...
    def workless_motions(self) -> np.ndarray: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), length: Number = ..., stiffness: Number = ..., damping: Number = 0.0,
                 name: str | None = None) -> None: ...


class Drag(ForcePart):
    body: BodyFrame
    coefficient: float
    point: np.ndarray
    wind: np.ndarray
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, body: BodyFrame, coefficient: Number = ..., point: Vector = (0.0, 0.0, 0.0),
                 wind: Vector = (0.0, 0.0, 0.0), name: str | None = None) -> None: ...
