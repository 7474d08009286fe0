"""Guesses that are marched: a motion from the start with held, given or feedback controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...display import digits
from ...errors import InputError
from ..states.consistent import assembled, projected
from ..symbols import first_order_places
from .equations_of_motion import EquationsOfMotion, put_efforts
from .measures import OPTIONS, TINY

if TYPE_CHECKING:
    from ..system import System


class Rollout(NamedTuple):
    """A motion that was marched: times (n,), states (n, n_z), controls (n, n_controls)."""

    times: np.ndarray
    states: np.ndarray
    controls: np.ndarray


Law = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


def rollout(system: System, z0: np.ndarray, times: np.ndarray, law: Law, steps: int = 1,
            halvings: int | None = None) -> Rollout:
    """The motion from a state under controls `law(t, q, v)`, by Runge and Kutta's method of order 4, in shorter steps
    where parts are stiff.

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
        Between two times, at least.
    halvings : int, optional
        Of these, at most; default: that of the options.

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
    steps_on = _Steps(system, law, times[-1] - times[0], OPTIONS.halvings if halvings is None else halvings)
    for i, t in enumerate(times):
        u = np.asarray(law(float(t), *_seen(system, x)), float)
        if u.shape != (n_controls,) or not np.isfinite(u).all():
            raise InputError(f"rollout: the law must return {n_controls} finite controls at t = {t:g}, not "
                             f"{digits(u)}")
        controls.append(u)
        states.append(_state(system, float(t), x))
        if i + 1 < len(times):
            x = steps_on.reached(float(t), x, float(times[i + 1]), steps)
    return Rollout(times, np.array(states), np.array(controls))


def _consistent(system, t, x):
    """`x = (q, v)` brought back to the constraints, which steps leave: turning bodies by the fourth power."""
    if not (system.n_constraints or system.n_nonholonomic) or not np.isfinite(x).all():
        return x
    n, every = system.n_q, np.ones(system.n_q)
    q = assembled(system, t, x[:n], every)
    p = system.momentum(t, np.concatenate([q, np.zeros(n)]), x[n:])
    return np.concatenate([q, velocity(system, t, np.concatenate([q, projected(system, t, q, p, every)]))])


class _Steps:
    """Steps of Runge and Kutta's method, halved where they are too long for what is stiff: where the formula of order 3
    that has the rate at their end for a tenth of the last slope differs by too much."""

    def __init__(self, system, law, span, halvings):
        self.system, self.law, self.halvings = system, law, halvings
        self.root, self.span = np.sqrt(system.mass_scale), span
        self.rate, self.fastest = None, 0.0  # where it is; in the metric of the mass, on the way

    def reached(self, t, x, end, n):
        """`x = (q, v)` at the end, in n steps or more."""
        h, halved = (end - t) / n, 0
        while t < end:
            left = np.ceil((end - t) / h * (1 - 1e-9))
            to, refused = (end if left <= 1 else t + (end - t) / left), None
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    error, trial = self._step(t, x, to - t)
            except InputError as why:
                error, refused = np.inf, why
            if error <= OPTIONS.step_error:
                t, x = to, trial
                if halved and error <= OPTIONS.step_error / 32:
                    h, halved = 2 * h, halved - 1
            elif halved < self.halvings:
                h, halved = h / 2, halved + 1
            else:
                refused = refused or f"steps of {h:.2g} s are too long: parts are too stiff, or it leaves all bounds"
                raise InputError(f"rollout: the motion ends at t = {t:g}, where {refused}; give other controls, or a "
                                 "feedback")
        return x

    def _step(self, t, x, h):
        """Error of a step in the metric of the mass, by the fastest motion, and `x` at its end."""
        n = self.system.n_q
        slopes = [motion_rate(self.system, t, x, self.law) if self.rate is None else self.rate]
        for share in (0.5, 0.5, 1.0):
            slopes.append(motion_rate(self.system, t + share * h, x + share * h * slopes[-1], self.law))
        trial = x + h / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3])
        trial = _consistent(self.system, t + h, trial)
        slopes.append(motion_rate(self.system, t + h, trial, self.law))
        off = h / 10 * (slopes[3] - slopes[4])
        fastest = max(self.fastest, *(np.linalg.norm(self.root * slope[:n]) for slope in slopes[:3]))
        error = max(np.linalg.norm(self.root * off[:n]) / self.span, np.linalg.norm(self.root * off[n:]))
        error /= max(fastest, TINY)
        if error <= OPTIONS.step_error:
            self.rate, self.fastest = slopes[4], fastest
        return error, trial


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
