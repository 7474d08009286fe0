"""The public interface of timefem: names, and where they are defined."""

from . import studies
from .analysis import (
    CriticalValue,
    Floquet,
    LinearModel,
    Lyapunov,
    Mode,
    Modes,
    Periodic,
    RootLocus,
    Symmetry,
    critical_values,
    floquet,
    linearize,
    lyapunov,
    modes,
    periodic,
    root_locus,
)
from .analysis.tangents import Conditioning, MultiplierRank, conditioning, multiplier_rank
from .assembly import TimeMesh
from .elements.bubnov_galerkin import BubnovGalerkin
from .elements.element import TimeElement
from .elements.energy_momentum import EMH, EML, MPH, MPL, REML, DirEM, NonTwistingEM, NullEMH, NullEML, SymplecticEuler
from .elements.evaluation.elements_in_lanes import ElementBatch
from .elements.mixed_galerkin import MixedGalerkin
from .elements.rotation_schemes import DLA, AlgoC1, NewmarkSO3, QuatVI, Zupan3, Zupan3Printed
from .errors import (
    ActiveSetChange,
    IllConditioned,
    InputError,
    MissingBackend,
    NotAsked,
    NotDifferentiable,
    NotSolved,
    OpenJoint,
    OtherSide,
    RankError,
    SolveError,
    SuspectUnits,
    UnderResolved,
    Undetermined,
    Unstable,
)
from .mechanics.bodies.first_order import PortSystem, State
from .mechanics.bodies.generalized_body import GeneralizedBody
from .mechanics.bodies.generalized_system import GeneralizedSystem, from_sympy
from .mechanics.bodies.mass_properties import MassProperties
from .mechanics.bodies.point_mass import PointMass, VariableMass
from .mechanics.bodies.rigid import RigidBody
from .mechanics.bodies.states import CanonicalState, Coordinates, Pose
from .mechanics.bodies.tree.links import Link, TreeJoint
from .mechanics.bodies.tree.tree import Tree
from .mechanics.composites.beam import Beam, Rope
from .mechanics.composites.composite import MassSpringChain as MassSpringChain
from .mechanics.composites.line_loads import LineForce, LineTorque
from .mechanics.composites.section import Curve, Line, RopeSection, Section
from .mechanics.contacts.reacting import BearingFriction
from .mechanics.contacts.rigid import Tether
from .mechanics.contacts.solids import (
    BoxContact,
    BoxPairContact,
    DiscContact,
    EdgeContact,
    EllipsoidContact,
    PlaneContact,
    RimContact,
    SphereContact,
)
from .mechanics.contacts.surfaces import FormulaContact, SurfaceContact
from .mechanics.describe import describe
from .mechanics.forces.actuators import (
    Control,
    ControlForce,
    ControlTorque,
    Cost,
    Effort,
    GeneralizedControl,
    JointControl,
    LengthControl,
    Thruster,
)
from .mechanics.forces.controllers import Controller, PDControl, SampledController
from .mechanics.forces.formula_force import FormulaEnergy, FormulaForce, StateRate
from .mechanics.forces.loads import Force, Gravity, Torque, Tyre
from .mechanics.forces.on_joints import EndStop, JointDamper, JointForce, JointFriction, JointSpring, Motor
from .mechanics.forces.ports import Port, PortConnection, connect
from .mechanics.forces.springs import (
    Damper,
    Drag,
    NonlinearSpring,
    RayleighDissipation,
    RotationalSpring,
    SlackRope,
    Spring,
    TorsionalDamper,
    TorsionalSpring,
)
from .mechanics.inversion.outputs import (
    AngleOutput,
    CoordinateOutput,
    FormulaOutput,
    JointOutput,
    OrientationOutput,
    PositionOutput,
    pose_outputs,
)
from .mechanics.joints.nonholonomic import (
    Constraint,
    KnifeEdge,
    NonholonomicConstraint,
    NonTwisting,
    RollingDisc,
    RollingSphere,
)
from .mechanics.joints.pairs import (
    Cylindrical,
    FixedPoint,
    Planar,
    Prismatic,
    Revolute,
    RigidDistance,
    Spherical,
    Universal,
    Weld,
)
from .mechanics.joints.prescribed import PrescribedAngle, PrescribedJoint, PrescribedPosition
from .mechanics.part import Part
from .mechanics.states.assemble import assemble
from .mechanics.states.redundancy import redundant_constraints
from .mechanics.system import System
from .mechanics.time_formulas import Formula, Table
from .mechanics.time_functions import (
    Constant,
    Polynomial,
    Ramp,
    Sine,
    Spline,
    Step,
    TimeFunction,
    Transfer,
    TrianglePulse,
)
from .mechanics.values.conserved import constant_momenta
from .models.build import load_model
from .models.mjcf.read import read_mjcf
from .models.motion_data import MarkerData, MotionTable, read_c3d, read_csv, read_mot, read_trc
from .models.osim import OsimModel, read_osim
from .models.robot import Robot
from .models.urdf import read_urdf
from .polynomials import LagrangeBasis, gauss_legendre
from .problems.boundary.problem import BoundaryValueProblem
from .problems.controls_marched import Simulation, simulate
from .problems.estimation.estimate import Estimate
from .problems.estimation.noise import Huber, Student
from .problems.estimation.noise_levels import most_likely_noise
from .problems.estimation.prior import Prior
from .problems.estimation.problem import Estimation
from .problems.estimation.sensors import (
    Accelerometer,
    DirectionSensor,
    FormulaSensor,
    Gyroscope,
    JointSensor,
    Marker,
    OrientationSensor,
    PointVelocity,
    ReactionSensor,
)
from .problems.estimation.start_prior import StatePrior
from .problems.initial.drivers import Checkpoint
from .problems.initial.global_driver import Global, Windows
from .problems.initial.march_driver import March
from .problems.initial.problem import InitialValueProblem
from .problems.inverse.problem import InverseDynamics
from .problems.optimal.guesses.guess import Guess
from .problems.optimal.problem import OptimalControl
from .problems.optimal.statement.complementarity import Complementary, CoulombFriction, SpringContact
from .problems.optimal.statement.couplings import Coupling
from .problems.optimal.statement.limits import Limit
from .problems.phases.problem import PhasedSolution, Phases
from .problems.static import Equilibrium, StaticPath, equilibrium, equilibrium_path
from .problems.targets import EndState
from .sensitivity import (
    Bound,
    EndValue,
    Family,
    Final,
    Initial,
    InPhase,
    Integral,
    Linearization,
    Measurement,
    Objective,
    OptimumLinearization,
    Parameter,
    Peak,
    UnknownNumber,
    Values,
    gradient,
    identify,
    sensitivities,
)
from .solution.output.save import load
from .solution.solution import Solution
from .solvers.interior_point.algorithm import InteriorPoint
from .solvers.linear.base import Cholmod, SuperLU
from .solvers.linear.petsc import PETSc
from .solvers.linear.time_chain.solver import TimeChain
from .solvers.march.step_control import MarchOptions, StepControl
from .solvers.nonlinear.fatrop import Fatrop
from .solvers.nonlinear.ipopt import Ipopt
from .solvers.nonlinear.newton import Newton
from .solvers.nonlinear.options import InteriorPointOptions
from .solving.many_solutions import contact_sequences, continuation, solve_all
from .solving.receding import RecedingHorizon
from .solving.solve import prepare, restart, solve

__version__: str

__all__ = [
    "Complementary", "CoulombFriction", "Coupling", "PhasedSolution", "Phases", "SpringContact",
    "BoundaryValueProblem", "EndState", "contact_sequences", "continuation", "solve_all",
    "BubnovGalerkin", "CanonicalState", "Constraint", "Cylindrical", "ElementBatch", "Fatrop", "FixedPoint", "Gravity",
    "ActiveSetChange", "IllConditioned", "NotAsked", "NotDifferentiable", "NotSolved", "OpenJoint", "OtherSide",
    "SuspectUnits", "Undetermined", "UnderResolved", "Unstable",
    "InitialValueProblem", "Ipopt", "InputError",
    "InteriorPoint", "InteriorPointOptions", "LagrangeBasis", "Limit", "MarchOptions", "MassProperties",
    "MissingBackend", "MixedGalerkin", "Newton", "Part", "Planar", "PointMass", "Pose", "PrescribedAngle",
    "PrescribedPosition", "Prismatic",
    "RankError", "Revolute", "RigidBody", "RigidDistance", "Solution", "SolveError", "Spherical", "StepControl",
    "System", "TimeElement", "TimeMesh", "Universal", "Weld", "assemble", "constant_momenta", "describe",
    "gauss_legendre", "load", "prepare",
    "redundant_constraints", "restart", "solve", "studies",
    # drivers
    "Checkpoint", "Global", "March", "Windows",
    # linear solvers
    "Cholmod", "PETSc", "SuperLU", "TimeChain",
    # forces and functions of time
    "Constant", "Damper", "Force", "Formula", "NonlinearSpring", "Ramp", "RayleighDissipation", "RotationalSpring",
    "Sine", "Spring", "Step", "Table", "TimeFunction", "Torque", "TorsionalDamper", "TorsionalSpring", "TrianglePulse",
    # on coordinates of joints
    "BearingFriction", "EndStop", "JointControl", "JointDamper", "JointForce", "JointFriction", "JointOutput",
    "JointSpring", "Motor", "PDControl", "PrescribedJoint",
    # drives, contacts, feedback
    "Controller", "Drag", "FormulaForce", "LengthControl", "SampledController", "SlackRope", "Thruster", "Tyre",
    "BoxContact", "BoxPairContact", "DiscContact", "EdgeContact", "EllipsoidContact", "FormulaContact", "PlaneContact",
    "RimContact", "SphereContact", "SurfaceContact", "Tether",
    # one-step schemes
    "DLA", "EMH", "EML", "MPH", "MPL", "REML", "AlgoC1", "DirEM", "NewmarkSO3", "NonTwistingEM", "NullEMH", "NullEML",
    "QuatVI", "SymplecticEuler", "Zupan3", "Zupan3Printed",
    # nonholonomic constraints
    "KnifeEdge", "NonTwisting", "NonholonomicConstraint", "RollingDisc", "RollingSphere",
    # sensitivities
    "Bound", "EndValue", "Family", "Final", "InPhase", "Initial", "Integral", "Linearization", "Measurement",
    "Objective", "OptimumLinearization", "Parameter", "Peak", "UnknownNumber", "Values",
    "gradient", "identify", "sensitivities",
    # analysis around a state or a motion
    "CriticalValue", "Floquet", "LinearModel", "Lyapunov", "Mode", "Modes", "Periodic", "RootLocus", "Symmetry",
    "Conditioning", "MultiplierRank", "conditioning", "multiplier_rank",
    "critical_values", "floquet", "linearize", "lyapunov", "modes", "periodic", "root_locus",
    # beams and ropes, statics
    "Beam", "Curve", "Equilibrium", "Line", "LineForce", "LineTorque", "Rope", "RopeSection", "Section", "StaticPath",
    "equilibrium", "equilibrium_path",
    # systems by formulas
    "Coordinates", "GeneralizedBody", "GeneralizedSystem", "from_sympy",
    # states of first order, and ports
    "Control", "State", "StateRate", "VariableMass",
    "FormulaEnergy", "Port", "PortConnection", "PortSystem", "connect",
    # inverse dynamics
    "AngleOutput", "ControlForce", "ControlTorque", "CoordinateOutput", "FormulaOutput", "GeneralizedControl",
    "InverseDynamics", "OrientationOutput", "Polynomial", "PositionOutput", "Spline", "Transfer", "pose_outputs",
    # trees and robots, model files
    "Link", "Robot", "Tree", "TreeJoint", "load_model", "read_mjcf", "read_urdf",
    # measured motions
    "MarkerData", "MotionTable", "OsimModel", "read_c3d", "read_csv", "read_mot", "read_osim", "read_trc",
    # estimation
    "Accelerometer", "DirectionSensor", "Estimate", "Estimation", "FormulaSensor", "Gyroscope", "Huber", "JointSensor",
    "Marker", "OrientationSensor", "PointVelocity", "Prior", "ReactionSensor", "StatePrior", "Student",
    "most_likely_noise",
    # optimal control
    "Cost", "Effort", "Guess", "OptimalControl", "RecedingHorizon", "Simulation", "simulate",
]
