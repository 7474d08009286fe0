"""Optimal control in several phases."""
