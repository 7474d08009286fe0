"""What moves: bodies, joints, forces and the system they make."""

from .forces import Gravity
from .joints import FixedPoint
from .part import Body, Part, Symbols
from .pose import CanonicalState, Pose
from .rigid_body import DirectorBody, QuaternionBody, RigidBody, RigidBodyBase
from .system import PartGroup, System

__all__ = ["Body", "CanonicalState", "DirectorBody", "FixedPoint", "Gravity", "Part", "PartGroup", "Pose",
           "QuaternionBody", "RigidBody", "RigidBodyBase", "Symbols", "System"]
