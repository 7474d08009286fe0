"""Functions of the state that are at most quadratic, along an element with k Gauss points, and their derivatives.

`e(t) = e(z_0) + h sum_s a_s(t) e_z(z_s) z'_s`, a_s the integrals of the Lagrange polynomials of the points. For
`e = e_0 + L z + z.E z / 2` and `z = sum_j N_j z_j` its derivative by a nodal state is as sparse as e_z,

`de(t)/dz_j = N_j(t) L + E w_j(t)`, `w_j = sum_s a_s(t) (N_j(x_s) h z'_s + N_j'(x_s) z_s) + (z_0 of j = 0)`,

so that tangents are products with it. Derivatives of whole densities by operations take several times the work. Of what
is linear alone there is one product per node.
"""

import casadi as ca
import numpy as np

from ..polynomials import LagrangeBasis


class Along:
    """Functions `e(z)` along an element.

    Parameters
    ----------
    s : ElementSymbols
        With slots ("state", i) for all nodes.
    places : list of int
        The components of the state that are seen, z.
    x, e : SX
        Symbols of z, and the functions in them and the parameters, (n_e,).
    """

    def __init__(self, s, places, x, e):
        k, r = s.element.degree, ca.SX.sym("r", x.numel())
        self.size, self._components = e.numel(), places
        self._given = s.parameters, s.slots["state", 0]
        basis = s.element.state.basis
        points, self._nodes = gauss_points(k), basis.points
        self._points = points
        self._shapes, self._slopes = basis.values(points).tolist(), basis.derivatives(points).tolist()
        self._nodal = [s.slots["state", i][places] for i in range(k + 1)]
        self._z = [weighted(row, self._nodal) for row in self._shapes]
        self._rates = [weighted(row, self._nodal) for row in self._slopes]  # times h
        slope, change = ca.jacobian(e, x), ca.jtimes(e, x, r)
        seen = [x, r, *self._given]
        turned = ca.sparsify(ca.jacobian(change, x))
        curved = sorted({i % e.numel() for i in turned.row()})
        slope[curved, :] = ca.substitute(slope[curved, :], x, ca.SX.zeros(x.numel()))
        functions = {"e": e, "change": change, "constant": ca.sparsify(slope), "turned": turned}
        self._functions = {name: ca.Function(name, seen, [value]) for name, value in functions.items()}
        self._curved = bool(curved)

    def _of(self, name, x=None, r=None):
        none = ca.SX.zeros(len(self._components))
        return self._functions[name](none if x is None else x, none if r is None else r, *self._given)

    def at(self, places):
        """e at places of the element, numbers or a symbol: list of SX."""
        weights = [[integral(self._points, i, x) for i in range(len(self._points))] for x in places]
        rates = [self._of("change", z, rate) for z, rate in zip(self._z, self._rates, strict=True)]
        start = self._of("e", self._nodal[0])
        return [start + weighted(row, rates) for row in weights]

    def derivatives(self, rows, places, n, left=None, of_gradient=False):
        """`left sum_i rows_i de(places_i)/dz_j` for all nodes j, list of SX (m, n), by all n components of the state.

        Parameters
        ----------
        rows : callable
            `rows(weights)` gives `sum_i weights_i rows_i`, SX (l, n_e).
        places : list of float or SX
        n : int
        left : SX, shape (m, l), optional
        of_gradient : bool
            Whether the rows are symmetric.
        """
        nodes, none = range(len(self._nodal)), ca.SX.zeros(len(self._components))
        shapes = [[value(lagrange(self._nodes, j), x) for x in places] for j in nodes]
        if not self._curved:
            return [self._block(self._of_linear(left, rows(row), of_gradient), n) for row in shapes]
        weights = [[integral(self._points, i, x) for i in range(len(self._points))] for x in places]
        steps = [[N[j] * rate + dN[j] * z for N, dN, z, rate in
                  zip(self._shapes, self._slopes, self._z, self._rates, strict=True)] for j in nodes]
        if len(places) == 1:
            row, w = rows([1.0]), [weighted(weights[0], step) for step in steps]
            linear = [weighted(weights[0], [dN[j] for dN in self._slopes]) for j in nodes]
            rights = [self._right(x + (j == 0), w[j] + (none if j else self._nodal[0])) for j, x in enumerate(linear)]
            return [self._block(product(left, row, right), n) for right in rights]
        by_point = [rows([a[i] for a in weights]) for i in range(len(self._points))]
        rights = [[self._right(dN[j], w) for dN, w in zip(self._slopes, steps[j], strict=True)] for j in nodes]
        found = [products(left, by_point, right) for right in rights]
        start = self._nodal[0]
        found[0] += product(left, rows([1.0] * len(places)), self._right(1.0, start))
        return [self._block(values, n) for values in found]

    def _right(self, weight, w):
        """`weight L + E w`."""
        return weight * self._of("constant") + self._of("turned", r=w)

    def _of_linear(self, left, row, of_gradient):
        """`left row L`; where left = -L^T and the row is symmetric, from one triangle of it."""
        slope = self._of("constant")
        alike = of_gradient and row.is_square() and left.shape[0] > self._components[-1]
        if not alike or not ca.is_equal(-left[self._components, :], slope.T, 9):  # 9: as deep as signs of shapes go
            return product(left, row, slope)
        found = ca.SX(left.shape[0], slope.shape[1])
        found[self._components, :] = -ca.tril2symm(ca.tril(slope.T @ (row @ slope)))
        return found

    def _block(self, values, n):
        whole = ca.SX(values.shape[0], n)
        whole[:, self._components] = values
        return whole


class Inner:
    """A quantity in the rows of a density that stands for a formula, with the derivatives of that formula.

    Parameters
    ----------
    along : Along
    places : list of float or SX

    Attributes
    ----------
    symbols : list of SX
        One per place.
    """

    def __init__(self, along, places):
        self._along, self._places = along, places
        self.symbols = [ca.SX.sym("e", along.size) for _ in places]

    def closed(self, rows):
        """Rows with the formulas instead of the symbols: list of SX."""
        return ca.substitute(rows, self.symbols, self._along.at(self._places))

    def derivative(self, row, variable):
        """Derivative of expressions by a slot, through the symbols, but for what these depend on by the nodes."""
        return ca.SX(row.numel(), variable.numel())

    def by_nodes(self, row, n):
        """Derivatives of expressions by the states at all nodes through the symbols, list of SX (m, n), or None."""
        rows = [ca.jacobian(row, symbol) for symbol in self.symbols]
        return self.through(lambda weights: weighted(weights, rows), n) if any(r.nnz() for r in rows) else None

    def through(self, rows, n, left=None, of_gradient=False):
        """As `Along.derivatives`."""
        return self._along.derivatives(rows, self._places, n, left, of_gradient)


class Mean:
    """A quantity in the rows of a density that stands for `sum_i weights_i g(e_i)`, e_i at places of the element.

    Parameters
    ----------
    g : SX
        An expression of e and the time.
    symbols : (SX, SX)
        Of e and the time in it.
    at : (list of SX, list of SX)
        Weights and times of the places.
    inner : Inner
        What e is at the places.
    affine : bool
        Whether the derivative of g is affine in e, so that it is taken once, of the mean of e.
    of_gradient : list of int, optional
        Given where g is a gradient: its rows that belong to e, so that the derivative is symmetric in them.

    Attributes
    ----------
    symbol : SX
    """

    def __init__(self, g, symbols, at, inner, affine, of_gradient=None):
        (e, self._t), (self._weights, self._times) = symbols, at
        self._inner, self._e = inner, e
        self._value = sum(w * value for w, value in zip(self._weights, self._at_places(g), strict=True))
        self._slope, self._shape, self._of_gradient = ca.jacobian(g, e), (g.numel(), e.numel()), of_gradient
        if of_gradient is not None:
            self._slope = ca.tril(self._slope[of_gradient, :])
        nonzeros = ca.vertcat(*self._slope.nonzeros())
        self._curvature = ca.jacobian(nonzeros, e) if affine else None
        self._constant = ca.substitute(nonzeros, e, ca.SX.zeros(e.numel())) if affine else None
        self._slopes = None if affine else self._at_places(self._slope)
        self.symbol = ca.SX.sym("mean", self._value.sparsity())

    def closed(self, rows):
        """As `Inner.closed`."""
        return self._inner.closed(ca.substitute(rows, [self.symbol], [self._value]))

    def _at_places(self, g):
        return [ca.substitute(g, ca.vertcat(self._e, self._t), ca.vertcat(e, t))
                for e, t in zip(self._inner.symbols, self._times, strict=True)]

    def _rows(self, factors):
        weights = [a * b for a, b in zip(factors, self._weights, strict=True)]
        if self._curvature is None:
            found = weighted(weights, self._slopes)
        else:
            values = sum(weights) * self._constant + self._curvature @ weighted(weights, self._inner.symbols)
            found = ca.SX(self._slope.sparsity(), ca.densify(values))
        if self._of_gradient is None:
            return found
        whole = ca.SX(*self._shape)
        whole[self._of_gradient, :] = ca.tril2symm(found)
        return whole

    def derivative(self, row, variable):
        """As `Inner.derivative`."""
        return ca.jacobian(row, self.symbol) @ ca.jacobian(self._value, variable)

    def by_nodes(self, row, n):
        """As `Inner.by_nodes`."""
        left = ca.jacobian(row, self.symbol)
        seen = left.nnz() and self._slope.nnz()  # of what is linear the gradient depends on the time at most
        return self._inner.through(self._rows, n, left, self._of_gradient is not None) if seen else None


def product(left, row, right):
    """`left row right`, left or None, in the order of less work."""
    return products(left, [row], [right])


def products(left, rows, rights):
    """`left sum_i rows_i rights_i`, left or None, in the order of less work."""
    if left is None:
        return weighted_products(rows, rights)
    first, last = ([left @ row for row in rows], rights), (rows, rights)
    of_rows = sum(map(_work, [left] * len(rows), rows)) + sum(map(_work, *first))
    inner = weighted_products(*last)
    return left @ inner if sum(map(_work, *last)) + _work(left, inner) < of_rows else weighted_products(*first)


def weighted_products(rows, rights):
    """Sum of matrix products."""
    return sum(row @ right for row, right in zip(rows, rights, strict=True))


def _work(a, b):
    """Multiplications of a product of sparse matrices."""
    columns, rows = np.diff(a.sparsity().colind()), np.diff(b.sparsity().T.colind())
    return int(columns @ rows)


def gauss_points(k):
    """The k Gauss points in [0, 1]."""
    return LagrangeBasis(k - 1, "gauss").points


def weighted(weights, values):
    """Sum of products."""
    return sum(w * v for w, v in zip(weights, values, strict=True))


def lagrange(points, i):
    """The Lagrange polynomial of place i."""
    others = np.delete(points, i)
    polynomial = np.polynomial.Polynomial.fromroots(others) if len(others) else np.polynomial.Polynomial([1.0])
    return polynomial / np.prod(points[i] - others)


def value(polynomial, x):
    """Value of a polynomial at a number or symbol."""
    return sum(c * x**m for m, c in enumerate(polynomial.coef.tolist()) if c)


def integral(points, i, x):
    """Integral from 0 to x of the Lagrange polynomial of place i."""
    return value(lagrange(points, i).integ(), x)
