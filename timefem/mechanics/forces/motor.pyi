# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.functions.base import TimeFunction
from timefem.mechanics.joints.joint import Joint
from timefem.types import Number, UserFunction
from typing import Any
from ..joints.bound import Follower
from ..joints.on_joint import JointPart
from ..part import Part
from ..symbols import Symbols
from .actuators import Actuator


class Rotor(Follower):
    ...


class Gear(Part):
    constraint_names: Any
    table: str
    helper: bool


class Motor(JointPart, Actuator):
    unit: str
    n_controls: int
    gear: float
    rotor_inertia: float
    damping: float
    torque: TimeFunction
    @property
    def on_tree(self) -> bool: ...
    @property
    def members(self) -> tuple[Part, ...]: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX: ...
    helpers: Any
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, gear: Number = 1.0,
                 rotor_inertia: Number = 0.0, damping: Number = 0.0, torque: Number | TimeFunction | UserFunction = 0.0,
                 name: str | None = None) -> None: ...
