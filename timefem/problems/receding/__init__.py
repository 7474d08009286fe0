"""Horizons that move on."""
