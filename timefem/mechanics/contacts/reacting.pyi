# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Sequence
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.joints.joint import Joint
from timefem.types import Number
from typing import Any
from ..declared import Field
from ..joints.on_joint import JointPart
from ..part import Part
from ..symbols import Symbols
from ..system import System


def check_reactions(title: str, parts: Sequence[Any]) -> None: ...


def refuse_reaction_forces(system: System, what: str, remedy: str) -> None: ...


class Reactions(Field):
    refers: bool
    kind_of_value: str
    schema_type: str
    given_as: str
    kept_as: str
    def __init__(self, help: str = '', argument: str | None = None) -> None: ...
    def checked(self, part: Any, value: Any) -> Any: ...
    def check(self, title: str, value: Any) -> tuple[Part, ...]: ...
    def form(self, value: Any) -> Any: ...
    def described(self, value: Any, refer: Any) -> list[Any]: ...
    def restored(self, data: Any, found: Any) -> list[Any]: ...
    def moved(self, value: Any, stand_in: Any) -> list[Any]: ...


class ReactionForce(Part):
    def reaction_force(self, s: Symbols, w: ca.SX) -> ca.SX: ...
    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None: ...


def norm(x: ca.SX) -> ca.SX: ...


class BearingFriction(ReactionForce, JointPart):
    friction: float
    friction_width: float
    radius: float
    length: float
    collar: float
    breakaway: float
    stribeck: float
    @property
    def turns(self) -> bool: ...
    @property
    def reactions_of(self) -> tuple[Part, ...]: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def reaction_force(self, s: Symbols, w: ca.SX) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, friction: Number,
                 friction_width: Number, radius: Number = 0.0, length: Number = 0.0, collar: Number = 0.0,
                 breakaway: Number = 0.0, stribeck: Number = 0.0, name: str | None = None) -> None: ...
