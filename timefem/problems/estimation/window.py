"""Estimation of live data: a window that moves, with what lies before it as the prior of its start."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...assembly import TimeMesh
from ...late import Late
from ...progress import progress
from .dynamic.chain import EstimationChain
from .dynamic.search import Search, prolonged
from .live_data import LiveData
from .measurements.base import Sensor
from .options import DEFAULTS
from .solve import estimate_of

frames = Late(f"{__package__}.window_of_frames")


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
    return Window(task) if task.problem.dynamics == "full" else frames.FrameWindow(task)
