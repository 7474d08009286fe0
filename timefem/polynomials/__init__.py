"""Shape functions and quadrature on the reference interval [0, 1], for time and along beams; splines."""

from .basis import NODES, LagrangeBasis
from .cubic_spline import CubicSpline
from .quadrature import gauss_legendre

__all__ = ["NODES", "CubicSpline", "LagrangeBasis", "gauss_legendre"]
