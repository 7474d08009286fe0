"""Estimation of live data: a window that moves, with what lies before it as the prior of its start."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from ...assembly import TimeMesh
from ...errors import InputError
from ...progress import progress
from .dynamic.chain import EstimationChain
from .dynamic.search import Search, prolonged
from .kind import estimate_of
from .kinematic.fit import Fitter, go_on
from .kinematic.smoother import Iterate
from .kinematic.solve import estimate_of as estimate_of_frames
from .kinematic.solve import solve_kinematic
from .kinematic.statement import densities, limits_of, places_among, sensors_of
from .options import DEFAULTS
from .sensor import Sensor


class LiveData:
    """What windows that move do to a problem."""

    @staticmethod
    def extended(problem: Any, sensors: list[Sensor]) -> Any:
        """The problem with further values, until the last of them."""
        known = {s.title: i for i, s in enumerate(problem.measurements)}
        if len(known) < len(problem.measurements):
            title = next(s.title for i, s in enumerate(problem.measurements) if known[s.title] != i)
            raise InputError(f"update finds sensors by their names, and two are called {title!r}: give each a name")
        other, end = problem.copied(), problem.t_span[1]
        other.measurements, other.silent = list(problem.measurements), dict(problem.silent)
        for sensor in sensors:
            title = sensor.title if isinstance(sensor, Sensor) else None
            if title in other.silent:
                silent, own = other.silent.pop(title)
                known[title] = len(other.measurements)
                other.measurements.append(silent.followed_by(sensor, problem.t_span[1]).of_times(
                    np.arange(len(silent.times) + len(sensor.times)) >= len(silent.times)))
                other.unknowns = [u._replace(sensor=known[title]) if u.label in own else u for u in other.unknowns]
            elif title in known:
                i = known[title]
                other.measurements[i] = other.measurements[i].followed_by(sensor, problem.t_span[1])
            else:
                raise InputError(f"update takes further values of sensors of the problem, "
                                 f"{', '.join([*known, *problem.silent])}, by their names, not {sensor!r}")
            end = max(end, float(sensor.times[-1] + sensor.offset))
        other.t_span, other.nodes = (problem.t_span[0], end), other.measurements
        return other

    @staticmethod
    def known_clocks(problem: Any) -> None:
        """InputError for sensors whose clock is to be found."""
        late = next((sensor for sensor in problem.measurements if sensor.is_late), None)
        if late is not None:
            raise InputError(f"{late.title}: a window that moves takes sensors whose clock is known; find its "
                             "time_offset from all data first, and give it as a number")

    @staticmethod
    def after(problem: Any, t: float, window: float) -> Any:
        """The problem from a time on, without what was known of its start; sensors without values there are `silent`
        until they have some again."""
        span = problem.t_span
        room = DEFAULTS.same_time * (span[1] - span[0])
        kept = [sensor.times_of_motion > t + room for sensor in problem.measurements]
        found = [sensor.of_times(own) if own.any() else None
                 for sensor, own in zip(problem.measurements, kept, strict=True)]
        if not any(found):
            raise InputError(f"no measurement has values in the last {window:g} s; take a longer window")
        other = problem.with_measurements(found)
        labels = [{u.label for u in problem.unknowns if u.sensor == i} for i in range(len(found))]
        other.silent = problem.silent | {sensor.title: (sensor, own) for sensor, own, values in zip(
            problem.measurements, labels, found, strict=True) if values is None}
        other.ambient, other.start_sensors, other.t_span = None, ([], []), (t, span[1])
        return other


class Window(LiveData):
    """Estimates of one motion as measurements come in; made by `Solver.update`.

    Parameters
    ----------
    task : Task
        Of the first measurements.
    """

    def __init__(self, task: Any) -> None:
        self.task, self.problem, self._found = task, task.problem, None
        n = len(self.problem.kinks) + 1
        self._per_interval = max(1, round((task.n_elements or n) / n))

    def update(self, sensors: list[Sensor], window: float | None) -> Any:
        """The `Estimate` with further measurements, of the last `window` seconds."""
        start = time.perf_counter()
        if self._found is None:
            self._first()
        if sensors:
            problem, mesh = self._extended(sensors)
            before = self._found.chain, self._found.x
            if window is not None and mesh.nodes[-1] - mesh.nodes[0] > window:
                problem, mesh, before = self._cut(problem, mesh, window)
            self._search.problem = problem
            chain = EstimationChain(problem, self._search.plan, mesh)
            x = prolonged(self.task, chain, *before)
            self._found, self.problem = self._search.settled(chain, x), problem
        return estimate_of(self.task, self.problem, self._search, self._found,
                           {"setup": 0.0, "total": time.perf_counter() - start})

    def _first(self):
        with progress("estimation", show=False) as bar:
            self._search = Search(self.task, bar)
            self._found = self._search(self.task.mesh_through(self.problem.kinks))

    def _extended(self, sensors):
        """The problem with further values, and its mesh."""
        problem, nodes = self.extended(self.problem, sensors), self._found.chain.mesh.nodes
        ends = [t for t in problem.kinks if t > nodes[-1]] + [problem.t_span[1]]
        new, last = [], float(nodes[-1])
        for t in ends:
            new += [last + (t - last) * (k + 1) / self._per_interval for k in range(self._per_interval)]
            last = t
        return problem, TimeMesh(np.concatenate([nodes, new]))

    def _cut(self, problem, mesh, window):
        """The problem from a node on, what is known there by what lies before, and chain and unknowns found so far."""
        nodes, found = self._found.chain.mesh.nodes, self._found
        n = int(np.searchsorted(mesh.nodes, mesh.nodes[-1] - window * (1 + DEFAULTS.same_time), side="right")) - 1
        n = min(max(n, 0), len(nodes) - 2)
        if n == 0 or found.posterior is None:  # a search that failed tells nothing of what lies before
            return problem, mesh, (found.chain, found.x)
        self.known_clocks(problem)
        mean, covariance = found.posterior.arrival(n)
        problem = self.after(problem, float(nodes[n]), window)
        problem.arrival, problem.z0 = (mean, covariance), mean[:problem.system.n_z]
        plan, x = found.chain.plan, found.x
        chain = EstimationChain(problem, plan, TimeMesh(nodes[n:]))
        return problem, TimeMesh(mesh.nodes[n:]), (chain, x[n * plan.columns.step:])


def window_of(task: Any) -> LiveData:
    """What goes on with further measurements of the problem of a task."""
    return Window(task) if task.problem.dynamics == "full" else FrameWindow(task)


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
        return estimate_of_frames(task, self._fit, time.perf_counter() - start)

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
