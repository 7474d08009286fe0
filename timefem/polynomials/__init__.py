"""Shape functions and quadrature on the reference interval [0, 1], for time and along beams."""

from .basis import NODES, LagrangeBasis
from .quadrature import gauss_legendre

__all__ = ["NODES", "LagrangeBasis", "gauss_legendre"]
