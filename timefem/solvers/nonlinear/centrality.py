"""Steps that bring the products of slacks and multipliers closer to mu, by factors at hand.

J. Gondzio: Multiple centrality corrections in a primal-dual method for linear programming. Comput. Optim. Appl. 6
(1996) 137-156; how much longer steps are to become: M. Colombo, J. Gondzio, Comput. Optim. Appl. 41 (2008) 277-305.
Products that are far from others leave short steps. Here only predicted steps are corrected, once.
"""

from . import bounds_loops as loops

LONG = 0.9  # steps from which on there is no correction
LONGER = 0.3  # how much longer steps are to become, and
GAIN = 0.1  # the share of that by which both lengths together must grow
LEAST = 1e-6  # mu up to which there is none: at the end products are to be equal, on which last digits depend


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
        a, b = self._lengths(it, tau, step)
        if mu <= LEAST or min(a, b) >= LONG:
            return step, products
        bounds, (dw, _, dz) = self.barrier.bounds, step
        closer = loops.closer_to_mu(bounds.at, bounds.sign, it.slack, it.z, dw, dz, min(1.0, a + LONGER),
                                    min(1.0, b + LONGER), mu, products)
        corrected = self.direction.step(it, mu, it.c, closer)
        if sum(self._lengths(it, tau, corrected)) < a + b + GAIN * LONGER:
            return step, products
        return corrected, closer

    def _lengths(self, it, tau, step):
        """The longest steps of variables and of the multipliers of bounds."""
        dw, _, dz = step
        return self.barrier.over.combined((), (), (self.barrier.bounds.longest(it.slack, dw, tau),
                                                   loops.longest(it.z, dz, tau)))
