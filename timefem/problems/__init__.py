"""What is asked: data only."""

from ..mechanics.consistent_state import assemble
from .boundary.problem import BoundaryValueProblem
from .initial.problem import InitialValueProblem
from .inverse.problem import InverseDynamics
from .optimal.complementarity import Complementary, CoulombFriction
from .optimal.couplings import Coupling
from .optimal.limits import Limit
from .optimal.problem import OptimalControl
from .optimal.spring_contact import SpringContact
from .phases.problem import Phases

__all__ = ["BoundaryValueProblem", "Complementary", "CoulombFriction", "Coupling", "InitialValueProblem",
           "InverseDynamics", "Limit", "OptimalControl", "Phases", "SpringContact", "assemble"]
