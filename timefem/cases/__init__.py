"""Standard problems with known answers, by name."""

from . import mechanisms  # noqa: F401  enters its cases
from .cases import CASES, Case, find_case

__all__ = ["CASES", "Case", "find_case"]
