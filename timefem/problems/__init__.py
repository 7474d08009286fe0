"""What is asked: data only."""

from ..mechanics.consistent_state import assemble
from .boundary.problem import BoundaryValueProblem
from .initial.problem import InitialValueProblem
from .inverse.problem import InverseDynamics
from .optimal.couplings import Coupling
from .optimal.limits import Complementary, Limit
from .optimal.problem import OptimalControl
from .phases.problem import Phases

__all__ = ["BoundaryValueProblem", "Complementary", "Coupling", "InitialValueProblem", "InverseDynamics", "Limit",
           "OptimalControl", "Phases", "assemble"]
