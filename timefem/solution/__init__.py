"""Fields in time, invariants, files and plots."""

from .files import check_writable, load, save
from .solution import Solution

__all__ = ["Solution", "check_writable", "load", "save"]
