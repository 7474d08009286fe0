"""Barrier problems of a nonlinear program: with slacks, and with the elastic variables of the restoration."""

import numpy as np

from ...parallel import OverRanks
from ..nonlinear import products
from ..nonlinear.options import OPTIONS
from . import bounds_loops as loops
from .bounds import Bounds
from .options import InteriorPointOptions

DEFAULTS = InteriorPointOptions()


class Auxiliary:
    """Variables t that stand in one row each, with a coefficient there and a cost: slacks and elastic variables.

    They never enter the matrix: each is eliminated within its row.

    Attributes
    ----------
    row : ndarray of int
    coefficient, cost, lower, upper : ndarray
    damped : ndarray
        1 where the regularisation of the Hessian counts, else 0.
    """

    def __init__(self, row, coefficient, cost, lower, upper, damped):
        self.row, self.n = row, len(row)
        self.coefficient, self.cost, self.lower, self.upper, self.damped = (
            np.full(self.n, x, float) for x in (coefficient, cost, lower, upper, damped))

    def joined(self, other):
        return Auxiliary(np.concatenate([self.row, other.row]), *(
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("coefficient", "cost", "lower", "upper", "damped")))


class Scaled:
    """A program with objective and rows scaled so that no gradient at the start is larger than 100.

    Rows with large limits are scaled down as well, so that their slacks are not far from one.

    Attributes
    ----------
    many : float
        Blocks over `few_blocks` of the options, 1 at least: by which the objective may be scaled up.
    """

    _asked = False  # to enlarge

    def __init__(self, program, v, options=DEFAULTS):
        self.program, self.n, self.m, self.over = program, program.n, program.n_rows, OverRanks(program.comm)
        self.options = options
        gradient, entries = program.gradient(v), program.jacobian(v)
        rows, columns = (np.asarray(x) for x in program.jacobian_places)
        self.equation = np.equal(*program.row_bounds)
        limit = np.abs(np.nan_to_num(program.row_bounds, posinf=0.0, neginf=0.0)).max(axis=0)
        of_limit = np.maximum(options.largest_limit / np.maximum(limit, options.largest_limit), options.least_scale)
        steep = options.largest_gradient
        of_gradient = steep / products.largest_in_rows(rows, entries, steep, self.m)
        self.row_scale = np.where(self.equation, of_gradient, np.minimum(of_gradient, of_limit))
        scales = program.rows_with_neighbours(self.row_scale)
        # the share of a block in an integral falls with their number, but mu should mean the same on all meshes
        self.n_blocks = int(self.over.total(program.variable_blocks[:self.n].max(initial=-1) + 1))
        self.many = max(1.0, self.n_blocks / options.few_blocks)
        steepest = self.many * self.over.largest(np.abs(gradient).max(initial=0.0))
        self.objective_scale = steep * self.many / max(steepest, steep)
        self._entry_scale = scales[rows] if scales.min(initial=1.0) < 1 else None
        self.target = np.where(self.equation, self.row_scale * program.row_bounds[0], 0.0)
        limited = np.flatnonzero(~self.equation)
        lower, upper = (self.row_scale * bound for bound in relaxed(*program.row_bounds, options.relaxed))
        self.slacks = Auxiliary(limited, -1.0, 0.0, lower[limited], upper[limited], 1.0)
        self.lower, self.upper = relaxed(*program.bounds, options.relaxed)
        self._jacobian, self._hessian = (tuple(np.asarray(x, np.int32) for x in places)  # half the memory to pass over
                                         for places in ((rows, columns), program.hessian_places))

    def values(self, v):
        """Scaled objective, and scaled rows minus what equations ask for."""
        return self.objective_scale * self.program.objective(v), self.row_scale * self.program.rows(v) - self.target

    def enlarge(self, f, gradient):
        """Scale a small objective up that is f near the end, with this gradient; by what factor. Only once."""
        if self._asked:
            return 1.0
        self._asked = True
        factor = enlargement(f / self.many, self.over.largest(np.abs(gradient).max(initial=0.0)) / self.many)
        self.objective_scale *= factor
        return factor

    def evaluate_jacobian(self, v):
        entries = self.program.jacobian(v)
        if self._entry_scale is not None:
            entries = entries * self._entry_scale
        self._jacobian = *self._jacobian[:2], entries
        return entries

    def evaluate_hessian(self, v, factor, y):
        entries = self.program.hessian(v, factor * self.objective_scale, y * self.row_scale)
        self._hessian = *self._hessian[:2], entries
        return entries

    def add_hessian_and_rows(self, d, y, of_v, of_rows):
        """Add `H d + J^T y` and `J d` in place, of the last evaluation."""
        d, y = self.program.with_neighbours(d), self.program.rows_with_neighbours(y)
        products.add_hessian_and_rows(self._hessian, self._jacobian, d, y, self.n, self.m, of_v, of_rows)

    def gradient_of_lagrangian(self, gradient, y, at, factors):
        """`gradient` of the variables, and of others in the rows `at`, with `J^T y` of the last evaluation."""
        return products.gradient_of_lagrangian(gradient, self._jacobian, self.program.rows_with_neighbours(y), self.n,
                                               at, factors)

    def expect(self, v, factor, y):
        self.program.expect(v, factor * self.objective_scale, y * self.row_scale)


def enlargement(f, steepest):
    """The factor for an objective that is f near the end, where no entry of its gradient is larger than `steepest`."""
    size = max(abs(f), steepest)
    return 1.0 if size >= OPTIONS.small_objective else 1 / max(size, 1 / OPTIONS.most_enlarged)


def relaxed(lower, upper, by):
    return tuple(np.where(np.isfinite(b), b + sign * by * np.maximum(1.0, np.abs(b)), b)
                 for b, sign in ((lower, -1.0), (upper, 1.0)))


class Barrier:
    """Minimise `factor f(v) + cost . t + weights . (w - reference)^2 / 2` with `r(v) + A t = 0`, w = (v, t) in bounds.

    With the factor 1 and t the slacks it is the program; the restoration has the factor 0, elastic variables and a
    reference (Waechter & Biegler, Math. Program. 106 (2006), Sect. 3.3).

    Parameters
    ----------
    scaled : Scaled
    auxiliary : Auxiliary
    factor : float
    reference, weights : ndarray, optional
        Shape (n + n_t,); weights are those of the squares.
    """

    def __init__(self, scaled, auxiliary, factor=1.0, reference=None, weights=None):
        self.scaled, self.auxiliary, self.factor, self.over = scaled, auxiliary, factor, scaled.over
        self.n, self.m = scaled.n, scaled.m
        self.options = scaled.options
        self.reference, self.weights = reference, weights
        self.lower = np.concatenate([scaled.lower, auxiliary.lower])
        self.upper = np.concatenate([scaled.upper, auxiliary.upper])
        self.bounds = Bounds(self.lower, self.upper, self.options)
        self.n_bounds, self.n_rows = map(int, self.over.combined(sums=(len(self.bounds), self.m)))

    def values(self, w):
        """Objective, rows of shape (m,), the sum of their magnitudes, the barrier over mu, and slacks of bounds.

        A sum that is rounding is zero, as no step makes it smaller; NaN stays, as no step may lead there.
        """
        v, t = w[:self.n], w[self.n:]
        f, c = self.scaled.values(v)
        f = self.factor * f + self.auxiliary.cost @ t
        if self.weights is not None:
            f += self.weights @ (w - self.reference)**2 / 2
        theta = loops.add_and_sum(c, self.auxiliary.row, self.auxiliary.coefficient, w, self.n)
        slack, well = self.bounds.slacks_and_well(w)
        f, theta, well = self.over.combined(sums=(float(f), theta, well))
        return f, c, 0.0 if theta <= self.options.rounding * self.n_rows else theta, well, slack

    def gradient(self, w):
        """Gradient of the objective, shape (n + n_t,)."""
        gradient = np.concatenate([np.zeros(self.n), self.auxiliary.cost])
        if self.factor:
            gradient[:self.n] = self.scaled.objective_scale * self.factor * self.scaled.program.gradient(w[:self.n])
        if self.weights is not None:
            gradient += self.weights * (w - self.reference)
        return gradient

    def with_multipliers(self, gradient, y):
        """A gradient with that of `y . (r + A t)`, with the Jacobian of the last evaluation."""
        return self.scaled.gradient_of_lagrangian(gradient, y, self.auxiliary.row, self.auxiliary.coefficient)
