"""Gauss-Legendre quadrature on the reference element [0, 1]."""

from functools import lru_cache

import numpy as np

from .. import validate


@lru_cache
def gauss_legendre(n_points):
    """Points and weights, shape (n_points,) each; exact for polynomials of degree `2 n_points - 1`."""
    x, w = np.polynomial.legendre.leggauss(validate.integer("n_points", n_points, minimum=1))
    x, w = (x + 1) / 2, w / 2
    x.flags.writeable = w.flags.writeable = False
    return x, w
