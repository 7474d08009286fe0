# made by tools/stubs.py: change the module

import casadi as ca
from collections.abc import Hashable, Sequence
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.joints.joint import Joint
from timefem.mechanics.time_functions import TimeFunction
from timefem.types import Number, UserFunction, Vector
from typing import Any
import numpy as np
from ..declared import Field, Real
from ..joints.bound import JointPart
from ..part import Body, Part
from ..symbols import Symbols
from ..system import System


LAW: Any


class Drives(Field):
    refers: bool
    kind_of_value: str
    schema_type: str
    kept_as: str


class Inputs(Field):
    refers: bool
    kind_of_value: str
    schema_type: str
    kept_as: str


class PDControl(JointPart):
    stiffness: float
    damping: float
    reference: TimeFunction
    feedforward: TimeFunction
    turns: bool
    @property
    def counts_turns(self) -> bool: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, stiffness: Number,
                 damping: Number, reference: Number | TimeFunction | UserFunction = 0.0,
                 feedforward: Number | TimeFunction | UserFunction = 0.0, turns: bool = True,
                 name: str | None = None) -> None: ...


class Controller(Part):
    drives: tuple[Any, ...]
    law: Any
    inputs: tuple[Any, ...] | None
    law_parameters: np.ndarray
    turns: bool
    hearing: Any
    def numbers(self, c: Any) -> dict[str, Any]: ...
    def heard_by(self, parts: Sequence[Part]) -> Controller: ...
    @property
    def stated_numbers(self) -> np.ndarray: ...
    @property
    def given_bodies(self) -> tuple[Body, ...]: ...
    changeable: Any
    @property
    def members(self) -> tuple[Part, ...]: ...
    @property
    def kind(self) -> Hashable: ...
    @property
    def shares(self) -> list[Part]: ...
    def force(self, s: Symbols, only: int | None = None) -> ca.SX: ...
    @property
    def starts(self) -> list[int]: ...
    def told_in(self, s: Symbols) -> ca.SX: ...
    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]: ...
    @property
    def n_forces(self) -> int: ...
    def __init__(self, drives: Any, law: UserFunction | str | Sequence[Any], inputs: Any | None = None,
                 parameters: Vector = (), turns: bool = True, name: str | None = None) -> None: ...


class Timing(Real):
    varies: bool


class SampledController(Controller):
    period: float
    delay: float
    inputs: tuple[Any, ...] | None
    law_parameters: np.ndarray
    turns: bool
    @property
    def n_held(self) -> int: ...
    @property
    def n_given(self) -> int: ...
    def numbers(self, c: Any) -> dict[str, Any]: ...
    @property
    def kind(self) -> Hashable: ...
    def force(self, s: Symbols, only: int | None = None) -> ca.SX: ...
    def places_of_held(self) -> np.ndarray: ...
    def told(self, system: System, t: float, z: np.ndarray) -> np.ndarray: ...
    def __init__(self, drives: Any, law: UserFunction | str | Sequence[Any], period: Number, delay: Number = 0.0,
                 inputs: Any | None = None, parameters: Vector = (), turns: bool = True,
                 name: str | None = None) -> None: ...


class _Share(Part):
    ...
