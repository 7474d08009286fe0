# made by tools/stubs.py: change the module

import casadi as ca
from timefem.mechanics.bodies.tree.frames import TreeJointCoordinate
from timefem.mechanics.joints.joint import Joint
from timefem.mechanics.time_functions import TimeFunction
from timefem.types import Expression, Number, UserFunction
from typing import Any
from ..contacts.rigid import RigidContact
from ..joints.bound import Follower, JointPart
from ..part import Part
from ..symbols import Symbols
from .actuators import Actuator


TURNS: str


class JointSpring(JointPart):
    stiffness: float
    rest: float
    turns: bool
    @property
    def counts_turns(self) -> bool: ...
    def energy(self, s: Symbols) -> Expression: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, stiffness: Number,
                 rest: Number = 0.0, turns: bool = True, name: str | None = None) -> None: ...


class JointDamper(JointPart):
    damping: float
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, damping: Number,
                 name: str | None = None) -> None: ...


class JointForce(JointPart):
    value: TimeFunction
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None,
                 value: Number | TimeFunction | UserFunction, name: str | None = None) -> None: ...


def dry_friction(part: Any, c: Any, v: ca.SX) -> ca.SX: ...


class DryFriction(RigidContact, JointPart):
    restitution: Any
    persistent: bool
    made_soft_by: str
    @property
    def is_rigid(self) -> bool: ...
    @property
    def n_contacts(self) -> int: ...
    @property
    def n_slip(self) -> int: ...
    def gap(self, s: Symbols) -> ca.SX: ...
    def slip(self, s: Symbols) -> ca.SX: ...
    def restitutions(self, s: Symbols) -> ca.SX: ...
    def frictions(self, s: Symbols) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, friction: Number = 0.0,
                 name: str | None = None) -> None: ...


class JointFriction(DryFriction):
    friction: float
    friction_width: float | None
    breakaway: float
    stribeck: float
    damping: float
    def load(self, s: Symbols) -> ca.SX: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, friction: Number,
                 friction_width: Number | None = None, breakaway: Number = 0.0, stribeck: Number = 0.0,
                 damping: Number = 0.0, name: str | None = None) -> None: ...


class EndStop(RigidContact, JointPart):
    lowest: float | None
    highest: float | None
    stiffness: float | None
    damping: float
    turns: bool
    friction: Any
    @property
    def is_rigid(self) -> bool: ...
    @property
    def n_contacts(self) -> int: ...
    @property
    def contact_names(self) -> tuple[str, ...]: ...
    @property
    def counts_turns(self) -> bool: ...
    @property
    def where_overlapping(self) -> str: ...
    def gap(self, s: Symbols) -> ca.SX: ...
    def energy(self, s: Symbols) -> Expression: ...
    def force(self, s: Symbols) -> ca.SX: ...
    def __init__(self, joint: Joint | TreeJointCoordinate, *, coordinate: str | None = None, restitution: Number = 0.0,
                 lowest: Number | None = None, highest: Number | None = None, stiffness: Number | None = None,
                 damping: Number = 0.0, turns: bool = True, name: str | None = None) -> None: ...


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
