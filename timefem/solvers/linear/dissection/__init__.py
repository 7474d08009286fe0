"""Sparse LU by nested dissection of space and time, for systems that are wide in space."""
