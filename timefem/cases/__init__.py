"""Standard problems with known answers, by name."""

from . import benchmarks, formulas, mechanisms, nonholonomic, rotations  # noqa: F401  enter their cases
from .cases import CASES, Case, find_case

__all__ = ["CASES", "Case", "find_case"]
