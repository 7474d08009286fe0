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

from ..mechanics.formulas.formula import polynomial_degree
from ..polynomials import gauss_legendre
from .along import Along, Inner, Mean, gauss_points, lagrange, value

FURTHER = 6  # points beyond 2k of W that is not a polynomial: round-off on meshes that resolve the motion (2: 1e-9)


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
    """

    def __init__(self, s, lift, function, places=None):
        self._s, self._places = s, list(range(s.slots["state", 0].numel()) if places is None else places)
        self._x, self._start = ca.SX.sym("x", len(self._places)), s.slots["state", 0][self._places]
        self._e = self._x if lift is None else self._smooth(ca.SX(lift(self._x)))
        self._at, self._rate = (s.slots["state", where][self._places] for where in ("value", "rate"))
        y, t = ca.SX.sym("e", self._e.numel()), ca.SX.sym("t")
        w = ca.densify(ca.SX(function(y, t)))
        self._arguments = y, t, s.parameters
        self._project(w)

    def _smooth(self, e):
        """e with the pieces of what is linear by pieces, signs of quaternions, chosen at the start of the element."""
        slope, x = ca.sparsify(ca.jacobian(e, self._x)), self._x
        curved = {i % e.numel() for i in ca.sparsify(ca.jacobian(ca.vec(slope), x)).row()}
        for i in sorted(set(range(e.numel())) - curved):
            if ca.depends_on(slope[i, :], x):
                at_zero = ca.substitute(e[i], x, ca.SX.zeros(x.numel()))
                e[i] = ca.substitute(slope[i, :], x, self._start) @ x + at_zero
        return e

    def gradient(self, weights):
        """`(P W_e)^T weights` at the quadrature point, SX (n_e,)."""
        return self._direct.T @ weights + self._projected(self._mean.T @ weights, is_gradient=True)

    def force(self, weights):
        """`e_z^T (P W_e)^T weights` at the quadrature point, SX (n_z,)."""
        row = ca.jtimes(self._e, self._x, self.gradient(weights), True)
        return ca.substitute(row, self._x, self._at)

    @property
    def rate(self):
        """`P W_e e_z z' + P W_t` at the quadrature point, SX (n,)."""
        rate = ca.substitute(ca.jtimes(self._e, self._x, self._rate), self._x, self._at)
        return self._direct @ rate + self._projected(self._mean @ rate + self._by_time)

    def _project(self, w):
        """The projections of `W_e` and `W_t`; of rows that are at most quadratic their values at the Gauss points."""
        y, t, _ = self._arguments
        slope, by_time = ca.jacobian(w, y), ca.jacobian(w, t)
        degrees = [math.inf if by_time[i].nnz() else polynomial_degree(w[i], y) for i in range(w.numel())]
        low, high = ([i for i, d in enumerate(degrees) if (d <= 2) == is_low] for is_low in (True, False))
        direct, mean = ca.SX(*slope.shape), ca.SX(*slope.shape)
        if low:
            direct[low, :] = slope[low, :]
        if high:
            mean[high, :] = slope[high, :]
        self._direct, self._mean, self._by_time = self._at_point(direct), mean, by_time
        self._most = max([degrees[i] for i in high], default=0)
        if high:
            k = self._s.element.degree
            n = 2 * k + FURTHER if math.isinf(self._most) else math.ceil(self._most * k / 2)
            self._seen = [i for i in range(y.numel()) if ca.depends_on(ca.horzcat(mean, by_time), y[i])]
            self._quadrature = [x.tolist() for x in gauss_legendre(n)]
            self._along = self._inner(self._seen, self._quadrature[0])

    def _at_point(self, values):
        """Expressions of e at the quadrature point: of what is linear in z at the state there."""
        if not values.nnz():
            return values
        e = ca.substitute(self._e, self._x, self._at)
        curved = [i for i in range(e.numel()) if polynomial_degree(self._e[i], self._x) > 1]
        curved = [i for i in curved if ca.depends_on(values, self._arguments[0][i])]
        if curved:
            inner = self._inner(curved, [self._s.xi])
            self._s.inner.append(inner)
            e[curved] = inner.symbols[0]
        return ca.Function("values", self._arguments, [values])(e, self._s.t, self._s.parameters)

    def _inner(self, which, places):
        """Some of e at places."""
        return Inner(Along(self._s, self._places, self._x, self._e[which]), places)

    def _projected(self, values, is_gradient=False):
        """Projection of expressions of e and t, as one symbol."""
        if not values.nnz():
            return values
        s, (y, t, _) = self._s, self._arguments
        points = gauss_points(s.element.degree)
        weights = [w * _projector(points, x, s.xi) for x, w in zip(*self._quadrature, strict=True)]
        times = [s.t + (x - s.xi) * s.h for x in self._quadrature[0]]
        s.inner.append(Mean(values, (y[self._seen], t), (weights, times), self._along, self._most <= 3,
                            self._seen if is_gradient else None))
        return s.inner[-1].symbol


def _projector(points, place, xi):
    """Kernel of the projection on the polynomials through Gauss points: `sum_i l_i(place) l_i(xi) / w_i`."""
    w = gauss_legendre(len(points))[1]
    polynomials = [lagrange(points, i) for i in range(len(points))]
    return sum(float(p(place)) / float(weight) * value(p, xi) for p, weight in zip(polynomials, w, strict=True))
