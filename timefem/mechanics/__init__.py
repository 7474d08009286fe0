"""What moves: bodies, joints, forces and the system they make."""

from .bodies.generalized_body import GeneralizedBody
from .bodies.generalized_system import GeneralizedPotential, GeneralizedSystem
from .bodies.mass_properties import MassProperties
from .bodies.point_mass import PointMass
from .bodies.rigid import DirectorBody, QuaternionBody, RigidBody, RigidBodyBase
from .bodies.states import CanonicalState, Coordinates, Pose
from .bodies.tree import Link, Tree, TreeJoint
from .composites.composite import Composite
from .composites.mass_spring_chain import MassSpringChain
from .forces import (
    Damper,
    Force,
    Gravity,
    NonlinearSpring,
    RayleighDissipation,
    RotationalSpring,
    Spring,
    Torque,
    TorsionalDamper,
    TorsionalSpring,
)
from .forces.actuators import Actuator, ControlForce, ControlTorque, GeneralizedControl
from .forces.costs import Cost, Effort
from .functions import Constant, Formula, Ramp, Sine, Step, Table, TimeFunction, TrianglePulse
from .functions.trajectories import Polynomial, Spline, Transfer
from .inversion.outputs import AngleOutput, CoordinateOutput, FormulaOutput, Output, PositionOutput
from .inversion.pose import OrientationOutput, pose_outputs
from .joints import (
    Constraint,
    Cylindrical,
    FixedPoint,
    Frame,
    Joint,
    Planar,
    PrescribedAngle,
    PrescribedPosition,
    Prismatic,
    Revolute,
    RigidDistance,
    Spherical,
    Universal,
    Weld,
)
from .joints.nonholonomic import MovingFrame, NonholonomicConstraint
from .joints.rolling import KnifeEdge, NonTwisting, RollingDisc, RollingSphere
from .part import Body, Part
from .part_groups import PartGroup
from .symbols import Symbols
from .sympy_bridge import from_sympy
from .system import System

__all__ = ["Body", "CanonicalState", "Composite", "Constraint", "Cylindrical", "DirectorBody", "FixedPoint", "Frame",
           "Gravity", "Joint", "MassProperties", "MassSpringChain", "Part", "PartGroup", "Planar", "PointMass", "Pose",
           "PrescribedAngle", "PrescribedPosition", "Prismatic", "QuaternionBody", "Revolute", "RigidBody",
           "RigidBodyBase", "RigidDistance", "Spherical", "Symbols", "System", "Universal", "Weld",
           # nonholonomic constraints
           "KnifeEdge", "MovingFrame", "NonTwisting", "NonholonomicConstraint", "RollingDisc", "RollingSphere",
           # forces
           "Damper", "Force", "NonlinearSpring", "RayleighDissipation", "RotationalSpring", "Spring", "Torque",
           "TorsionalDamper", "TorsionalSpring",
           # actuators
           "Actuator", "ControlForce", "ControlTorque", "Cost", "Effort", "GeneralizedControl",
           # outputs, and functions to prescribe them by
           "AngleOutput", "CoordinateOutput", "FormulaOutput", "OrientationOutput", "Output", "Polynomial",
           "PositionOutput", "Spline", "pose_outputs",
           "Transfer",
           # systems by formulas
           "Coordinates", "GeneralizedBody", "GeneralizedPotential", "GeneralizedSystem", "from_sympy",
           # trees in joint coordinates
           "Link", "Tree", "TreeJoint",
           # functions of time
           "Constant", "Formula", "Ramp", "Sine", "Step", "Table", "TimeFunction", "TrianglePulse"]
