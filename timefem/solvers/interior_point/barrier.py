"""Barrier problems of a nonlinear program: with slacks, and with the elastic variables of the restoration."""

import numpy as np

from ... import sparse
from ...parallel import OverRanks
from ..nonlinear.options import OPTIONS, InteriorPointOptions
from . import bounds_loops as loops


class Bounds:
    """The finite bounds of variables w.

    Slacks and multipliers are those of lower bounds, then those of upper ones.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        Infinite where there are none.
    options : InteriorPointOptions

    Attributes
    ----------
    at : ndarray of int
        Variable of each bound.
    sign : ndarray
        1 for lower bounds, -1 for upper ones.
    n_low : int
        How many lower ones there are.
    """

    def __init__(self, lower, upper, options):
        self._options = options
        low, high = (np.flatnonzero(np.isfinite(b)) for b in (lower, upper))
        self.at, self.n, self.n_low = np.concatenate([low, high]), len(lower), len(low)
        self.sign = np.repeat([1.0, -1.0], [len(low), len(high)])
        self._value = np.concatenate([lower[low], upper[high]])
        self._one_sided = np.where(np.isfinite(np.concatenate([upper[low], lower[high]])), 0.0, 1.0)

    def __len__(self):
        return len(self.at)

    def slacks_and_well(self, w):
        """Slacks, and what the barrier adds to the objective, over mu; infinite outside of the bounds."""
        return loops.slacks_and_well(w, self.at, self.sign, self._value, self._one_sided, self._options.one_sided)

    def gradient(self, slack, mu):
        """Gradient of what the barrier adds, shape (n,)."""
        return loops.gradient(self.n, self.at, self.sign, self._one_sided, slack, mu, self._options.one_sided)

    def add(self, out, z, factor=1.0):
        """Add multipliers to a gradient, positive at lower bounds."""
        loops.add(out, self.at, z, factor * self.sign)

    def curvature(self, weights, slack, z):
        """`z / slack` at the variables, added to weights, if there are any."""
        return loops.curvature(np.zeros(self.n) if weights is None else weights, self.at, slack, z)

    def change(self, slack, z, dw, mu):
        """Steps of z that belong to those of w."""
        return loops.change(self.at, self.sign, slack, z, dw, mu)

    def longest(self, slack, dw, tau):
        """The longest step along dw, 1 at most, that leaves the share `1 - tau` of each slack."""
        return loops.longest_along(slack, self.at, self.sign, dw, tau)

    def moved(self, z, dz, alpha, mu, slack):
        """Multipliers after a step, not too far from `mu / slack`."""
        return loops.moved(z, dz, alpha, mu, slack, self._options.clipped)


def inside(w, lower, upper, push, least=None):
    """Variables inside of their bounds by that share of the range, and by `least` relative to max(1, their size)."""
    return between(w, *narrowed(lower, upper, push, least))


def between(w, lower, upper, out=None):
    """As `np.clip`, whose wrapper takes longer than the work on the few hundred numbers of a receding horizon."""
    return np.minimum(np.maximum(w, lower, out=out), upper, out=out)


def narrowed(lower, upper, push, least=None):
    """The bounds that `inside` keeps."""
    room, least = push * (upper - lower), push if least is None else least
    low, high = (np.where(np.isfinite(b), b, 0.0) for b in (lower, upper))
    low, high = (b + s * np.minimum(least * np.maximum(1, np.abs(b)), room) for b, s in ((low, 1), (high, -1)))
    return np.where(np.isfinite(lower), low, -np.inf), np.where(np.isfinite(upper), high, np.inf)


class Errors:
    """Largest violations of the optimality conditions at an iterate, relative to multipliers where these are large.

    Attributes
    ----------
    rows : float
        Of the rows.
    """

    def __init__(self, barrier, direction, it):
        bounds, large = barrier.bounds, barrier.options.large_multiplier
        y, z, dual, rows, most, least = loops.errors(direction.of_lagrangian, it.y, it.c, bounds.at, bounds.sign,
                                                     it.slack, it.z)
        y, z, dual, self.rows, most, least = barrier.over.combined((y, z), (dual, rows, most), (least,))
        by_dual = max(large, (y + z) / max(barrier.n_rows + barrier.n_bounds, 1)) / large
        self._by_bounds = max(large, z / max(barrier.n_bounds, 1)) / large
        self._others, self._products = max(dual / by_dual, self.rows), (most, least)

    def at(self, mu):
        """The largest, complementarity being `slack z = mu`."""
        most, least = self._products
        return max(self._others, max(most - mu, mu - least) / self._by_bounds)


class BarrierParameter:
    """What mu a step is for.

    From the solution of the first barrier problem on, with rows that are violated by mu at most (farther off, mu falls
    ahead of them, and slacks with it, until steps are short), or from a start close to a solution, where the Hessian
    needs no regularisation, a predictor tells how far the products `slack z` fall along the step to mu = 0, and mu aims
    as far (S. Mehrotra, SIAM J. Optim. 2 (1992) 575-601); the step then counts on the products of the changes as well.
    Errors need not fall in each step. Where they do not for a few steps, predictions have gone ahead of the iterate,
    and mu goes back to about the mean product. Then, or where the Hessian is regularised, it stays until its barrier
    problem is solved, and falls, as by Fiacco & McCormick (J. Nocedal, A. Waechter, R. A. Waltz, SIAM J. Optim. 19
    (2009) 1674-1693).

    Parameters
    ----------
    barrier : Barrier
    direction : SearchDirection
    least : float
        The last mu.
    predicts : bool
        Whether there are predictors at all.
    """

    def __init__(self, barrier, direction, least, predicts):
        self.barrier, self.direction, self.least = barrier, direction, least
        self._predicts = predicts and barrier.n_bounds > 0
        self._errors, self._warm = None, barrier.scaled.program.start_multipliers is not None
        self._regularisation = direction.regularisation.now

    @property
    def predicted(self):
        """Whether mu came from a predictor."""
        return self._errors is not None

    def next(self, it, mu, errors):
        """The mu of the next step, on factors at hand, and products of changes that it is to count on, or None."""
        o = self.barrier.options
        sufficient, error, regularisation = o.sufficient, errors.at(0.0), self.direction.regularisation.now
        last, self._regularisation = self._regularisation, regularisation
        if not self._predicts or regularisation:
            self._errors = None
        elif self._errors is None:
            near = errors.rows <= mu and errors.at(mu) <= o.sufficient * mu
            begins = near or (self._warm and error <= o.close_error)
            self._errors = [error] if begins else None
        else:
            grows = len(self._errors) >= o.remembered and error >= max(self._errors[-o.remembered:])
            self._errors = None if grows else [*self._errors, error]
            if grows:
                mean = self.barrier.over.total(float(it.slack @ it.z)) / self.barrier.n_bounds
                mu = max(mu, o.restarted * mean)
        self._warm = False
        if self.predicted:
            return self._prediction(it)
        if all(o.valley_from < r < o.valley_to for r in (last, regularisation)):
            sufficient = o.sufficient_in_valley
        while mu > self.least and errors.at(mu) <= sufficient * mu:
            mu = max(self.least, min(o.slowest_fall * mu, max(o.fastest_fall * mu, mu**1.5)))
        return mu, None

    def _prediction(self, it):
        bounds = self.barrier.bounds
        products, *sums, a, b = loops.to_zero(bounds.at, bounds.sign, it.slack, it.z, self.direction.towards_zero(it))
        now, by_slack, by_z, by_both, a, b = self.barrier.over.combined(sums, (), (a, b))
        then = now + a * by_slack + b * by_z + a * b * by_both
        share = max(self.barrier.options.least_share, min(1.0, (then / now)**3))
        return max(self.least, share * now / self.barrier.n_bounds), a * b * products


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
        of_gradient = steep / sparse.largest_in_rows(rows, entries, steep, self.m)
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
        sparse.add_hessian_and_rows(self._hessian, self._jacobian, d, y, self.n, self.m, of_v, of_rows)

    def gradient_of_lagrangian(self, v, factor, y):
        return self.program.gradient_of_lagrangian(v, factor * self.objective_scale, y * self.row_scale)

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
        v, scale = w[:self.n], self.scaled.objective_scale * self.factor
        return self._with_others(scale * self.scaled.program.gradient(v) if scale else np.zeros(self.n), 0.0, w)

    def gradient_of_lagrangian(self, w, y):
        """The same with that of `y . (r + A t)`."""
        a = self.auxiliary
        return self._with_others(self.scaled.gradient_of_lagrangian(w[:self.n], self.factor, y),
                                 a.coefficient * y[a.row], w)

    def _with_others(self, of_v, of_t, w):
        gradient = np.concatenate([of_v, self.auxiliary.cost + of_t])
        if self.weights is not None:
            gradient += self.weights * (w - self.reference)
        return gradient
