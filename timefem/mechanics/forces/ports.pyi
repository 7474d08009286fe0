# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Callable, Sequence
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.body_frame import BodyFrame
from timefem.types import Number, UserFunction
from typing import Any
from ...errors import NamedArguments, named_arguments
from ...records import frozen
from ..joints.joint import Joint
from ..joints.nonholonomic import FormulaPart
from ..part import Body
from ..symbols import Symbols


class PortConnection(FormulaPart):
    table: str
    lossless: bool
    output_a: Any | None
    output_b: Any | None
    gain: float
    joint_a: Joint | None
    coordinate_a: str | None
    joint_b: Joint | None
    coordinate_b: str | None
    keyword_only: Any
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def traced(self, name: str) -> tuple[ca.SX, dict[str, ca.SX]]: ...
    def outputs(self, s: Symbols) -> tuple[ca.SX, ca.SX]: ...
    def force(self, s: Symbols) -> ca.SX: ...
    bound_a: Any
    bound_b: Any
    def __init__(self, bodies: BodyFrame | Sequence[BodyFrame],
                 output_a: UserFunction | str | Sequence[Any] | None = None,
                 output_b: UserFunction | str | Sequence[Any] | None = None, gain: Number = 1.0, *,
                 joint_a: Joint | TreeJointCoordinate | None = None, coordinate_a: str | None = None,
                 joint_b: Joint | TreeJointCoordinate | None = None, coordinate_b: str | None = None,
                 name: str | None = None) -> None: ...


@frozen
class Port(NamedArguments):
    of: Joint | Body | Sequence[Body]
    output: Callable[[Any], Any] | str | int | None = ...
    @property
    def bodies(self) -> tuple[Body, ...]: ...
    def arguments(self, bodies: Sequence[Body]) -> dict[str, Any]: ...


@named_arguments
def connect(a: Port, b: Port, gain: float = 1.0, name: str | None = None) -> PortConnection: ...
