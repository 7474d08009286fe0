"""Tangents of all elements at once: their condition numbers, the rank of their multipliers."""
