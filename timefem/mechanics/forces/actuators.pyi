# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Hashable, Sequence
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.joints.joint import Joint
from timefem.types import Expression, Floats, Matrix, Number, UserFunction, Vector
from typing import Any, Literal
import numpy as np
from ..body_frame import BodyFrame
from ..declared import Field
from ..joints.bound import JointPart
from ..part import Body, Part
from ..symbols import Symbols
from .springs import ForcePart, PointForce


class Actuator(ForcePart):
    table: str
    unit: str
    is_affine: bool
    @property
    def controls(self) -> tuple[Part, ...]: ...


class Control(Actuator):
    n_controls: int
    def workless_motions(self) -> np.ndarray: ...
    def __init__(self, n_controls: int = 1, name: str | None = None) -> None: ...


class ControlForce(Actuator):
    unit: str
    body: BodyFrame
    directions: np.ndarray | None
    point: np.ndarray
    frame: str
    reaction: BodyFrame | None
    @property
    def n_controls(self) -> int: ...
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def workless_motions(self) -> np.ndarray: ...
    def __init__(self, body: BodyFrame, directions: Matrix | None = None, point: Vector = (0.0, 0.0, 0.0),
                 frame: Literal['space', 'body'] = 'space', reaction: BodyFrame | None = None,
                 name: str | None = None) -> None: ...


class LengthControl(PointForce, Actuator):
    unit: str
    line: str
    n_controls: int
    def workless_motions(self) -> np.ndarray: ...
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def __init__(self, body_a: BodyFrame, body_b: BodyFrame | None = None, point_a: Vector = (0, 0, 0),
                 point_b: Vector = (0, 0, 0), name: str | None = None) -> None: ...


class Thruster(Actuator):
    unit: str
    n_controls: int
    body: BodyFrame
    direction: np.ndarray
    point: np.ndarray
    drag: float
    needs_rotation: bool
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def __init__(self, body: BodyFrame, direction: Vector = (0, 0, 1), point: Vector = (0.0, 0.0, 0.0),
                 drag: Number = 0.0, name: str | None = None) -> None: ...


class JointControl(JointPart, Actuator):
    n_controls: int
    @property
    def unit(self) -> str: ...
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None,
                 name: str | None = None) -> None: ...


class ControlTorque(Actuator):
    unit: str
    body: BodyFrame
    axes: np.ndarray
    frame: str
    reaction: BodyFrame | None
    needs_rotation: bool
    @property
    def n_controls(self) -> int: ...
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def workless_motions(self) -> np.ndarray: ...
    def __init__(self, body: BodyFrame, axes: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
                 frame: Literal['body', 'space'] = 'body', reaction: BodyFrame | None = None,
                 name: str | None = None) -> None: ...


class InputMatrix(Field):
    varies: bool
    kind_of_value: str
    given_as: str
    kept_as: str


class Columns(Field):
    in_files: bool
    kind_of_value: str
    argument: str
    given_as: str
    kept_as: str


class GeneralizedControl(Actuator):
    body: BodyFrame
    matrix: Any
    columns: int | None
    @property
    def n_controls(self) -> int: ...
    @property
    def unit(self) -> str: ...
    @property
    def takes_rates(self) -> bool: ...
    def matrix_at(self, *state: ca.SX) -> ca.SX: ...
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    def __init__(self, body: BodyFrame, matrix: Matrix | UserFunction, n_controls: int | None = None,
                 name: str | None = None) -> None: ...


class Cost(Part):
    def __init__(self, formula: UserFunction | str, actuators: Part | Sequence[Part] = (),
                 bodies: Body | Sequence[Body] = (), name: str | None = None) -> None: ...
    @property
    def kind(self) -> Hashable: ...
    def cost(self, s: Symbols, u: ca.SX) -> Expression: ...
    formula: Any


class FormulaCost(Cost):
    def __init__(self, given: Any, formula: str, actuators: Sequence[Part], bodies: Sequence[Body],
                 sources: Sequence[Any]) -> None: ...
    @property
    def kind(self) -> Hashable: ...
    @property
    def durations(self) -> tuple[int, ...]: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    given: Any
    formula: Any


class Effort(Cost):
    weights: np.ndarray
    def __init__(self, actuator: Part, weights: Floats = 1.0, name: str | None = None) -> None: ...
    @property
    def kind(self) -> Hashable: ...
    def cost(self, s: Symbols, u: ca.SX) -> Expression: ...
