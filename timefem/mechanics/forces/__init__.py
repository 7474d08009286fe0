"""Forces: gravity, springs, dampers, and loads that depend on time."""

from .dampers import Damper, RayleighDissipation, TorsionalDamper
from .gravity import Gravity
from .loads import Force, Torque
from .springs import NonlinearSpring, RotationalSpring, Spring, TorsionalSpring

__all__ = ["Damper", "Force", "Gravity", "NonlinearSpring", "RayleighDissipation", "RotationalSpring", "Spring",
           "Torque", "TorsionalDamper", "TorsionalSpring"]
