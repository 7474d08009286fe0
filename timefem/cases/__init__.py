"""Standard problems with known answers, by name."""

from .cases import CASES, Case, find_case

__all__ = ["CASES", "Case", "find_case"]
