"""Homotopy: Newton's method along a path of problems, with step control."""

from dataclasses import replace
from functools import cache

import numpy as np

from ...status import Reason, Status
from ..equations.nonlinear import NonlinearEquations
from .newton import Newton, newton
from .options import OPTIONS


def follow(solve_at, x, first=OPTIONS.first_step, least=OPTIONS.least_step):
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
        step *= 2 if iterations <= OPTIONS.quick else 1
    return x, s


class Fading(NonlinearEquations):
    """Equations with constant loads besides, that make a guess their solution: `R(x) - factor * loads = 0`.

    Parameters
    ----------
    equations : NonlinearEquations
    loads : ndarray
        The residual at the guess.
    factor : float
    """

    def __init__(self, equations, loads, factor):
        super().__init__()
        self._equations, self._loads, self._factor, self.comm = equations, loads, factor, equations.comm

    @property
    def emphasis(self):
        return self._equations.emphasis

    @property
    def state_unknowns(self):
        return self._equations.state_unknowns

    def evaluate(self, x):
        return self._equations.evaluate(x) - self._factor * self._loads

    def linear_step(self, residual):
        return self._equations.linear_step(residual)

    def solve(self, residual):
        return self._equations.solve(residual)

    def moved(self, x, step, length):
        return self._equations.moved(x, step, length)

    def scaled(self, x):
        return self._equations.scaled(x)

    def take(self, x):
        return self._equations.take(x)

    def gather(self, x, root=None):
        return self._equations.gather(x, root)

    def norm(self, values):
        return self._equations.norm(values)

    def dot(self, a, b):
        return self._equations.dot(a, b)

    @property
    def start(self):
        return self._equations.start

    def worst(self, residual, x=None):
        return self._equations.worst(residual, x)


@cache
def _with_line_search(settings):
    return replace(settings, line_search=True)


def newton_with_homotopy(equations, x, settings, reference, on_iteration=lambda *a: None, natural=False):
    """Newton's method with line search; where it fails, with loads that make the guess a solution and fade away.

    For `natural` see `newton`.

    Returns
    -------
    x : ndarray
    status : Status
        Of the last Newton iteration; "not reached" with the furthest point when the homotopy stops on its way.
    n_iterations : int
    """
    careful = _with_line_search(settings)
    found, status = newton(equations, x, careful, reference, on_iteration, natural)
    total = max(len(status.residual_history) - 1, 0)
    if status.success or status.reason == Reason.STOPPED:
        return found, status, total
    loads = equations.evaluate(x).copy()
    if not np.isfinite(equations.norm(loads)):
        return found, status, total
    rough = Newton(1e-8, 1e-4, 10, True)

    def solve_at(s, guess):
        nonlocal total
        settings = careful if s == 1 else rough
        y, outcome = newton(Fading(equations, loads, 1 - s), guess, settings, reference, on_iteration,
                            natural)
        n = max(len(outcome.residual_history) - 1, 0)
        total += n
        return (y if outcome.success else None), n

    y, s = follow(solve_at, x)
    if s == 1:
        return y, newton(equations, y, careful, reference, on_iteration, natural)[1], total
    residual = Fading(equations, loads, 1 - s).evaluate(y)
    detail = f"{100 * s:.3g} % of the way from the guess to a motion was covered"
    return y, Status.failure(Reason.NOT_REACHED, history=status.residual_history, detail=detail,
                             **equations.worst(residual)), total
