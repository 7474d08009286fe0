"""The barrier parameter mu: how far from optimal an iterate is, and what mu the next step is for."""

from . import bounds_loops as loops


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
    Errors need not fall in each step. Where they do not for a few steps, or the Hessian is regularised, mu stays until
    its barrier problem is solved, and falls, as by Fiacco & McCormick (compare J. Nocedal, A. Waechter, R. A. Waltz,
    SIAM J. Optim. 19 (2009) 1674-1693).

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
