"""Guesses that are marched: a motion from the start with held, given or feedback controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...display import digits
from ...errors import InputError
from ..symbols import first_order_places
from .equations_of_motion import EquationsOfMotion, put_efforts

if TYPE_CHECKING:
    from ..system import System


class Rollout(NamedTuple):
    """A motion that was marched: times (n,), states (n, n_z), controls (n, n_controls)."""

    times: np.ndarray
    states: np.ndarray
    controls: np.ndarray


Law = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


def rollout(system: System, z0: np.ndarray, times: np.ndarray, law: Law, steps: int = 1) -> Rollout:
    """The motion from a state under controls `law(t, q, v)`, by Runge and Kutta's method of order 4.

    Parameters
    ----------
    system : System
        Without redundant constraints.
    z0 : ndarray, shape (n_z,)
    times : ndarray, shape (n,)
        Increasing [s], the start first.
    law : callable
        Time, coordinates and velocities, or efforts of ports -> controls of all actuators, shape (n_controls,).
    steps : int
        Between two times.

    Raises
    ------
    InputError
        When the motion leaves all bounds or reaches a singular position, and where a law returns another number of
        controls; tells the time.
    """
    n = system.n_q
    x = np.concatenate([z0[:n], velocity(system, times[0], z0)])
    states, controls = [], []
    n_controls = sum(part.n_controls for part in system.parts)
    for i, t in enumerate(times):
        u = np.asarray(law(float(t), *_seen(system, x)), float)
        if u.shape != (n_controls,) or not np.isfinite(u).all():
            raise InputError(f"rollout: the law must return {n_controls} finite controls at t = {t:g}, not "
                             f"{digits(u)}")
        controls.append(u)
        states.append(_state(system, float(t), x))
        for h, start in _steps(times, i, steps):
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    x = x + h * _mean_rate(system, start, x, h, law)
            except InputError as error:
                raise InputError(f"rollout: the motion ends at t = {start:g}, where {error}; give other controls, or a "
                                 "feedback") from None
    return Rollout(times, np.array(states), np.array(controls))


def _steps(times, i, steps):
    if i + 1 == len(times):
        return []
    h = (times[i + 1] - times[i]) / steps
    return [(h, times[i] + k * h) for k in range(steps)]


def _mean_rate(system, t, x, h, law):
    total, rate = 0.0, 0.0
    for place, weight in ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
        rate = motion_rate(system, t + place * h, x + place * h * rate, law)
        total = total + weight * rate
    return total


def motion_rate(system: System, t: float, x: np.ndarray, law: Law) -> np.ndarray:
    """Rates of `x = (q, v)` under controls `law(t, q, v)`, shape (2 n_q,); of states of first order their rates, and
    zero instead of accelerations."""
    q, v = _seen(system, x)
    at = EquationsOfMotion(system, t, q, v, np.asarray(law(t, q, v), float))
    rate = np.concatenate([at.rates, at.acceleration])
    rate[system.n_q + at.flows] = 0.0
    return rate


def _seen(system, x):
    """Coordinates, and what laws and forces see as velocities, of `x = (q, v)`."""
    q, v = x[:system.n_q], x[system.n_q:].copy()
    put_efforts(system, q, v)
    return q, v


def velocity(system: System, t: float, z: np.ndarray) -> np.ndarray:
    """Velocities of a state, zero for states of first order."""
    v = np.array(system.velocity(t, z))
    v[first_order_places(system)] = 0.0
    return v


def _state(system, t, x):
    n = system.n_q
    z = np.concatenate([x[:n], np.zeros(n)])
    z[n:] = system.momentum(t, z, x[n:])
    return z


def following(system: System, path: Any, held: Any, bounds: np.ndarray, duration: float,
              settled: float = 12.0) -> Law:
    """A feedback that follows a path: what holds it there, and what takes away differences.

    Parameters
    ----------
    path : callable
        Time -> coordinates and velocities, shapes (n_q,).
    held : callable
        Time -> controls that hold the motion at rest, shape (n_controls,).
    bounds : ndarray, shape (2, n_controls)
    duration : float
        [s]
    settled : float
        Time constants of the feedback in the duration.
    """
    rate = settled / duration

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        (place, speed), u = path(t), held(t)
        at = EquationsOfMotion(system, t, q, v, u)
        wanted = rate**2 * (place - q) + 2 * rate * (speed - v)
        wanted[at.flows] = rate * (place - q)[at.flows]
        return np.clip(at.balance(wanted), *bounds)

    return law
