"""What is asked: data only."""

from .initial_state import assemble
from .initial_value import InitialValueProblem

__all__ = ["InitialValueProblem", "assemble"]
