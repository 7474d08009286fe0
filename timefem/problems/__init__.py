"""What is asked: data only."""

from .boundary import BoundaryValueProblem
from .initial_state import assemble
from .initial_value import InitialValueProblem
from .inverse_dynamics import InverseDynamics
from .optimal_control import OptimalControl

__all__ = ["BoundaryValueProblem", "InitialValueProblem", "InverseDynamics", "OptimalControl", "assemble"]
