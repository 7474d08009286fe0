"""What moves: bodies, joints, forces and the system they make."""

from .controls import Actuator, ControlForce, ControlTorque, Cost, Effort, GeneralizedControl
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
from .generalized import GeneralizedPotential, GeneralizedSystem
from .generalized_body import GeneralizedBody
from .groups import PartGroup
from .inertia import MassProperties
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
from .nonholonomic import MovingFrame, NonholonomicConstraint
from .outputs import AngleOutput, CoordinateOutput, FormulaOutput, Output, PositionOutput
from .part import Body, Part, Symbols
from .point_mass import PointMass
from .pose import CanonicalState, Coordinates, Pose
from .rigid_body import DirectorBody, QuaternionBody, RigidBody, RigidBodyBase
from .rolling import KnifeEdge, NonTwisting, RollingDisc, RollingSphere
from .sympy_bridge import from_sympy
from .system import System
from .time_functions import Constant, Formula, Ramp, Sine, Step, Table, TimeFunction, TrianglePulse
from .trajectories import Polynomial, Spline, Transfer

__all__ = ["Body", "CanonicalState", "Constraint", "Cylindrical", "DirectorBody", "FixedPoint", "Frame", "Gravity",
           "Joint", "MassProperties", "Part", "PartGroup", "Planar", "PointMass", "Pose", "PrescribedAngle",
           "PrescribedPosition", "Prismatic", "QuaternionBody", "Revolute", "RigidBody", "RigidBodyBase",
           "RigidDistance", "Spherical", "Symbols", "System", "Universal", "Weld",
           # nonholonomic constraints
           "KnifeEdge", "MovingFrame", "NonTwisting", "NonholonomicConstraint", "RollingDisc", "RollingSphere",
           # forces
           "Damper", "Force", "NonlinearSpring", "RayleighDissipation", "RotationalSpring", "Spring", "Torque",
           "TorsionalDamper", "TorsionalSpring",
           # actuators
           "Actuator", "ControlForce", "ControlTorque", "Cost", "Effort", "GeneralizedControl",
           # outputs, and functions to prescribe them by
           "AngleOutput", "CoordinateOutput", "FormulaOutput", "Output", "Polynomial", "PositionOutput", "Spline",
           "Transfer",
           # systems by formulas
           "Coordinates", "GeneralizedBody", "GeneralizedPotential", "GeneralizedSystem", "from_sympy",
           # functions of time
           "Constant", "Formula", "Ramp", "Sine", "Step", "Table", "TimeFunction", "TrianglePulse"]
