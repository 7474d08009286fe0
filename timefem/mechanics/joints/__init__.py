"""Joints: constraints between bodies and the ground."""
