"""Polynomials on an interval: Lagrange bases, quadrature, cubic splines."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from . import validate
from .errors import NamedArguments, named_arguments
from .records import frozen

NODES = ("equidistant", "lobatto")  # with nodes at both ends


@frozen
class LagrangeBasis(NamedArguments):
    """Lagrange polynomials of one degree.

    Parameters
    ----------
    degree : int
        At least 0; degree 0 has its one node at 1/2.
    nodes : {"equidistant", "lobatto", "gauss"}
        Equidistant, or Gauss-Lobatto points (better conditioned from degree 4 on); Gauss points, for fields that are
        discontinuous.
    """

    degree: int
    nodes: str = "equidistant"

    def __post_init__(self):
        validate.integer("degree", self.degree, minimum=0)
        validate.choice("nodes", self.nodes, (*NODES, "gauss"))

    @property
    def n_shapes(self) -> int:
        return self.degree + 1

    @cached_property
    def points(self) -> np.ndarray:
        """Nodes xi_I in [0, 1], shape (n_shapes,)."""
        return self._exact_points.astype(float)

    @cached_property
    def _exact_points(self):
        """Nodes with the digits beyond double precision, see `gauss_legendre`."""
        if self.degree == 0:
            return np.array([0.5], np.longdouble)
        if self.nodes == "equidistant":
            return np.arange(self.degree + 1, dtype=np.longdouble) / self.degree
        if self.nodes == "gauss":
            return gauss_legendre(self.n_shapes, np.longdouble)[0]
        inner = np.polynomial.legendre.Legendre.basis(self.degree).deriv().roots().real
        return (np.concatenate([[-1.0], np.sort(inner), [1.0]]).astype(np.longdouble) + 1) / 2

    def values(self, xi: np.ndarray) -> np.ndarray:
        """Shape functions N_I(xi), shape (n,) -> (n, n_shapes)."""
        return self._exact_values(xi).astype(float)

    def _exact_values(self, xi):
        points = self._exact_points
        d = np.asarray(xi, np.longdouble)[:, None] - points
        gaps = points[:, None] - points
        keep = ~np.eye(self.n_shapes, dtype=bool)
        return np.stack([np.prod(d[:, keep[i]] / gaps[i, keep[i]], axis=1) for i in range(self.n_shapes)], axis=1)

    def derivatives(self, xi: np.ndarray) -> np.ndarray:
        """dN_I/dxi, shape (n,) -> (n, n_shapes)."""
        return (self._exact_values(xi) @ self.differentiation).astype(float)

    @cached_property
    def differentiation(self) -> np.ndarray:
        """D[J, I] = N_I'(xi_J), by the barycentric formula, shape (n_shapes, n_shapes)."""
        gaps = self._exact_points[:, None] - self._exact_points + np.eye(self.n_shapes)
        weights = 1 / np.prod(gaps, axis=1)
        matrix = weights[None, :] / weights[:, None] / gaps
        np.fill_diagonal(matrix, 0)
        np.fill_diagonal(matrix, -matrix.sum(axis=1))
        return matrix


# ---- Gauss-Legendre quadrature on the reference element [0, 1]

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


# ---- cubic splines through tables, of guesses

class CubicSpline:
    """The interpolating cubic spline, twice continuously differentiable.

    As SciPy's with its "not-a-knot" or given derivatives at the ends: to import `scipy.interpolate` takes 0.4 s, more
    than most first solves that need no more than this.

    Parameters
    ----------
    times : array_like, shape (n,)
        Increasing, at least two.
    values : array_like, shape (n, m)
    rates : array_like, shape (2, m), optional
        Derivatives at both ends. Default: the third derivative is continuous at the second time and at the last but
        one; of up to three times the polynomial through all.
    """

    def __init__(self, times, values, rates=None):
        self.times, self.values = np.asarray(times, float), np.asarray(values, float)
        n, h = len(self.times), np.diff(self.times)
        slopes = np.diff(self.values, axis=0) / h[:, None]
        if rates is None and n < 4:
            power = np.polynomial.polynomial
            all_through = power.polyfit(self.times - self.times[0], self.values, n - 1)
            self.rates = power.polyval(self.times - self.times[0], power.polyder(all_through)).T
            return
        matrix, right, inner = np.zeros((n, n)), np.empty_like(self.values), np.arange(1, n - 1)
        matrix[inner, inner - 1], matrix[inner, inner + 1] = h[1:], h[:-1]
        matrix[inner, inner] = 2 * (h[:-1] + h[1:])
        right[1:-1] = 3 * (h[1:, None] * slopes[:-1] + h[:-1, None] * slopes[1:])
        if rates is not None:
            matrix[0, 0] = matrix[-1, -1] = 1.0
            right[[0, -1]] = rates
        else:
            for end, (one, two), (first, second) in ((0, h[:2], slopes[:2]), (-1, h[:-3:-1], slopes[:-3:-1])):
                both = one + two
                matrix[end, [end, 1 if end == 0 else -2]] = two, both
                right[end] = ((one + 2 * both) * two * first + one**2 * second) / both
        self.rates = np.linalg.solve(matrix, right)

    def __call__(self, t, derivative=0):
        """Values, or first derivatives, at times (k,), shape (k, m); beyond the ends the polynomials there go on."""
        t = np.asarray(t, float)
        i = np.clip(np.searchsorted(self.times, t, "right") - 1, 0, len(self.times) - 2)
        h = (self.times[i + 1] - self.times[i])[:, None]
        x, (a, b), (u, v) = (t - self.times[i])[:, None] / h, self.values[[i, i + 1]], self.rates[[i, i + 1]] * h
        if derivative:
            return (6 * x * (1 - x) * (b - a) + (1 - x) * (1 - 3 * x) * u + x * (3 * x - 2) * v) / h
        return a + x**2 * (3 - 2 * x) * (b - a) + x * (1 - x) * ((1 - x) * u - x * v)
