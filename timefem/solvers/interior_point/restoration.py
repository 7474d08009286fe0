"""The restoration phase: rows made less violated where the line search finds no step.

Minimise `rho sum(p + n) + zeta/2 |D (w - w_R)|^2` with `c(w) - p + n = 0` and `p, n >= 0` (Waechter & Biegler, Math.
Program. 106 (2006), Sect. 3.3), by the same iterations. The elastic variables p and n are eliminated within their rows,
so that the pattern stays.
"""

import numpy as np

from ...status import Reason
from .barrier import Auxiliary, Barrier
from .bounds_loops import longest
from .kkt import SearchDirection
from .line_search import Iterate


class Restoration:
    """Finds an iterate that the filter takes and that violates the rows less.

    Parameters
    ----------
    barrier : Barrier
        Of the program.
    direction : SearchDirection
    loop : Loop

    Attributes
    ----------
    leaves : bool
        Whether to end at saddle points of the violation, with "symmetric".
    """

    leaves = False

    def __init__(self, barrier, direction, loop):
        self.barrier, self.direction, self.loop, self.options = barrier, direction, loop, barrier.options
        self._left, self._weight, self._first = self.options.restored, 1.0, None

    def __call__(self, it, mu, taken):
        """The next iterate, mu and "left", or the last one and why there is none.

        Where no way leads on from the corner of bounds that restorations came to, the first of them is done again, with
        bounds that count beside the violation, and so are kept away from.
        """
        self._first = self._first or (it, mu)
        found, outcome = self._restored(it, mu, taken)
        if outcome != Reason.INFEASIBLE or self._weight > 1 or not self.barrier.n_bounds:
            return found, mu, outcome
        it, mu = self._first
        it = Iterate(it.w, it.y, it.z, *self.barrier.values(it.w))
        self._left, self._weight, taken.entries = self.options.restored, self.options.centred, []
        again, outcome = self._restored(it, mu, taken)
        return again if outcome in ("left", "symmetric") else found, mu, outcome

    def _restored(self, it, mu, taken):
        main, n, o = self.barrier, len(it.w), self.options
        rows = np.arange(main.m)
        elastic = [Auxiliary(rows, sign, o.rho, 0.0, np.inf, 0.0) for sign in (-1.0, 1.0)]
        weights = np.zeros(n + 2 * main.m)
        weights[:n] = np.sqrt(mu) * np.minimum(1.0, 1.0 / np.maximum(np.abs(it.w), 1e-300))**2
        barrier = Barrier(main.scaled, main.auxiliary.joined(elastic[0]).joined(elastic[1]), 0.0,
                          np.concatenate([it.w, np.zeros(2 * main.m)]), weights)
        least = it.theta

        def leave(now, error):
            """Where the program's own filter takes the point, or no step will leave less violation."""
            f, c, theta, well, _ = main.values(now.w[:n])
            if theta <= self._left * least and taken.takes(theta, f + mu * well):
                return "left"
            if error <= o.rho * self.loop.settings.tolerance and violation(c) > o.violated:
                return "solved"
            return None

        def violation(c):
            return main.over.largest(np.abs(c).max(initial=0.0))

        start, mu_start = self._start(barrier, it, mu)
        direction = SearchDirection(self.direction.matrix, barrier)
        found, _, outcome = self.loop.run(barrier, direction, start, mu_start, leave=leave, leaves=self.leaves)
        if outcome == "left":
            self._left *= o.restored_again
            return self._back(it, found.w[:n], mu), "left"
        now = Iterate(found.w[:n], found.y / o.rho, it.z, *main.values(found.w[:n]))
        if outcome == "stuck" and violation(now.c) > o.violated:
            outcome = "solved"  # no step leaves less violation
        if outcome == Reason.STOPPED:
            return now, outcome
        if outcome == "saddle":
            return now, "symmetric"
        missed = outcome not in (Reason.NOT_CONVERGED, "stuck") and violation(now.c) > self.loop.settings.tolerance
        return now, Reason.INFEASIBLE if missed else Reason.NOT_CONVERGED

    def _start(self, barrier, it, mu):
        rho, mu = self.options.rho, self._weight * max(mu, barrier.over.largest(np.abs(it.c).max(initial=0.0)))
        half = (mu - rho * it.c) / (2 * rho)
        n = half + np.sqrt(half**2 + mu * it.c / (2 * rho))
        p = it.c + n
        low, high = np.split(np.minimum(rho, it.z), [self.barrier.bounds.n_low])
        w = np.concatenate([it.w, p, n])
        z = np.concatenate([low, mu / p, mu / n, high])
        return Iterate(w, np.zeros(barrier.m), z, *barrier.values(w)), mu

    def _back(self, it, w, mu):
        """An iterate of the program at w, with multipliers that a step there would have given."""
        main = self.barrier
        dz = main.bounds.change(it.slack, it.z, w - it.w, mu)
        z = it.z + main.over.least(longest(it.z, dz, max(0.99, 1 - mu))) * dz
        if main.over.largest(z.max(initial=0.0)) > self.options.largest_of_bounds:
            z = np.ones_like(z)
        new = Iterate(w, np.zeros(main.m), z, *main.values(w))
        self.direction.look(new)
        new.y = self.direction.multipliers(new)
        return new
