"""Symmetric indefinite factors of chains of blocks, with the inertia."""
