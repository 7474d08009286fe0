"""Terms of the least squares: residuals that are linear or not in variables of the chain, whitened."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import pairwise

import casadi as ca
import numpy as np

from ....kernels.compile import Buffered
from ...optimal.transcription.point_rows import View


class Term:
    """Residuals r(v), shape (n_points, n), each of a few variables of the program.

    Attributes
    ----------
    columns : ndarray of int, shape (n_points, n_local)
        Variables, -1 where there is none.
    role : str
        "measurement", "prior" or "noise".
    rows : ndarray, shape (n,)
        Factors of the residuals, shared with parts of the term; ones but while priors are narrower.
    """

    role = "measurement"

    def evaluate(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r, and its Jacobian by the local variables, shape (n_points, n, n_local)."""
        raise NotImplementedError

    def restricted(self, points: np.ndarray) -> Term:
        """The same of some points alone, with the weights that this one has then."""
        raise NotImplementedError


class LinearTerm(Term):
    """`r = W (start + factors v)`, with a matrix W and values at the start for each point, or one for all."""

    def __init__(self, role, root, columns, factors, start):
        self.role, self.columns = role, columns
        self._jacobian, self.rows = root * factors[:, None, :], np.ones(root.shape[1])
        self._start = np.einsum("pij,pj->pi", np.broadcast_to(root, self._jacobian.shape), start)

    def evaluate(self, v):
        own = np.where(self.columns >= 0, v[self.columns], 0.0)
        residual = self._start + np.einsum("pij,pj->pi", self._jacobian, own)
        return self.rows * residual, self.rows[:, None] * self._jacobian

    def restricted(self, points):
        other = copy(self)
        other.columns, other._start = self.columns[points], self._start[points]
        if len(self._jacobian) == len(self.columns):
            other._jacobian = self._jacobian[points]
        return other


class BoundTerm(Term):
    """What holds an unknown number at one of its bounds, where it is `active`: next to a measurement without errors,
    narrow against what all else tells of the number then.

    Parameters
    ----------
    column : int
        Of the number at the start.
    size, start : float
        The number is `start + size v`.
    bounds : (float, float)
    sigma : float
        Standard deviation of its prior.
    """

    role, tight = "bound", 1e-4

    def __init__(self, column, size, start, bounds, sigma):
        self.columns, self._size, self._from, self.bounds = np.array([[column]]), size, start, bounds
        self._sigma, self.active, self._left = sigma, None, 0

    def evaluate(self, v):
        if self.active is None:
            return np.zeros((1, 1)), np.zeros((1, 1, 1))
        off = self._from - self.bounds[self.active] + self._size * v[self.columns]
        return self._root * off, np.full((1, 1, 1), self._root * self._size)

    def restricted(self, points):
        return self  # the others see whether it is active

    def settle(self, v, variance):
        """Hold the number, or let it go where it is pulled inside; the variable it goes to, None where it stays.

        `variance(column)` is that of a variable by all else.
        """
        value = self._from + self._size * float(v[self.columns[0, 0]])
        low, high = self.bounds
        if self.active is None and not low <= value <= high:
            self.active = int(value > high)
            least = np.finfo(float).eps * max(abs(self._from), abs(self.bounds[self.active]))
            known = self._size * np.sqrt(max(variance(self.columns[0, 0]), 0.0))
            self._root = 1 / (self.tight * min(max(known, least), self._sigma))
            return (self.bounds[self.active] - self._from) / self._size
        if self.active is not None and (value - self.bounds[self.active]) * (1 - 2 * self.active) > 0 and \
                self._left < 3:
            self._left, self.active = self._left + 1, None
            return float(v[self.columns[0, 0]])
        return None


class SensorTerm(Term):
    """Residuals of a sensor at points of elements, by a formula of a `View`.

    Parameters
    ----------
    role : str
    function : (SX, SX, SX)
        What the view shows, given numbers of a point, and the residual.
    view : View
    given : ndarray, shape (n_points, n_given)
    whitening : ndarray, shape (n_points, n, n)
    """

    def __init__(self, role, formula, view, given, whitening):
        self.role, self._given, self._whitening, self._known = role, np.ascontiguousarray(given), whitening, None
        w, p, residual = formula
        residual = ca.densify(residual)
        jacobian = ca.jacobian(residual, w)
        row, column = (np.array(x, int) for x in jacobian.sparsity().get_triplet())
        seen = np.unique(column)
        self._n, self._row, self._place = residual.numel(), row, np.searchsorted(seen, column)
        view = _compressed(View(view.start[:, seen], view.columns[:, seen], view.factors[:, seen]))
        self._view, n = view, len(view.start)
        own, full = ca.SX.sym("w", len(seen)), ca.SX.zeros(w.numel())
        full[seen.tolist()] = own
        entries = ca.vertcat(ca.SX(0, 1), *jacobian.nonzeros())
        residual, entries = ca.substitute([residual, entries], [w], [full])
        self._of_point = ca.Function("sensor", [own, p], [residual, ca.densify(entries)])
        self.columns = view.columns.reshape(n, -1)
        self.weights, self.rows = np.ones(n), np.ones(whitening.shape[1])

    @cached_property
    def _function(self):
        n = self.n_points
        few = max(k for k in range(1, 11) if n % k == 0)  # points of which formulas are one expression
        return Buffered(self._of_point.map(few).expand().map(n // few))

    def restricted(self, points):
        other = copy(self)
        other.__class__, other._known = _PartOfSensorTerm, None
        other.__dict__.pop("_function", None)
        other._whole, other._points = self, points
        other._given, other.columns = np.ascontiguousarray(self._given[points]), self.columns[points]
        other._view = View(*(x[points] for x in self._view))
        return other

    @property
    def n_points(self):
        return len(self.columns)

    def values(self, v):
        """Residuals before whitening, shape (n_points, n)."""
        return self._at(v)[0]

    def _at(self, v):
        key = v.tobytes()
        if self._known is None or self._known[0] != key:
            view = self._view
            own = np.where(view.columns >= 0, v[view.columns], 0.0)
            w = view.start + (view.factors * own).sum(axis=2)
            residual, entries = self._function(w, self._given)
            n = self.n_points
            jacobian = np.zeros((n, self._n, view.start.shape[1]))
            jacobian[:, self._row, self._place] = entries.reshape(n, -1)
            jacobian = (jacobian[..., None] * view.factors[:, None]).reshape(n, self._n, -1)
            self._known = key, residual.reshape(n, -1).copy(), jacobian
        return self._known[1:]

    def evaluate(self, v):
        residual, jacobian = self._at(v)
        root = self._whitening * np.sqrt(self.weights)[:, None, None] * self.rows[:, None]
        return np.einsum("pij,pj->pi", root, residual), root @ jacobian

    def whitened(self, v):
        """Residuals in standard deviations, without weights."""
        return np.einsum("pij,pj->pi", self._whitening, self._at(v)[0])

    def lengths(self, v):
        """Lengths of the whitened residuals of each point, in standard deviations, without weights."""
        return np.linalg.norm(self.whitened(v), axis=1)


class _PartOfSensorTerm(SensorTerm):
    """Some points of a term, weighed as these are there."""

    def __init__(self, *others):
        raise TypeError("made by SensorTerm.restricted")

    weights = property(lambda self: self._whole.weights[self._points])
    _whitening = property(lambda self: self._whole._whitening[self._points])


def _compressed(view):
    """With the shapes that count first, and no more of them than any point has."""
    used = view.columns >= 0
    order = np.argsort(~used, axis=2, kind="stable")
    most = max(1, int(used.sum(axis=2).max(initial=1)))
    columns, factors = (np.take_along_axis(x, order, axis=2)[:, :, :most] for x in (view.columns, view.factors))
    return View(view.start, columns, factors)


class Sum:
    """Half the sum of squares of terms: value, gradient and Gauss-Newton's Hessian at places that do not change.

    Parameters
    ----------
    terms : list of Term
    n : int
        Variables.

    Attributes
    ----------
    places : (ndarray of int, ndarray of int)
        Of the entries of the upper triangle of the Hessian.
    """

    def __init__(self, terms, n):
        self.terms, self.n = terms, n
        keys, self._kept, self._pairs = [], [], []
        for term in terms:
            i, j = np.triu_indices(term.columns.shape[1])
            a, b = term.columns[:, i], term.columns[:, j]
            kept = (a >= 0) & (b >= 0)
            keys.append(np.minimum(a, b)[kept] * n + np.maximum(a, b)[kept])
            # a variable that stands twice in a term: both of its off-diagonal entries fall on the diagonal
            self._kept.append((kept, np.where((i != j) & (a == b), 2.0, 1.0)[kept]))
            self._pairs.append((i, j))
        unique, slots = np.unique(np.concatenate(keys), return_inverse=True)
        self.places = unique // n, unique % n
        stops = np.cumsum([0, *map(len, keys)])
        self._slots = [slots[a:b] for a, b in pairwise(stops)]

    def value(self, v):
        return 0.5 * sum(float((term.evaluate(v)[0]**2).sum()) for term in self.terms)

    def gradient(self, v):
        out = np.zeros(self.n + 1)
        for term in self.terms:
            residual, jacobian = term.evaluate(v)
            own = np.einsum("pij,pi->pj", jacobian, residual)
            out += np.bincount(np.where(term.columns >= 0, term.columns, self.n).ravel(), own.ravel(), self.n + 1)
        return out[:-1]

    def hessian(self, v, roles=None):
        """Entries at `places`, of all terms or of those of some roles."""
        out = np.zeros(len(self.places[0]))
        for term, (kept, twice), (i, j), slots in zip(self.terms, self._kept, self._pairs, self._slots, strict=True):
            if roles is not None and term.role not in roles:
                continue
            _, jacobian = term.evaluate(v)
            product = np.swapaxes(jacobian, 1, 2) @ jacobian
            product = np.broadcast_to(product[:, i, j], kept.shape)
            out += np.bincount(slots, product[kept] * twice, len(out))
        return out

    def draw(self, v, rng):
        """`J^T e` with normal e: the gradient that draws from the posterior need."""
        out = np.zeros(self.n + 1)
        for term in self.terms:
            residual, jacobian = term.evaluate(v)
            own = np.einsum("pij,pi->pj", np.broadcast_to(jacobian, (len(residual), *jacobian.shape[1:])),
                            rng.standard_normal(residual.shape))
            out += np.bincount(np.where(term.columns >= 0, term.columns, self.n).ravel(), own.ravel(), self.n + 1)
        return out[:-1]
