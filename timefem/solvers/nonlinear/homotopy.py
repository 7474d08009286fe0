"""Homotopy: Newton's method along a path of problems, with step control."""

import numpy as np

from ...status import Status
from .newton import Newton, newton

FIRST_STEP = 0.125
LEAST_STEP = 1e-4
QUICK = 5  # iterations up to which the next step is longer


def follow(solve_at, x, first=FIRST_STEP, least=LEAST_STEP):
    """Follow solutions from s = 0 to s = 1.

    Parameters
    ----------
    solve_at : callable
        `solve_at(s, guess)` -> (x, iterations), or (None, iterations) when it fails.
    x
        Solution at s = 0.
    first, least : float
        First step, and the shortest one to try. Steps grow after quick solves and shrink after failures.

    Returns
    -------
    x
        The last solution.
    s : float
        Where it stands; 1 at the end.
    """
    s, step = 0.0, first
    while s < 1:
        following = min(1.0, s + step)
        found, iterations = solve_at(following, x)
        if found is None:
            step = (following - s) / 3
            if step < least:
                break
            continue
        x, s = found, following
        step *= 2 if iterations <= QUICK else 1
    return x, s


class Fading:
    """A system with constant loads besides, that make a guess its solution: they are to fade away.

    Parameters
    ----------
    chain : ChainSystem
    loads : ndarray
        The residual at the guess.
    factor : float
    """

    def __init__(self, chain, loads, factor):
        self._chain, self._loads, self._factor = chain, loads, factor

    def evaluate(self, x):
        return self._chain.evaluate(x) - self._factor * self._loads

    def __getattr__(self, name):
        return getattr(self._chain, name)


def newton_with_homotopy(chain, x, settings, reference, on_iteration=lambda *a: None):
    """Newton's method with line search; where it fails, with loads that make the guess a solution and fade away.

    Returns
    -------
    x : ndarray
    status : Status
        Of the last Newton iteration; "not reached" with the furthest point when the homotopy stops on its way.
    n_iterations : int
    """
    careful = Newton(settings.tol_residual, settings.tol_increment, settings.max_iterations, True)
    found, status = newton(chain, x, careful, reference, on_iteration)
    total = max(len(status.residual_history) - 1, 0)
    if status.success or status.reason == "stopped":
        return found, status, total
    loads = chain.evaluate(x).copy()
    if not np.isfinite(chain.norm(loads)):
        return found, status, total
    rough = Newton(1e-8, 1e-4, 10, True)

    def solve_at(s, guess):
        nonlocal total
        y, outcome = newton(Fading(chain, loads, 1 - s), guess, careful if s == 1 else rough, reference, on_iteration)
        n = max(len(outcome.residual_history) - 1, 0)
        total += n
        return (y if outcome.success else None), n

    y, s = follow(solve_at, x)
    if s == 1:
        return y, newton(chain, y, careful, reference, on_iteration)[1], total
    residual = Fading(chain, loads, 1 - s).evaluate(y)
    detail = f"of the way from the guess to a motion {100 * s:.3g} % were gone"
    return y, Status.failure("not reached", history=status.residual_history, detail=detail,
                             **chain.worst(residual)), total
