"""Fields in time, invariants, files and plots."""

from .solution import Solution

__all__ = ["Solution"]
