"""Meshes refined for a tolerance."""
