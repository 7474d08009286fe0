"""Optimal control."""
