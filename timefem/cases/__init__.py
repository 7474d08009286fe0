"""Standard problems with known answers, by name."""

from .table import CASES, Case, find_case

__all__ = ["CASES", "Case", "find_case"]
