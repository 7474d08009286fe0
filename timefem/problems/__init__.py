"""What is asked: data only."""

from .initial_value import InitialValueProblem

__all__ = ["InitialValueProblem"]
