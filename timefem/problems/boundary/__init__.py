"""Boundary-value problems."""
