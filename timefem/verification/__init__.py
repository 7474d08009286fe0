"""An atlas of outside truth: motions that others have solved, their numbers, and ours."""

from . import library, newton_euler, test_set  # noqa: F401  they add their entries
from .entry import ENTRIES, Entry, Outcome, find_entries, run_entry, write_page

__all__ = ["ENTRIES", "Entry", "Outcome", "find_entries", "run_entry", "write_page"]
