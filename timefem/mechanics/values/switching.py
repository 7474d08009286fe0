"""Where forces begin and end: the functions of state and time at whose zeros the formulas of parts are not smooth.

Contacts, stops, slack ropes, tyres, and `fmax`, `if_else`, `fabs`, `sign` in formulas of users. The functions are read
from the formulas themselves: the difference of the operands of each comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...records import frozen
from .evaluate import evaluate
from .quantities import formulas_of, switches_of

if TYPE_CHECKING:
    from ..system import System


@frozen
class SharpOptions:
    """What of a function of time is sharp."""

    samples: int = 20_000  # times at which what depends on the time alone is looked at
    unbounded: float = 10.0  # times its samples: values in between of what has no bound
    same: float = 1e-9  # of the span, up to which two times are one
    sharp: float = 1e-3  # of its range: second difference from sample to sample that is a feature
    few: float = 0.02  # of the samples, at most, in features: what is rough everywhere is seen by any march
    inside: int = 9  # times in a feature
    aside: tuple = (0.25, 1.0, 4.0)  # and beside it, in its widths, for its tails


SHARP_TIMES = SharpOptions()


class Switching:
    """Switching functions of a system, shape (..., n): forces are smooth while none of them changes its sign.

    Parameters
    ----------
    system : System
    steep : bool
        Whether regularised jumps have functions, too, such as friction with a width: then forces are also even.

    Attributes
    ----------
    n : int
    parts : list of Part
        Whose each of them is.
    """

    def __init__(self, system: System, steep: bool = False) -> None:
        self.system, self.parts, self._groups = system, [], []
        for number, group in enumerate(system.groups):
            found = switches_of(group.part, steep)
            if found.switching is not None:
                self._groups.append((number, found.switching, formulas_of(group.part).solved))
                self.parts += [part for part in group.members for _ in range(found.switching.size1_out(0))]
        self.n = len(self.parts)

    def values(self, t: np.ndarray, z: np.ndarray) -> np.ndarray:
        """At times (n_points,) and states (n_points, n_z); shape (n_points, n)."""
        velocities = self.system.velocity(t, z) if any(solved for *_, solved in self._groups) else None
        found = []
        for number, function, solved in self._groups:
            group = self.system.groups[number]
            index = group.state_index
            rates = [velocities[:, index[:, :index.shape[1] // 2]]] if solved else []
            local = np.concatenate([z[:, index], *rates], axis=2)
            found.append(evaluate(function, local, t, group.parameters).reshape(len(t), -1))
        return np.concatenate(found, axis=1) if found else np.zeros((len(t), 0))


def switching_of(system: System, steep: bool = False) -> Switching | None:
    """The `Switching` of a system; None of one that has no such functions."""
    known = system.__dict__.setdefault("_switching", {})
    if steep not in known:
        has = any(switches_of(group.part, steep).switching is not None for group in system.groups)
        known[steep] = Switching(system, steep) if has else None
    return known[steep]


def sharp_times(system: System, t_span: tuple[float, float]) -> np.ndarray:
    """Times at which what depends on the time alone jumps, begins, turns or ends within a small part of the span."""
    found = []
    for group in system.groups:
        functions = switches_of(group.part)
        if functions.of_time is None:
            continue
        t = np.linspace(*t_span, SHARP_TIMES.samples)
        for parameters in group.parameters:
            values = np.array(functions.of_time.map(SHARP_TIMES.samples)(t[None], parameters))
            if not np.isfinite(values).all():
                continue
            switches = [] if functions.in_time is None else _zeros(functions.in_time, t, parameters)
            times = np.array(switches + [time for row in values for time in _features(t, row, np.array(switches))])
            if len(times):  # where a function grows without bound, elements are not to end
                aside = SHARP_TIMES.same * np.ptp(t)
                near = np.concatenate([times, times + aside, times - aside])
                there = np.array(functions.of_time.map(len(near))(near[None], parameters))
                with np.errstate(invalid="ignore"):
                    if (np.abs(there) <= SHARP_TIMES.unbounded * np.abs(values).max(axis=1)[:, None]).all():
                        found += list(times)
    found, span = np.unique(found), t_span[1] - t_span[0]
    known = np.concatenate([t_span, system.kinks])
    found = found[np.abs(found[:, None] - known).min(axis=1, initial=np.inf) > SHARP_TIMES.same * span]
    return found[np.diff(found, prepend=-np.inf) > SHARP_TIMES.same * span]


def _zeros(function, t, parameters):
    """Times at which functions of time change their signs, by bisection between samples."""
    values, found = np.array(function.map(len(t))(t[None], parameters)), []
    for i, row in enumerate(values):
        known = np.flatnonzero(row)  # a sample that is zero is between those beside it
        for k in np.flatnonzero(np.sign(row[known[1:]]) != np.sign(row[known[:-1]])):
            low, high, after = t[known[k]], t[known[k + 1]], np.sign(row[known[k + 1]])
            while low < (low + high) / 2 < high:
                middle = (low + high) / 2
                if np.sign(float(function(middle, parameters)[i])) == after:
                    high = middle
                else:
                    low = middle
            found.append(high)
    return found


def _features(t, values, known):
    """Times around which a function changes abruptly, where these are few, and apart from the times that are known."""
    size = np.ptp(values)
    sharp = np.flatnonzero(np.abs(np.diff(values, 2)) > SHARP_TIMES.sharp * size) + 1 if size > 0 else np.zeros(0, int)
    if not 0 < len(sharp) <= SHARP_TIMES.few * len(t):
        return []
    found, step = [], t[1] - t[0]
    for cluster in np.split(sharp, np.flatnonzero(np.diff(sharp) > 2) + 1):
        low, high = t[cluster[0]] - step, t[cluster[-1]] + step
        if high - low < 4 * step and ((known >= low) & (known <= high)).any():
            continue
        aside = (high - low) * np.array(SHARP_TIMES.aside)
        found += [*np.linspace(low, high, SHARP_TIMES.inside), *(low - aside), *(high + aside)]
    return found
