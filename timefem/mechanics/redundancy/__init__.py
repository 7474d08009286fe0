"""Constraints that repeat others, and multipliers that are consistent with a state."""
