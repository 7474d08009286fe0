"""Residuals and tangents of time elements: numbering, kernels at points, loops over elements."""
