"""Least squares over the motions of a chain of elements, with the equations of motion as side conditions."""
