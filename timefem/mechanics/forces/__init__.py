"""Forces: gravity, springs, dampers, and loads that depend on time."""

from .dampers import Damper, RayleighDissipation, TorsionalDamper
from .gravity import Gravity
from .loads import Force, Torque
from .on_joints import EndStop, JointDamper, JointForce, JointFriction, JointSpring
from .springs import NonlinearSpring, RotationalSpring, Spring, TorsionalSpring

__all__ = ["Damper", "EndStop", "Force", "Gravity", "JointDamper", "JointForce", "JointFriction", "JointSpring",
           "NonlinearSpring", "RayleighDissipation", "RotationalSpring", "Spring", "Torque", "TorsionalDamper",
           "TorsionalSpring"]
