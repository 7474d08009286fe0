"""Motions without dynamics from live data: a window of frames that moves."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .kinematic.fit import Fitter, go_on
from .kinematic.noise import densities
from .kinematic.smoother import Iterate
from .kinematic.solve import estimate_of, solve_kinematic
from .kinematic.statement import limits_of, places_among, sensors_of
from .live_data import LiveData
from .options import DEFAULTS

if TYPE_CHECKING:
    from .measurements.base import Sensor


class Arrival:
    """What lies before a window as a measurement of its first frame and of unknown numbers: `root m - start` with
    open motions `m = to_motion (x - x_0)` and changes of the numbers.

    It offers what a smoother asks of `Measured`.
    """

    losses, sensors, parts, robust, of_places = (), (), (), False, False
    frames = np.zeros(1, int)

    def __init__(self, root, start, to_motion, at):
        size, (levels, n) = len(to_motion), at.x.shape[1:]
        self._root, self._c, self._x, self.n_values = root, at.c, at.x[-1:].copy(), len(start)
        slopes = (root[:, :size] @ to_motion).reshape(-1, levels, n)
        self._slopes, self._by_numbers = [slopes[None, :, level] for level in range(levels)], root[None, :, size:]
        self._start = start

    def residuals(self, x, c, rows=slice(None), white=True):
        change = x[:1] - self._x
        out = sum((slope @ change[:, level, :, None])[..., 0] for level, slope in enumerate(self._slopes))
        return out + self._by_numbers[0] @ (c - self._c) - self._start

    def linearized(self, x, c, rows):
        return self.residuals(x, c), [*self._slopes, self._by_numbers]

    def ratio_of(self, x, c):
        return float(np.sqrt(np.mean(self.residuals(x, c)**2))), "what came before"


class FrameWindow(LiveData):
    """Estimates without dynamics as measurements come in; made by `Solver.update`.

    Parameters
    ----------
    task : Task
        Of the first measurements.
    """

    def __init__(self, task: Any) -> None:
        self.task, self.problem = task, task.problem
        self._fit = self._prior = None

    def update(self, sensors: list[Sensor], window: float | None) -> Any:
        """The `KinematicEstimate` with further measurements, of the last `window` seconds."""
        start = time.perf_counter()
        if self._fit is None:
            self.known_clocks(self.problem)
            self._titles = [sensor.title for sensor in sensors_of(self.problem)]
            self._fit = solve_kinematic(self.task)._found
            self._fitter = self._fit.fitter
            self._fitter.asked = self._fitter.asked._replace(comm=None)  # each rank goes on by itself
        if sensors:
            self.problem = self.extended(self.problem, sensors)
            if window is not None and self.problem.t_span[1] - self.problem.t_span[0] > window * (
                    1 + DEFAULTS.same_time):
                self._cut(window)
            smoother = self._smoother(self.problem)
            self._fit = go_on(smoother, *self._ahead(smoother), limits_of(self.problem))
            self._fit.again = self._again
        task = dataclasses.replace(self.task, problem=self.problem, mesh=self.problem.own_mesh)
        return estimate_of(task, self._fit, time.perf_counter() - start)

    def _smoother(self, problem):
        sensors = sensors_of(problem)
        numbers = [self._titles.index(sensor.title) for sensor in sensors]
        return self._fitter.smoother(sensors, problem.z0[:problem.system.n_q], problem.t_span, self._prior, numbers)

    def _again(self, sensors):
        """The fit of other sensors of the window."""
        problem, fit = self.problem, self._fit
        asked = self._fitter.asked._replace(limits=limits_of(problem))
        fitter = Fitter(problem.system, list(sensors), lambda geometry: densities(geometry, problem.noise), asked)
        smoother = fitter.smoother(sensors, problem.z0[:problem.system.n_q], problem.t_span)
        return go_on(smoother, fit.x.copy(), smoother.mean, asked.limits)

    def _ahead(self, smoother):
        """States of the frames of a smoother: those that are known, and the last one that goes on; and numbers."""
        t, fit = smoother.t, self._fit
        known = fit.smoother.t
        x = fit.x[places_among(known, t)]
        after = np.flatnonzero(t > known[-1] + DEFAULTS.same_time * (t[-1] - t[0]))
        h = (t[after] - known[-1])[:, None]
        for level in range(x.shape[1]):
            ways = (fit.x[-1, k] * h**(k - level) / max(1, k - level) for k in range(level, x.shape[1]))
            x[after, level] = sum(ways)
        return x, fit.c

    def _cut(self, window):
        """Let the problem begin later, with what lies before as the prior of its first frame."""
        problem, fit = self.problem, self._fit
        known, t1 = fit.smoother.t, problem.t_span[1]
        n = int(np.searchsorted(known, t1 - window * (1 + DEFAULTS.same_time)))
        n = min(n, len(known) - 1)
        if n == 0:
            return
        before = problem.until(float(known[n]))
        smoother = self._smoother(before)
        at = Iterate(fit.x[:n + 1], fit.c, [])
        at.weights = smoother.weights(at.x, at.c)
        self._prior = Arrival(*smoother.arrival(at), at)
        self.problem = self.after(problem, float(known[n]), window)
        z0 = problem.z0.copy()
        z0[:problem.system.n_q] = fit.x[n, 0]
        self.problem.z0, self.problem.arrival = z0, self._prior
