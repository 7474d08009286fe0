"""Optimal control towards targets that move, from where the system is to where it should be, and to any time by way of
durations that are nearly given."""

import casadi as ca
import numpy as np

from ...status import Reason

FIRST, LEAST, GROWTH = 0.25, 0.02, 2.0  # of the way: the first step, the shortest one, and how steps grow


class Shifted:
    """Conditions at the end whose values are to be some others than zero."""

    def __init__(self, conditions, offset):
        self._conditions, self.offset = conditions, offset

    def __call__(self, z, numbers):
        return self._conditions(z, numbers) - ca.DM(self.offset)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._conditions, name)


def towards_the_target(solve, x, bar):
    """Follow the solution from targets near the start to the ones that are meant.

    Parameters
    ----------
    solve : callable
        `solve(share, x)` -> (equations, x, status), of the target at that share of the way;
        1 is the one that is meant.
    x : ndarray
        All unknowns to start from.
    bar
        Of progress; told how far it is.

    Returns
    -------
    equations, x, status
        Of the target that is meant, or a failure; None where not even the first step succeeds.
    """
    share, step, found = 0.0, FIRST, None
    while share < 1:
        goal = min(1.0, share + step)
        bar.note(f"target at {100 * goal:.0f} % of the way")
        trial = solve(goal, x)
        if trial[2].success:
            found, x, share, step = trial, trial[1], goal, GROWTH * step
        elif step > LEAST:
            step /= 4
        else:
            return found and trial
    return found


def through_held_durations(phase, solve, guessed, bar):
    """The solution in any time from that for the first nearly given duration that has one; None where none has.

    Where the end does not depend on the time to first order, as of an oscillator after half a period, a search stops.
    For a given duration such problems can be convex.

    Parameters
    ----------
    phase : OptimalControl
        With free time.
    solve : callable
        `solve(x, phase, near)` -> (equations, x, status).
    guessed : callable
        All unknowns to start from with a duration.
    bar
        Of progress; told how far it is.

    Returns
    -------
    (equations, x, status), or None
    """
    lower, upper = phase.number_bounds[:, 0]
    first, tried = phase.guesses[0], []
    for duration in np.clip([first, 2 * first, 4 * first], lower, upper):
        if duration in tried or duration <= 0:
            continue
        tried.append(duration)
        bar.note(f"with a duration of {duration:.3g} s")
        found = solve(guessed(float(duration)), phase.held_at(duration), False)
        if found[2].success:
            found = solve(found[1], phase, True)
        if found[2].success or found[2].reason == Reason.STOPPED:
            return found
    return None
