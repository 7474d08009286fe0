"""Motions that the controls of a solution make."""
