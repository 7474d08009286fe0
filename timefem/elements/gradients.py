"""Discrete and lifted gradients: what takes the place of a gradient so that a function changes exactly by its work."""

import math

import casadi as ca

from ..mechanics.formulas.formula import polynomial_degree
from ..polynomials import gauss_legendre
from .along import Along, Inner, Mean, gauss_points, lagrange, value


def discrete_gradient(f, x0, x1, along=None):
    """Gonzalez' midpoint discrete gradient, Kinon & Betsch (71): `g . (x1 - x0) = f(x1) - f(x0)`.

    For a quadratic function it is the gradient at the midpoint.

    Parameters
    ----------
    f : callable
        SX (n,) -> SX scalar.
    x0, x1 : SX, shape (n,)
    along : callable, optional
        `along(middle, step)`, SX (n,), is what the gradient at the midpoint is corrected along, in the units of a
        gradient: the step x1 - x0 times a mass matrix, less what the correction must leave as it is. The step itself
        where none is given, for components of one unit.

    Returns
    -------
    SX, shape (n,)
    """
    x = ca.SX.sym("x", x0.numel())
    value = ca.SX(f(x))
    hessian, gradient = ca.hessian(value, x)
    middle, step = (x0 + x1) / 2, x1 - x0
    at_middle = ca.substitute(gradient, x, middle)
    if not ca.depends_on(hessian, x):
        return at_middle
    direction, size = (step, ca.sumsqr(middle)) if along is None else (along(middle, step), along.size(middle))
    square = ca.dot(direction, step)
    # where nothing moves the correction is round-off; it is of third order in the step
    moves = square > 1e-14 * size
    gap = f(x1) - f(x0) - ca.dot(at_middle, step)
    return at_middle + ca.if_else(moves, gap / ca.if_else(moves, square, 1), 0) * direction


def gradient_at(f, x):
    """Gradient of `f` at the expression `x`, SX (n,)."""
    symbol = ca.SX.sym("x", x.numel())
    return ca.substitute(ca.gradient(ca.SX(f(symbol)), symbol), symbol, x)


def transposed_product(f, x, y):
    """(df/dx)^T y of a vector function `f` at the expression `x`."""
    symbol = ca.SX.sym("x", x.numel())
    return ca.substitute(ca.jtimes(f(symbol), symbol, y, True), symbol, x)


class MassMetric:
    """What discrete gradients of a part are corrected along: `M (q1 - q0)`, with the mass matrix M of its bodies.

    Where rigid motions of space leave the part as it is, the nearest of these is taken off the step first: then the
    correction has none of the momenta of those motions. Coordinates of bodies without a regular
    mass of their own count as they are.

    Parameters
    ----------
    part : Part
    at : Symbols
        Its mechanical symbols.
    split : callable
        Coordinates of the part -> those of each body that carries it.
    """

    def __init__(self, part, at, split):
        self.bodies, self.split = part.frames, split
        given = part.bodies if part.bodies == part.frames else ()
        self.numbers = at.bodies if given else [None] * len(self.bodies)
        self._symmetry = part.symmetry(at)

    def momentum(self, q, v):
        """M(q) v, SX."""
        return ca.vertcat(*(_momentum(*of_body) for of_body in zip(
            self.bodies, self.numbers, self.split(q), self.split(v), strict=True)))

    def size(self, q):
        """q.M q, to compare steps with."""
        return ca.dot(q, self.momentum(q, q))

    def __call__(self, middle, step):
        return self.momentum(middle, step - self._rigid_motion(middle, step))

    def _rigid_motion(self, q, step):
        """What of a step is a rigid motion that the part does not see: the one whose rest has none of its momenta."""
        rates = [body.rigid_motion(x) for body, x in zip(self.bodies, self.split(q), strict=True)]
        if not self._symmetry.numel() or any(rate is None for rate in rates):
            return ca.SX(step.numel(), 1)
        motions = ca.vertcat(*rates) @ self._symmetry
        momenta = ca.horzcat(*(self.momentum(q, column) for column in ca.horzsplit(motions)))
        return motions @ _solved(motions.T @ momenta, momenta.T @ step)


def _momentum(body, c, q, v):
    if c is None or not body.has_inverse_mass:
        return v
    x = ca.SX.sym("v", v.numel())
    return ca.substitute(ca.gradient(ca.SX(body.kinetic_of_velocity(q, x, c)), x), x, ca.densify(v))


def _solved(matrix, right):
    """Solution of an equation with a symmetric matrix (3, 3) or (6, 6)."""
    if matrix.shape[0] == 3:
        return ca.inv(matrix) @ right
    a, b, c = matrix[:3, :3], matrix[:3, 3:], matrix[3:, 3:]
    by_a = ca.inv(a) @ ca.horzcat(b, right[:3])
    turning = ca.inv(c - b.T @ by_a[:, :3]) @ (right[3:] - b.T @ by_a[:, 3])
    return ca.vertcat(by_a[:, 3] - by_a[:, :3] @ turning, turning)


FURTHER = 6  # points beyond 2k of W that is not a polynomial: round-off on meshes that resolve the motion (2: 1e-9)


class Lift:
    """One function `W(e(z), t)` of a part along an element.

    Lifted gradients give energy, momenta and constraints together, with k Gauss points. e is at most quadratic in
    z = (q, p). In an element of degree k

    `e'_s = e_z(z_s) z'_s` at its Gauss points, `e(t) = e(z_0) + h sum_s a_s(t) e'_s`, `a_s` the integrals of their
    Lagrange polynomials, and `DW = P W_e(e(t)) e_z(z)`, P the projection on polynomials of degree k - 1,

    takes the place of the gradient. `e_z z'` has degree 2k - 1, which k points integrate: e(t) ends at e(z_1), and
    `sum_g w_g h DW_g z'_g = int P W_e e' = int W_e e'` is the change of W, up to the quadrature of the last integral,
    which is exact for polynomials. With k points any momentum that Poisson-commutes with e is kept as well.

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
