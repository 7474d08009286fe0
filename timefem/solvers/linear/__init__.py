"""Linear backends, one per module."""

from .base import BACKENDS, LinearSolver, check_backend, make_linear_solver

__all__ = ["BACKENDS", "LinearSolver", "check_backend", "make_linear_solver"]
