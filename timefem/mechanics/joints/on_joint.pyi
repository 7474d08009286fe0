# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.joints.joint import Joint
from timefem.types import Expression
from typing import Any
import numpy as np
from ..part import Part
from ..symbols import Symbols


class JointPart(Part):
    joint: Joint
    coordinate: str | None
    keyword_only: Any
    counts_turns: bool
    def symmetry(self, s: Symbols) -> ca.SX: ...
    @property
    def members(self) -> tuple[Part, ...]: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def workless_motions(self) -> np.ndarray: ...
    def coordinate_of(self, s: Symbols) -> ca.SX: ...
    def rate_of(self, s: Symbols) -> ca.SX: ...
    def along(self, s: Symbols, force: Expression) -> ca.SX: ...
    bound: Any
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None,
                 name: str | None = None) -> None: ...
