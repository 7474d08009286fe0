"""Fields in time, invariants, files and plots."""

from ..atomic_write import check_writable
from .output.load import load
from .output.save import save
from .solution import Solution

__all__ = ["Solution", "check_writable", "load", "save"]
