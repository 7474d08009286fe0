"""The barrier parameter mu: how far from optimal an iterate is, and what mu the next step is for."""

from . import bounds_loops as loops

SUFFICIENT = 10.0  # error over mu below which mu falls
# The same while the regularisations of the Hessian, the last one and this, are within these limits: along such a valley
# the gradient is small far from the minimum, and once mu has fallen, bounds leave short steps only. Limits are between
# values that regularisations take, 1e-2 and a third of it, 1e-6 and eight times that: the first that is needed is often
# 1e-2, which tells nothing yet
VALLEY, SUFFICIENT_THERE = (3e-6, 6e-3), 1.0
SLOWLY, QUICKLY = 0.2, 0.01  # factor by which it does at least, and at most: far ahead of the iterate, steps are short
ROUGHLY = 0.5  # error of an iterate that is close to a solution
LARGE = 100.0  # mean multiplier from which on errors are relative to it
# Of predictions: the least mu over the mean product now, and errors of so many steps of which one has to be larger
LEAST_SHARE, REMEMBERED = 0.01, 4


class Errors:
    """Largest violations of the optimality conditions at an iterate, relative to multipliers where these are large.

    Attributes
    ----------
    rows : float
        Of the rows.
    """

    def __init__(self, barrier, direction, it):
        bounds = barrier.bounds
        y, z, dual, rows, most, least = loops.errors(direction.of_lagrangian, it.y, it.c, bounds.at, bounds.sign,
                                                     it.slack, it.z)
        y, z, dual, self.rows, most, least = barrier.over.combined((y, z), (dual, rows, most), (least,))
        by_dual = max(LARGE, (y + z) / max(barrier.n_rows + barrier.n_bounds, 1)) / LARGE
        self._by_bounds = max(LARGE, z / max(barrier.n_bounds, 1)) / LARGE
        self._others, self._products = max(dual / by_dual, self.rows), (most, least)

    def at(self, mu):
        """The largest, complementarity being `slack z = mu`."""
        most, least = self._products
        return max(self._others, max(most - mu, mu - least) / self._by_bounds)


class BarrierParameter:
    """What mu a step is for.

    From the solution of the first barrier problem on, or from a start close to a solution, where the Hessian needs no
    regularisation, a predictor tells how far the products `slack z` fall along the step to mu = 0, and mu aims as far
    (S. Mehrotra, SIAM J. Optim. 2 (1992) 575-601); the step then counts on the products of the changes as well. Errors
    need not fall in each step. Where they do not for a few steps, or the Hessian is regularised, mu stays until its
    barrier problem is solved, and falls, as by Fiacco & McCormick (compare J. Nocedal, A. Waechter, R. A. Waltz, SIAM
    J. Optim. 19 (2009) 1674-1693).

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
        sufficient, error, regularisation = SUFFICIENT, errors.at(0.0), self.direction.regularisation.now
        last, self._regularisation = self._regularisation, regularisation
        if not self._predicts or regularisation:
            self._errors = None
        elif self._errors is None:
            begins = errors.at(mu) <= SUFFICIENT * mu or (self._warm and error <= ROUGHLY)
            self._errors = [error] if begins else None
        else:
            grows = len(self._errors) >= REMEMBERED and error >= max(self._errors[-REMEMBERED:])
            self._errors = None if grows else [*self._errors, error]
        self._warm = False
        if self.predicted:
            return self._prediction(it)
        if all(VALLEY[0] < r < VALLEY[1] for r in (last, regularisation)):
            sufficient = SUFFICIENT_THERE
        while mu > self.least and errors.at(mu) <= sufficient * mu:
            mu = max(self.least, min(SLOWLY * mu, max(QUICKLY * mu, mu**1.5)))
        return mu, None

    def _prediction(self, it):
        bounds = self.barrier.bounds
        products, *sums, a, b = loops.to_zero(bounds.at, bounds.sign, it.slack, it.z, self.direction.towards_zero(it))
        now, by_slack, by_z, by_both, a, b = self.barrier.over.combined(sums, (), (a, b))
        then = now + a * by_slack + b * by_z + a * b * by_both
        share = max(LEAST_SHARE, min(1.0, (then / now)**3))
        return max(self.least, share * now / self.barrier.n_bounds), a * b * products
