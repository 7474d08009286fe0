"""Newton steps of a barrier problem at its end, until the step itself is small and not its residual alone.

Where the objective is flat, as along a height that a motion may have anywhere within its limits, an error of the
variables is the residual over a small curvature, or that of the barrier alone, which is mu over the square of a slack.
"""

import numpy as np

from . import bounds_loops as loops
from .barrier_parameter import Errors
from .line_search import Iterate


class FinalSteps:
    """Steps of a `Barrier` at the last mu, of an iterate whose derivatives are at hand.

    Parameters
    ----------
    barrier : Barrier
    direction : SearchDirection
    tolerance : float
        Of the conditions of optimality.
    """

    def __init__(self, barrier, direction, tolerance):
        self.barrier, self.direction, self.tolerance = barrier, direction, tolerance

    def __call__(self, it, mu, factored):
        """The last iterate, whose derivatives are at hand, and how many steps it took.

        `factored` tells whether there are factors of the iterate before: by these a small step, the rule, costs little.
        """
        o, last, known = self.barrier.options, np.inf, factored and not self.direction.regularisation.now
        least = (o.large_step if self.direction.regularisation.last else o.large_step_convex) * self.tolerance
        if known and self._size(self.direction.step(it, mu, it.c)[0], it) <= least / o.shorter:
            return it, 0
        for count in range(o.final_steps):
            if not self.direction.factor(it) or self.direction.regularisation.now:
                return it, count
            dw, dy, dz = self.direction.step(it, mu, it.c)
            size = self._size(dw, it)
            if not least < size <= o.final_falls * last:
                return it, count
            new = self._moved(it, dw, dy, dz, mu)
            self.direction.look(new)
            if not Errors(self.barrier, self.direction, new).at(0.0) <= self.tolerance:
                self.direction.look(it)
                return it, count
            it = new
            if last < np.inf and size * size <= o.small_step * self.tolerance * last:  # the next one is small enough
                return it, count + 1
            last, least = size, o.small_step * self.tolerance
        return it, o.final_steps

    def _size(self, dw, it):
        return self.barrier.over.largest(np.abs(dw / (1 + np.abs(it.w))).max(initial=0.0))

    def _moved(self, it, dw, dy, dz, mu):
        barrier, tau = self.barrier, max(0.99, 1 - mu)
        alpha = barrier.over.least(barrier.bounds.longest(it.slack, dw, tau))
        new = Iterate.at(barrier, it.w + alpha * dw, it.y + alpha * dy)
        alpha = barrier.over.least(loops.longest(it.z, dz, tau))
        new.z = barrier.bounds.moved(it.z, dz, alpha, mu, new.slack)
        return new
