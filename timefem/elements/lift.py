"""Lifted gradients: energy, momenta and constraints together, with k Gauss points.

A function of a part is stated as `W(e(z), t)`, e at most quadratic in z = (q, p). In an element of degree k

`e'_s = e_z(z_s) z'_s` at its Gauss points, `e(t) = e(z_0) + h sum_s a_s(t) e'_s`, `a_s` the integrals of their Lagrange
polynomials, and `DW = P W_e(e(t)) e_z(z)`, P the projection on polynomials of degree k - 1,

takes the place of the gradient. `e_z z'` has degree 2k - 1, which k points integrate: e(t) ends at e(z_1), and
`sum_g w_g h DW_g z'_g = int P W_e e' = int W_e e'` is the change of W, up to the quadrature of the last integral, which
is exact for polynomials. With k points any momentum that Poisson-commutes with e is kept as well.
"""

import math

import casadi as ca
import numpy as np

from ..mechanics.formula import polynomial_degree
from ..polynomials import LagrangeBasis, gauss_legendre

FURTHER = 6  # points beyond 2k of W that is no polynomial: round-off on meshes that resolve the motion (2: 1e-9)


class Lift:
    """One function `W(e(z), t)` of a part along an element.

    Parameters
    ----------
    s : ElementSymbols
        With slots ("state", i) for all nodes.
    lift : callable
        `lift(z)` gives e, SX (n_e,); None: z itself.
    function : callable
        `function(e, t)` gives W, SX (n,).
    places : sequence of int, optional
        The components of the state that are seen, z; all unless given.

    Attributes
    ----------
    slope : SX, shape (n, n_e)
        `P W_e` at the quadrature point.
    by_time : SX, shape (n,)
        `P W_t` there.
    """

    def __init__(self, s, lift, function, places=None):
        self._places = list(range(s.slots["state", 0].numel()) if places is None else places)
        self._x = ca.SX.sym("x", len(self._places))
        self._e = self._x if lift is None else ca.SX(lift(self._x))
        self._at, self._rate = (s.slots["state", where][self._places] for where in ("value", "rate"))
        y, t = ca.SX.sym("e", self._e.numel()), ca.SX.sym("t")
        w = ca.densify(ca.SX(function(y, t)))
        self._arguments = y, t, s.parameters
        self.slope, self.by_time = self._projected(s, w)

    def force(self, weights):
        """`e_z^T (P W_e)^T weights` at the quadrature point, SX (n_z,)."""
        row = ca.jtimes(self._e, self._x, self.slope.T @ weights, True)
        return ca.substitute(row, self._x, self._at)

    @property
    def rate(self):
        """`P W_e e_z z' + P W_t` at the quadrature point, SX (n,)."""
        rate = ca.substitute(ca.jtimes(self._e, self._x, self._rate), self._x, self._at)
        return self.slope @ rate + self.by_time

    def _projected(self, s, w):
        """The projections of `W_e` and `W_t`; of rows that are at most quadratic their values at the Gauss points."""
        y, t, _ = self._arguments
        slope, by_time = ca.jacobian(w, y), ca.jacobian(w, t)
        degrees = [math.inf if ca.depends_on(slope[i, :], t) else polynomial_degree(w[i], y)
                   for i in range(w.numel())]
        low, high = ([i for i, d in enumerate(degrees) if (d <= 2) == is_low] for is_low in (True, False))
        direct, mean = ca.SX(*slope.shape), ca.SX(*slope.shape)
        if low:
            direct[low, :] = slope[low, :]
        if high:
            mean[high, :] = slope[high, :]
        most = max([degrees[i] for i in high], default=math.inf)
        return self._at_point(s, direct) + self._mean(s, mean, most), self._mean(s, by_time, math.inf)

    def _at_point(self, s, values):
        """Expressions of e at the quadrature point."""
        if not values.nnz():
            return values
        weights = [_integral(self._points(s), i, s.xi) for i in range(s.element.degree)]
        return ca.Function("values", self._arguments, [values])(self._along(s, [weights])[0], s.t, s.parameters)

    def _mean(self, s, values, degree):
        """Projection of expressions of e and t, derivatives of functions of this degree."""
        if not values.nnz():
            return values
        k, points = s.element.degree, self._points(s)
        places, gauss = gauss_legendre(2 * k + FURTHER if math.isinf(degree) else math.ceil(degree * k / 2))
        weights = [[_integral(points, i, x) for i in range(k)] for x in places.tolist()]
        at = ca.Function("values", self._arguments, [values])
        return sum(w * _projector(points, x, s.xi) * at(e, s.t + (x - s.xi) * s.h, s.parameters)
                   for x, w, e in zip(places.tolist(), gauss.tolist(), self._along(s, weights), strict=True))

    @staticmethod
    def _points(s):
        return LagrangeBasis(s.element.degree - 1, "gauss").points

    def _along(self, s, weights):
        """e at some places of the element, by the integrals of the Lagrange polynomials up to them: list of SX."""
        basis, points, r = s.element.state.basis, self._points(s), ca.SX.sym("r", self._x.numel())
        nodal = [s.slots["state", i][self._places] for i in range(s.element.degree + 1)]
        e = ca.Function("e", [self._x, s.parameters], [self._e])
        change = ca.Function("change", [self._x, r, s.parameters], [ca.jtimes(self._e, self._x, r)])
        tables = zip(basis.values(points).tolist(), basis.derivatives(points).tolist(), strict=True)
        rates = [change(_sum(shapes, nodal), _sum(slopes, nodal), s.parameters) for shapes, slopes in tables]
        start = e(nodal[0], s.parameters)
        return [start + _sum(row, rates) for row in weights]


def _sum(weights, values):
    return sum(w * v for w, v in zip(weights, values, strict=True))


def _lagrange(points, i):
    """The Lagrange polynomial of place i."""
    others = np.delete(points, i)
    polynomial = np.polynomial.Polynomial.fromroots(others) if len(others) else np.polynomial.Polynomial([1.0])
    return polynomial / np.prod(points[i] - others)


def _value(polynomial, x):
    """Value of a polynomial at a number or symbol."""
    return sum(c * x**m for m, c in enumerate(polynomial.coef.tolist()) if c)


def _integral(points, i, x):
    """Integral from 0 to x of the Lagrange polynomial of place i."""
    return _value(_lagrange(points, i).integ(), x)


def _projector(points, place, xi):
    """Kernel of the projection on the polynomials through Gauss points: `sum_i l_i(place) l_i(xi) / w_i`."""
    _, w = gauss_legendre(len(points))
    polynomials = [_lagrange(points, i) for i in range(len(points))]
    return sum(float(p(place)) / float(weight) * _value(p, xi) for p, weight in zip(polynomials, w, strict=True))
