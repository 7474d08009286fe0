"""Shape and test functions of Livens' forms on the reference element [0, 1]."""

from dataclasses import dataclass

import numpy as np

from ...polynomials import LagrangeBasis, gauss_legendre


@dataclass(frozen=True)
class EndingTests:
    """Tests of the discrete action: the Lagrange polynomials psi_j of degree k that vanish at the end, j < k.

    `derivatives` are those of psi_j; `values` are those of their projections on polynomials of degree k - 1, which are
    their interpolations at k Gauss points.
    """

    degree: int
    nodes: str = "equidistant"

    @property
    def n_shapes(self):
        return self.degree

    def values(self, xi):
        gauss, basis = LagrangeBasis(self.degree - 1, "gauss"), LagrangeBasis(self.degree, self.nodes)
        return gauss.values(xi) @ basis.values(gauss.points)[:, :-1]

    def derivatives(self, xi):
        return LagrangeBasis(self.degree, self.nodes).derivatives(xi)[:, :-1]


@dataclass(frozen=True)
class ActionTests(EndingTests):
    """`EndingTests`, and behind them the tests of the momenta at the nodes but the first, times minus one.

    The latter are one up to their node, and zero behind. Their `values` are those of projections on polynomials of
    degree k - 1: the integral of such a polynomial times them is its integral up to the node. Their `derivatives` are
    zero: differences of momenta stand as they are, tested by the number of the test.
    """

    @property
    def n_shapes(self):
        return 2 * self.degree

    def values(self, xi):
        gauss = LagrangeBasis(self.degree - 1, "gauss")
        x, w = gauss_legendre(self.degree)
        ends = LagrangeBasis(self.degree, self.nodes).points[1:]
        integrals = [end * (w @ gauss.values(end * x)) / w for end in ends]  # of polynomials at Gauss points, up to it
        return np.hstack([super().values(xi), -gauss.values(xi) @ np.transpose(integrals)])

    def derivatives(self, xi):
        of_motion = super().derivatives(xi)
        return np.hstack([of_motion, np.zeros_like(of_motion)])


@dataclass(frozen=True)
class ImpulseBasis:
    """Polynomials of degree k - 1 through k Gauss points; with `end` the one that is one at the end.

    `derivatives` are those of the polynomial of degree k + 1 that is zero at the start and passes through the values
    at the Gauss points and at the end.
    """

    degree: int
    end: bool = False

    @property
    def n_shapes(self):
        return 1 if self.end else self.degree

    @property
    def points(self):
        return np.ones(1) if self.end else LagrangeBasis(self.degree - 1, "gauss").points

    def values(self, xi):
        return np.ones((len(xi), 1)) if self.end else LagrangeBasis(self.degree - 1, "gauss").values(xi)

    def derivatives(self, xi):
        places = np.concatenate([[0.0], LagrangeBasis(self.degree - 1, "gauss").points, [1.0]])
        slopes = np.stack([_slope(places, i, np.asarray(xi, float)) for i in range(1, len(places))], axis=1)
        return slopes[:, -1:] if self.end else slopes[:, :-1]


def impulse_slopes(degree, xi):
    """Derivatives at xi, a symbol, of the polynomials of degree k + 1 that are one at the start, and at the end, and
    zero at the other end and at the Gauss points."""
    places = np.concatenate([[0.0], LagrangeBasis(degree - 1, "gauss").points, [1.0]])
    return [_slope(places, i, xi) for i in (0, len(places) - 1)]


def _slope(places, i, xi):
    """Derivative of the Lagrange polynomial of place i."""
    others = np.delete(places, i)
    polynomial = np.polynomial.Polynomial.fromroots(others) / np.prod(places[i] - others)
    return polynomial.deriv()(xi)


def inner_velocities(degree, nodes):
    """Velocities at the inner nodes from coordinates and the velocities at the ends.

    The polynomial u of degree k that has the velocities at both ends, and whose moments up to degree k - 2 are those of
    qdot: accurate to h^(k + 1), where qdot itself is to h^k.

    Returns
    -------
    of_coordinates, of_ends : ndarray, shapes (k - 1, k + 1), (k - 1, 2)
        `u_i = of_coordinates q / h + of_ends (u_0, u_k)`.
    """
    basis, (x, w) = LagrangeBasis(degree, nodes), gauss_legendre(degree)
    moments = np.polynomial.legendre.legvander(2 * x - 1, degree - 1)[:, :degree - 1].T * w
    shapes, slopes = moments @ basis.values(x), moments @ basis.derivatives(x)
    inner, ends = shapes[:, 1:-1], shapes[:, [0, -1]]
    return np.linalg.solve(inner, slopes), -np.linalg.solve(inner, ends)
