"""Guesses that differ: motions that go aside, with waving controls."""

import numpy as np

from .guess import Guess

ASIDE = 0.1, 0.3, 1.0  # how far motions go in the middle [m or rad], in turn
WAVES = 3  # of the controls


def starts(problem, n):
    """The guesses number 0 to n - 1: the default one, then motions that go aside with waving controls in bounds."""
    return [None, *(Guess(bend=ASIDE[k % len(ASIDE)], seed=k, controls=_waves(problem, k)) for k in range(1, n))]


def _waves(problem, seed):
    """Smooth functions of time between the bounds of controls that have two; others are left to the default."""
    rng, found, first, (t0, t1) = np.random.default_rng(seed), {}, 0, problem.t_span
    for actuator in problem.actuators:
        lower, upper = problem.bounds[:, first:first + actuator.n_controls]
        first += actuator.n_controls
        weights = rng.uniform(-1, 1, (WAVES, actuator.n_controls))
        phases = rng.uniform(0, 2 * np.pi, weights.shape)
        if not (np.isfinite(lower) & np.isfinite(upper)).all():
            continue

        def waving(t, weights=weights, phases=phases, lower=lower, upper=upper):
            angle = np.pi * (np.asarray(t)[:, None] - t0) / (t1 - t0)
            waves = sum(w * np.sin((i + 1) * angle + p) for i, (w, p) in enumerate(zip(weights, phases, strict=True)))
            return (lower + upper) / 2 + waves / WAVES * (upper - lower) / 2

        found[actuator] = waving
    return found or None
