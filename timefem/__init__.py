"""timefem: sparse finite elements in time for mechanics."""

from . import studies
from .assembly import TimeMesh
from .elements import BubnovGalerkin, ElementBatch, LagrangeBasis, MixedGalerkin, TimeElement, gauss_legendre
from .errors import IllConditioned, InputError, MissingBackend, RankError, SolveError
from .mechanics import (
    CanonicalState,
    Constant,
    Constraint,
    Coordinates,
    Cylindrical,
    Damper,
    FixedPoint,
    Force,
    Formula,
    GeneralizedBody,
    GeneralizedSystem,
    Gravity,
    MassProperties,
    NonlinearSpring,
    Planar,
    PointMass,
    Pose,
    PrescribedAngle,
    PrescribedPosition,
    Prismatic,
    Ramp,
    RayleighDissipation,
    Revolute,
    RigidBody,
    RigidDistance,
    RotationalSpring,
    Sine,
    Spherical,
    Spring,
    Step,
    System,
    Table,
    TimeFunction,
    Torque,
    TorsionalDamper,
    TorsionalSpring,
    TrianglePulse,
    Universal,
    Weld,
    from_sympy,
)
from .mechanics.redundancy import redundant_constraints
from .problems import InitialValueProblem, assemble
from .solution import Solution, load
from .solvers.newton import Newton
from .solving import restart, solve

__version__ = "0.1.0"

__all__ = [
    "BubnovGalerkin", "CanonicalState", "Constraint", "Cylindrical", "ElementBatch", "FixedPoint", "Gravity",
    "IllConditioned", "InitialValueProblem", "InputError", "LagrangeBasis", "MassProperties", "MissingBackend",
    "MixedGalerkin", "Newton", "Planar", "PointMass", "Pose", "PrescribedAngle", "PrescribedPosition", "Prismatic",
    "RankError", "Revolute", "RigidBody", "RigidDistance", "Solution", "SolveError", "Spherical", "System", "TimeElement",
    "TimeMesh", "Universal", "Weld", "assemble", "gauss_legendre", "load", "redundant_constraints", "restart", "solve", "studies",
    # forces and functions of time
    "Constant", "Damper", "Force", "Formula", "NonlinearSpring", "Ramp", "RayleighDissipation", "RotationalSpring",
    "Sine", "Spring", "Step", "Table", "TimeFunction", "Torque", "TorsionalDamper", "TorsionalSpring", "TrianglePulse",
    # systems by formulas
    "Coordinates", "GeneralizedBody", "GeneralizedSystem", "from_sympy",
]
