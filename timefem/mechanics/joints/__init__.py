"""Joints: constraints between bodies and the ground."""

from .constraint import Constraint
from .distance import RigidDistance
from .fixed_point import FixedPoint
from .joint import Frame, Joint
from .prescribed import PrescribedAngle, PrescribedJoint, PrescribedPosition
from .sliding import Cylindrical, Planar, Prismatic
from .turning import Revolute, Spherical, Universal, Weld

__all__ = ["Constraint", "Cylindrical", "FixedPoint", "Frame", "Joint", "Planar", "PrescribedAngle", "PrescribedJoint",
           "PrescribedPosition", "Prismatic", "Revolute", "RigidDistance", "Spherical", "Universal", "Weld"]
