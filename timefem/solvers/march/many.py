"""Marches of one system with many states and numbers, one after the other, in one thread; several threads at once.

The compiled loop holds no lock of Python, so that threads share the cores; each has loops and memory of its own.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.loops import compiled
from ...status import Reason
from .element_newton import NOTHING_KEPT
from .loop import march_elements
from .march import REASONS, LoopArrays

NONE = np.zeros(0)
CHUNK = 1000  # elements between two looks at whether to stop


class Runs(NamedTuple):
    """What differs from run to run.

    Attributes
    ----------
    first : ndarray, shape (n_runs, n_local)
        Dofs of the first element: the state at the start, and a guess of the rest.
    sizes : ndarray, shape (n_runs, n)
        `Scaling.values` of each.
    emphasis : ndarray, shape (n_runs, n_z), or (n_runs, 0)
        As in `Scaling`; none where all bodies count alike.
    references : ndarray, shape (n_runs,)
        Size of the scaled state.
    numbers : ndarray, shape (n_runs, n_numbers), or (n_runs, 0)
        Numbers of the parts, as in `ElementPlan.arrays`; none: those of the plan.
    """

    first: np.ndarray
    sizes: np.ndarray
    emphasis: np.ndarray
    references: np.ndarray
    numbers: np.ndarray

    @classmethod
    def joined(cls, rows):
        """From a sequence of the numbers of each run: first dofs, `Scaling`, reference, numbers of parts or None."""
        first, scalings, references, numbers = zip(*rows, strict=True)
        emphasis = [NONE if s.emphasis is None else s.emphasis for s in scalings]  # of all, or of none
        parameters = [NONE if own is None else own for own in numbers]
        return cls(*map(np.array, (first, [s.values() for s in scalings], emphasis, references, parameters)))


class Marcher:
    """One thread's march over the runs that it is given.

    Parameters
    ----------
    plan : ElementPlan
        Of its own, whose numbers it overwrites.
    mesh : TimeMesh
    settings : Newton
    """

    def __init__(self, plan, mesh, settings):
        self.plan, self.mesh, self.settings, c = plan, mesh, settings, plan.columns
        self._x, self._nodes = np.zeros(c.n_node + mesh.n_elements * c.step), np.ascontiguousarray(mesh.nodes[:-1])
        self._lengths = np.ascontiguousarray(mesh.lengths)
        self._ends, self._loops = np.ascontiguousarray(c.first[[0, -1]]), {}

    def run(self, runs, scaling, states, stop, lock):
        """March some runs, and put their states at all nodes into `states`.

        Parameters
        ----------
        runs : Runs
        scaling : Scaling
            Of one of them; bodies count apart in all of them or in none.
        states : ndarray, shape (n_runs, n_elements + 1, n_z)
            NaN behind a failure.
        stop : ndarray of int, shape (1,)
            Not zero as soon as runs are to end.
        lock : threading.Lock
            Held by this thread; others have it during the march. CasADi is not to be called in two threads at once.

        Returns
        -------
        list of (str, int)
            "converged", why it failed, or "stopped"; and the iterations of Newton's method, of all elements.
        """
        settings, emphasized = self.settings, scaling.emphasis is not None
        if emphasized not in self._loops:
            self._loops[emphasized] = LoopArrays(self.plan, scaling)
        loop = self._loops[emphasized]
        places = loop.emphasis_places if emphasized else np.zeros(0, np.int64)
        found = np.zeros((len(states), 2), np.int64)
        arguments = (
            loop.record, loop.record.step.one, loop.begin(), self._x, self._nodes, self._lengths, runs.first,
            runs.sizes, *loop.places, runs.emphasis, places, runs.references, runs.numbers,
            self.plan.arrays.parameters, self._ends,
            np.array([settings.tol_residual, settings.tol_increment]), settings.max_iterations,
            settings.line_search, self.plan.element.keeps_factors and not settings.line_search,
            np.zeros(self.mesh.n_elements, np.int64), np.empty(settings.max_iterations + 1), states, found, stop)
        lock.release()
        try:
            march_runs(*arguments)
        finally:
            lock.acquire()
        return [(REASONS[code] if code > 0 else Reason.STOPPED if code else Reason.CONVERGED, count)
                for code, count in found.tolist()]


@compiled(error_model="numpy", _nrt=False, nogil=True)
def march_runs(loop, one, work, x, t, h, first, sizes, size_places, weight_places, emphasis, emphasis_places,
               references, numbers, parameters, ends, tolerances, max_iterations, line_search, keep, iterations,
               history, states, found, stop):
    """One march after the other; `found` has a status of each, -1 for those that were stopped, and its iterations."""
    n, step = h.shape[0], loop.step.plan.n_columns - loop.n_node
    for r in range(first.shape[0]):
        for i in range(numbers.shape[1]):
            parameters[i] = numbers[r, i]
        for i in range(size_places.shape[0]):
            loop.sizes[i] = sizes[r, size_places[i]]
        for i in range(weight_places.shape[0]):
            loop.weights[i] = sizes[r, weight_places[i]]
        for i in range(emphasis_places.shape[0]):
            loop.emphasis[i] = emphasis[r, emphasis_places[i]] if emphasis_places[i] >= 0 else 1.0
        work.back[0] = 0
        for i in range(work.kept.shape[0]):
            work.kept[i] = NOTHING_KEPT[i]
        for i in range(first.shape[1]):
            x[i] = first[r, i]
        for k in range(n):
            iterations[k] = 0
        e, code = 0, 0
        while e < n and code == 0 and stop[0] == 0:
            e, code, _ = march_elements(loop, one, work, x, t, h, e, min(e + CHUNK, n), tolerances[0] * references[r],
                                        tolerances[1] * references[r], max_iterations, line_search, keep, iterations,
                                        history)
        found[r, 0], found[r, 1] = -1 if code == 0 and e < n else code, 0
        for k in range(n):
            found[r, 1] += abs(iterations[k])
        for c in range(ends.shape[1]):
            states[r, 0, c] = x[ends[0, c]]
            for k in range(n):
                states[r, k + 1, c] = x[k * step + ends[1, c]] if k < e else np.nan
