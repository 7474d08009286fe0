"""Gauss-Legendre quadrature on the reference element [0, 1]."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import validate
from ..argument_names import named_arguments


@named_arguments
@lru_cache
def gauss_legendre(n_points: int, dtype: Any = float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights, shape (n_points,) each; exact for polynomials of degree `2 n_points - 1`.

    `dtype=numpy.longdouble` keeps the digits beyond double precision. The tables of the elements are made with them:
    their rounding errors repeat in every element and show as a drift of the energy.

    Parameters
    ----------
    n_points : int
        At least 1.
    dtype : type
        Of the numbers.

    Returns
    -------
    x, w : ndarray, shape (n_points,)
        Points in [0, 1], and weights, whose sum is 1.
    """
    x, _ = np.polynomial.legendre.leggauss(validate.integer("n_points", n_points, minimum=1))
    x = x.astype(np.longdouble)
    for _ in range(2):  # Newton's method in the longer precision
        value, slope = _legendre(n_points, x)
        x = x - value / slope
    value, slope = _legendre(n_points, x)
    w = 1 / ((1 - x * x) * slope**2)
    x = ((x + 1) / 2).astype(dtype)
    w = w.astype(dtype)
    x.flags.writeable = w.flags.writeable = False
    return x, w


def _legendre(n, x):
    """Legendre polynomial of degree n and its derivative, by the three-term recurrence, at -1 < x < 1."""
    before, value = np.ones_like(x), x
    for m in range(2, n + 1):
        before, value = value, ((2 * m - 1) * x * value - (m - 1) * before) / m
    return value, n * (x * value - before) / (x * x - 1)
