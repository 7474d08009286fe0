"""Bounds of controls, their rates and unknown numbers: as arrays, and as limits where they depend on the time."""

from functools import partial

import casadi as ca
import numpy as np

from ...argument_names import known_names
from ...errors import InputError
from ..common.end import End
from .limits import Limit, is_timed

NONE = (None, None)


def bounds_of(problem, bounds):
    """Lower and upper bounds of all controls and of the unknown numbers, (2, n) each, and limits for what depends on
    the time.

    Raises
    ------
    InputError
        For what is no control or unknown number, pairs of another length, and lower bounds above upper ones.
    """
    bounds, controls, limits = _pairs("bounds", bounds, problem, problem.unknown_names), [], []
    for actuator in problem.actuators:
        pair, title = bounds.get(actuator, NONE), f"bounds of {problem.system.label(actuator)}"
        if is_timed(pair):
            limits.append(Limit(partial(_control, actuator), *pair, name=title))
            pair = NONE
        controls.append(_pair(title, pair, actuator.n_controls))
    numbers = [_pair(f"bounds of {name}", bounds.get(name, NONE), 1) for name in problem.unknown_names]
    return *(np.concatenate([np.zeros((2, 0)), *x], axis=1) for x in (controls, numbers)), limits


def rate_limits(problem, rates):
    """Of each actuator whose controls have limited rates: the places of its controls, and their `Limit`."""
    rates, first, found = _pairs("rates", rates, problem), 0, []
    for actuator in problem.actuators:
        place, first = slice(first, first + actuator.n_controls), first + actuator.n_controls
        pair, title = rates.get(actuator, NONE), f"rates of {problem.system.label(actuator)}"
        if not is_timed(pair) and not np.isfinite(_pair(title, pair, actuator.n_controls)).any():
            continue
        limit = Limit(_rates, *pair, name=title)
        limit.rows(End(problem.system, ca.SX.sym("t"), None, {}), ca.SX.sym("rate", actuator.n_controls))
        found.append((place, limit))
    return found


def _pairs(what, bounds, problem, names=()):
    """Bounds by actuator or name, checked."""
    bounds = {} if bounds is None else bounds
    if not isinstance(bounds, dict):
        raise InputError(f"{what} must be a dict from actuator or name to (lower, upper), not {bounds!r}")
    for key in (bounds := by_actuator(problem.system, problem.actuators, bounds, names)):
        if not any(key is a for a in problem.actuators) and not (isinstance(key, str) and key in names):
            known = known_names(key, [*map(problem.system.label, problem.actuators), *names], "known are")
            free = "; give free_time=True for an unknown duration" if key == "duration" and what == "bounds" else ""
            raise InputError(f"{what}: {key!r} is neither an actuator of the problem nor the name of an unknown number"
                             f"{known}{free}")
    return bounds


def by_actuator(system, actuators, bounds, names):
    """Bounds with the system's actuators as keys in the place of names, but for the `names` of unknown numbers."""
    own = {name: actuator for actuator in actuators if (name := system.label(actuator)) not in names}
    return {own.get(key, key) if isinstance(key, str) else system.here(key): pair for key, pair in bounds.items()}


def _control(actuator, now, u):
    return now.control(actuator)


def _rates(now, rates):
    return rates


def _pair(name, value, n):
    """Lower and upper bounds, shape (2, n)."""
    if value is NONE:
        return np.array([[-np.inf] * n, [np.inf] * n])
    try:
        lower, upper = value
        sides = [[sign * np.inf if x is None else x for x in np.atleast_1d(np.asarray(side, object))]
                 for side, sign in ((lower, -1), (upper, 1))]
        out = np.array([np.broadcast_to(np.array(side, float), (n,)) for side in sides])
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a pair (lower, upper) of numbers or of {n} numbers each, not "
                         f"{value!r}") from None
    if np.isnan(out).any() or np.any(out[0] >= out[1]):
        raise InputError(f"{name}: the lower one must be below the upper one, not {value!r}")
    return out
