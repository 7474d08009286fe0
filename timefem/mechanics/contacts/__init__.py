"""Rigid contact: gaps that do not become negative, and the slip of what touches."""
