"""Entries of the Hessian and of the Jacobian of a program, assembled straight to their places."""

import numpy as np


class Derivatives:
    """Entries of derivatives of a program on a chain at two points: those in use, and those of the last evaluation.

    Of the tangent of the chain, which is symmetric, the others are left out: they would be half of what an evaluation
    writes, and be read again.

    Parameters
    ----------
    chain : OptimalityEquations
    of_hessian, of_jacobian : ndarray of int
        Places in the tangent, rising, of the first entries of the Hessian and of the Jacobian.
    n_hessian, n_jacobian : int
        How many there are, with those that the chain knows nothing of.
    """

    def __init__(self, chain, of_hessian, of_jacobian, n_hessian, n_jacobian):
        self._chain, self._n_hessian = chain, n_hessian
        self._last, self._used = np.empty((2, n_hessian + n_jacobian))
        self._is_last_used = False

        def found(places):
            """Numbers of entries of the tangent here, -1 for those left out."""
            out = np.full(places.shape, -1)
            for first, known in ((0, of_hessian), (n_hessian, of_jacobian)):
                k = np.minimum(np.searchsorted(known, places), len(known) - 1)
                np.copyto(out, first + k, where=known[k] == places)
            return out

        joined, (kind, copy, slots, periods, begins) = chain.places_of_elements, chain.assembler.pattern.places
        own = np.where(slots < 0, -1, found(joined(slots)))
        line, copies = int(kind[np.argmax(copy)]), int(copy.max(initial=0))
        between = found(joined(slots[line] + periods)) - own[line] if copies else np.zeros_like(periods)
        self.places = kind, copy, own, between, begins
        self._of_blocks = [(at[at >= 0], at >= 0) for at in map(found, chain.places_of_blocks)]
        of_ends = np.concatenate([np.zeros(0, int), *(at for at, _ in self._of_blocks)])
        self._cleared = np.setdiff1d(of_ends, own), slice(len(of_hessian), n_hessian)  # no element has any there

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """Residual of the chain at unknowns x."""
        self._is_last_used = False
        for places in self._cleared:
            self._last[places] = 0.0
        return self._chain.evaluate_into(x, self)

    @property
    def values(self) -> np.ndarray:
        """Where those of the evaluation at hand go."""
        return self._last

    def add_blocks(self, *entries: np.ndarray) -> None:
        """Add the entries of the blocks at both ends."""
        for (at, here), added in zip(self._of_blocks, entries, strict=True):
            if len(added):
                self._last[at] += added[here]

    def use(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries of both at the point of the last evaluation, which stay until those of another point are used."""
        if not self._is_last_used:
            self._last, self._used, self._is_last_used = self._used, self._last, True
        return self._used[:self._n_hessian], self._used[self._n_hessian:]
