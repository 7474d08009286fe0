"""Lagrange shape functions on the reference element [0, 1], May & Betsch (20)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import validate
from ..argument_names import NamedArguments
from .quadrature import gauss_legendre

NODES = ("equidistant", "lobatto")  # with nodes at both ends


@dataclass(frozen=True)
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
