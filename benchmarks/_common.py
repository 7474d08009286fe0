"""What several benchmarks share: calls in turn, times at an error, prepared marches, steps of Exudyn, options."""

import argparse
import json
import statistics
import time

import numpy as np

import timefem as tf
from timefem.assembly import Scaling
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.march.march import LoopArrays, Run, march


def interleaved(*functions, repeats):
    """Median seconds of each function, called in turn."""
    for f in functions:
        f()
    seconds = [[] for _ in functions]
    for _ in range(repeats):
        for f, s in zip(functions, seconds, strict=True):
            start = time.perf_counter()
            f()
            s.append(time.perf_counter() - start)
    return [statistics.median(s) for s in seconds]


def time_at(target, errors, seconds):
    """Seconds at an error, log-log between the points where the error falls below for good; None where none does.

    A point without a solution has the error NaN.
    """
    errors = np.maximum(errors, 1e-16)
    above = np.flatnonzero(~(errors <= target))
    i = above[-1] + 1 if len(above) else 0
    if i == len(errors):
        return None
    if i == 0 or not np.isfinite(errors[i - 1]):
        return float(seconds[i])  # the coarsest solution there is is good enough
    part = np.log(errors[i - 1] / target) / np.log(errors[i - 1] / errors[i])
    return float(np.exp(np.log(seconds[i - 1]) + part * np.log(seconds[i] / seconds[i - 1])))


class PreparedMarch:
    """A problem marched with the defaults, or to other tolerances of Newton's method, everything but the march done
    beforehand, as `tf.prepare` does."""

    def __init__(self, problem, element, newton=None):
        self.problem, self.plan, self.newton = problem, ElementPlan(problem.system, element), newton or tf.Newton()
        self.scaling = Scaling.of("full", problem.system, element, 0, problem.z0)
        self.multipliers = problem.system.consistent_multipliers(0, problem.z0)
        self.loop = LoopArrays(self.plan, self.scaling)

    def march(self, n):
        """Seconds of the processor for n elements, and the coordinates at the end (None when it fails)."""
        mesh = tf.TimeMesh.uniform(self.problem.t_span, n)
        start = time.process_time()
        x, _, status, _ = march(self.plan, mesh, self.problem.z0, self.multipliers, self.scaling, self.newton,
                                Run(loop=self.loop))
        seconds = time.process_time() - start
        if not status.success:
            return seconds, None
        return seconds, self.plan.columns.unpack(x)[0][-1, -1, :self.problem.system.n_q]


def exudyn_steps(exu, mbs, t_end, n, change=None):
    """Seconds of the processor for n steps of Exudyn on one thread without output, and whether they succeeded.

    `change(settings)` sets what differs from its defaults besides.
    """
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = t_end
    settings.timeIntegration.numberOfSteps = n
    settings.parallel.numberOfThreads = 1
    settings.solution.file.write = False
    settings.solution.sensors.active = False
    if change is not None:
        change(settings)
    solver = exu.MainSolverImplicitSecondOrder()
    solver.InitializeSolver(mbs, settings)
    start = time.process_time()
    success = solver.SolveSteps(mbs, settings)
    seconds = time.process_time() - start
    solver.FinalizeSolver(mbs, settings)
    return seconds, success


def quick_or_json(description, main, show):
    """The command line `[--quick] [--json]`: `show` prints what `main(quick)` returns."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = main(arguments.quick)
    if arguments.json:
        print(json.dumps(results))
    else:
        show(results)
