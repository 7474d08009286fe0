# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Callable
from timefem.mechanics.joints.joint import Joint
from timefem.types import Expression
from typing import Any
from ..part import Part
from ..symbols import Symbols


class JointPart(Part):
    joint: Joint
    coordinate: str | None
    keyword_only: Any
    counts_turns: bool
    @property
    def members(self) -> tuple[Part, ...]: ...
    def moved_to(self, stand_in: Callable[[Any], Any]) -> Any: ...
    def numbers(self) -> dict[str, Any]: ...
    def coordinate_of(self, s: Symbols) -> ca.SX: ...
    def rate_of(self, s: Symbols) -> ca.SX: ...
    def along(self, s: Symbols, force: Expression) -> ca.SX: ...
    bound: Any
    def __init__(self, joint: Joint, *, coordinate: str | None = None, name: str | None = None) -> None: ...
