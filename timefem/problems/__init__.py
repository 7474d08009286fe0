"""What is asked: data only."""

from .boundary.problem import BoundaryValueProblem
from .initial.consistent_state import assemble
from .initial.problem import InitialValueProblem
from .inverse.problem import InverseDynamics
from .optimal.limits import Limit
from .optimal.problem import OptimalControl

__all__ = ["BoundaryValueProblem", "InitialValueProblem", "InverseDynamics", "Limit", "OptimalControl", "assemble"]
