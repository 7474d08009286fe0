"""Bounds of variables: slacks, the logarithmic barrier, and steps of the multipliers."""

import numpy as np

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
