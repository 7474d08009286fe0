# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Hashable, Mapping
from timefem.mechanics.functions.base import TimeFunction
from timefem.mechanics.joints.joint import Joint
from timefem.types import Matrix, Number, UserFunction, Vector
from typing import Any
import numpy as np
from ..joints.on_joint import JointPart
from ..part import Part, Symbols
from ..system import System


class PDControl(JointPart):
    stiffness: float
    damping: float
    reference: TimeFunction
    feedforward: TimeFunction
    turns: bool
    @property
    def counts_turns(self) -> bool: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, joint: Joint, *, coordinate: str | None = None, stiffness: Number, damping: Number,
                 reference: Number | TimeFunction | UserFunction = 0.0,
                 feedforward: Number | TimeFunction | UserFunction = 0.0, turns: bool = True,
                 name: str | None = None) -> None: ...


class Controller(Part):
    def __init__(self, drives: Any, law: UserFunction, inputs: Any = None, parameters: Vector = (), turns: bool = True,
                 name: str | None = None) -> None: ...
    changeable: Any
    def changed(self, values: Mapping[str, Any]) -> Controller: ...
    @property
    def members(self) -> tuple[Part, ...]: ...
    @property
    def kind(self) -> Hashable: ...
    @property
    def shares(self) -> list[Part]: ...
    def force(self, s: Symbols, only: int | None = None) -> ca.SX: ...
    @property
    def n_forces(self) -> int: ...
    drives: Any
    law_parameters: Any
    law: Any
    inputs: Any
    turns: Any


class SampledController(Controller):
    def __init__(self, drives: Any, law: UserFunction, period: float, delay: float = 0.0, inputs: Any = None,
                 parameters: Vector = (), turns: bool = True, name: str | None = None) -> None: ...
    @property
    def kind(self) -> Hashable: ...
    def holding(self, times: Vector, values: Matrix) -> SampledController: ...
    def force(self, s: Symbols, only: int | None = None) -> ca.SX: ...
    def told(self, system: System, t: float, z: np.ndarray) -> np.ndarray: ...
    delay: Any
    n_held: Any


class _Share(Part):
    ...
