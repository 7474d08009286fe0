"""Steps that bring the products of slacks and multipliers closer to mu, by factors at hand.

J. Gondzio: Multiple centrality corrections in a primal-dual method for linear programming. Comput. Optim. Appl. 6
(1996) 137-156; how much longer steps are to become: M. Colombo, J. Gondzio, Comput. Optim. Appl. 41 (2008) 277-305.
Products that are far from others leave short steps. Here only predicted steps are corrected, once.
"""

from . import bounds_loops as loops


class CentralityCorrection:
    """Corrects steps of a `Barrier` by what is known at an iterate.

    Parameters
    ----------
    barrier : Barrier
    direction : SearchDirection
    """

    def __init__(self, barrier, direction):
        self.barrier, self.direction = barrier, direction

    def __call__(self, it, mu, tau, step, products):
        """The step (dw, dy, dz) for mu and `products`, as of `SearchDirection`, or a longer one, with its products."""
        o, (a, b) = self.barrier.options, self._lengths(it, tau, step)
        if mu <= o.corrected_above or min(a, b) >= o.corrected_below:
            return step, products
        bounds, (dw, _, dz) = self.barrier.bounds, step
        closer = loops.closer_to_mu(bounds.at, bounds.sign, it.slack, it.z, dw, dz, min(1.0, a + o.longer),
                                    min(1.0, b + o.longer), mu, products)
        corrected = self.direction.step(it, mu, it.c, closer)
        if sum(self._lengths(it, tau, corrected)) < a + b + o.gain * o.longer:
            return step, products
        return corrected, closer

    def _lengths(self, it, tau, step):
        """The longest steps of variables and of the multipliers of bounds."""
        dw, _, dz = step
        return self.barrier.over.combined((), (), (self.barrier.bounds.longest(it.slack, dw, tau),
                                                   loops.longest(it.z, dz, tau)))
