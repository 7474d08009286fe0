"""timefem: sparse finite elements in time for mechanics."""

from .assembly import TimeMesh
from .elements import BubnovGalerkin, ElementBatch, LagrangeBasis, MixedGalerkin, TimeElement, gauss_legendre
from .errors import InputError, MissingBackend, SolveError
from .mechanics import CanonicalState, FixedPoint, Gravity, Pose, RigidBody, System
from .problems import InitialValueProblem
from .solution import Solution, load
from .solvers.newton import Newton
from .solving import solve

__version__ = "0.1.0"

__all__ = [
    "BubnovGalerkin", "CanonicalState", "ElementBatch", "FixedPoint", "Gravity", "InitialValueProblem", "InputError",
    "LagrangeBasis", "MissingBackend", "MixedGalerkin", "Newton", "Pose", "RigidBody", "Solution", "SolveError",
    "System", "TimeElement", "TimeMesh", "gauss_legendre", "load", "solve",
]
