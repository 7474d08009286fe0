"""Optimal control towards targets that move: from where the system is to where it should be."""

import copy

import casadi as ca
import numpy as np

FIRST, LEAST, GROWTH = 0.25, 0.02, 2.0  # of the way: the first step, the shortest one, and how steps grow


class _Shifted:
    """Conditions at the end whose values are to be some others than zero."""

    def __init__(self, conditions, offset):
        self._conditions, self._offset = conditions, offset

    def __call__(self, z, numbers):
        return self._conditions(z, numbers) - ca.DM(self._offset)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._conditions, name)


def shifted(problem, share):
    """The problem whose conditions at the end hold for a state on the way: that at the start where `share` is 0.

    `c(z(t1)) = (1 - share) c(z0)`; c are the conditions.
    """
    z, numbers = ca.SX.sym("z", len(problem.z0)), ca.SX.sym("c", len(problem.guesses))
    function = ca.Function("conditions", [z, numbers], [ca.densify(problem.conditions(z, numbers))])
    at_start = np.array(function(problem.z0, problem.guesses)).ravel()
    other = copy.copy(problem)
    other.conditions = _Shifted(problem.conditions, (1 - share) * at_start)
    return other


def towards_the_target(problem, solve, x, bar):
    """Follow the solution from targets near the start to the ones that are meant.

    Parameters
    ----------
    problem : OptimalControl
    solve : callable
        `solve(problem, x)` -> (equations, x, status).
    x : ndarray
        All unknowns to start from.
    bar
        Of progress; told how far it is.

    Returns
    -------
    equations, x, status
        Of the problem itself; None where not even the first step succeeds.
    """
    share, step, found = 0.0, FIRST, None
    while share < 1:
        goal = min(1.0, share + step)
        bar.note(f"target at {100 * goal:.0f} % of the way")
        trial = solve(problem if goal == 1 else shifted(problem, goal), x)
        if trial[2].success:
            found, x, share, step = trial, trial[1], goal, GROWTH * step
        elif step > LEAST:
            step /= 4
        else:
            return found and trial
    return found
