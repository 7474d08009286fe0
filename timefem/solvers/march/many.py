"""Marches of one system with many states and numbers, one after the other, in one thread; several threads at once.

The compiled loop holds no lock of Python, so that threads share the cores; each has loops and memory of its own.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record
from ...status import Reason
from .loop import NOTHING_KEPT, march_elements
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


class RunArrays(Record):
    """What `march_run` takes and gives besides the march: first the fields of `Runs`."""

    first: np.ndarray
    sizes: np.ndarray
    emphasis: np.ndarray
    references: np.ndarray
    numbers: np.ndarray
    size_places: np.ndarray  # of int, of the core unknowns in `sizes`
    weight_places: np.ndarray  # of int, of the core rows
    emphasis_places: np.ndarray  # of int, -1 where there is none
    parameters: np.ndarray  # of the plan
    ends: np.ndarray  # (2, n_z) of int, dofs of the state at the ends of an element
    tolerances: np.ndarray  # (2,) over the references
    states: np.ndarray  # (n_runs, n_elements + 1, n_z) result
    found: np.ndarray  # (n_runs, 2) of int: status, -1 of those that were stopped, and iterations
    stop: np.ndarray  # (1,) of int
    current: np.ndarray  # (1,) of int, the run to march


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

    def run(self, runs, scaling, states, stop, lock, look):
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
        look : callable
            `look(r, x)` is called after run r that converged, with all its dofs, until the next run takes their place.

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
        found, current = np.tile([-1, 0], (len(states), 1)), np.zeros(1, np.int64)
        march = loop.march(self._x, self._nodes, self._lengths, settings, 1.0)
        own = RunArrays(*runs, *loop.places, places, self.plan.arrays.parameters, self._ends, march.tolerances.copy(),
                        states, found, stop, current)
        for r in range(len(states)):
            current[0] = r
            lock.release()
            try:
                march_run(march, own)
            finally:
                lock.acquire()
            if found[r, 0] == 0:
                look(r, self._x)
        return [(REASONS[code] if code > 0 else Reason.STOPPED if code else Reason.CONVERGED, count)
                for code, count in found.tolist()]


@compiled(error_model="numpy", _nrt=False, nogil=True)
def march_run(march, runs):
    """March the current run."""
    loop, work, x, h, found = march.loop, march.work, march.x, march.h, runs.found
    n, step, r = h.shape[0], loop.step.plan.n_columns - loop.n_node, runs.current[0]
    for i in range(runs.numbers.shape[1]):
        runs.parameters[i] = runs.numbers[r, i]
    for i in range(runs.size_places.shape[0]):
        loop.sizes[i] = runs.sizes[r, runs.size_places[i]]
    for i in range(runs.weight_places.shape[0]):
        loop.weights[i] = runs.sizes[r, runs.weight_places[i]]
    for i in range(runs.emphasis_places.shape[0]):
        k = runs.emphasis_places[i]
        loop.emphasis[i] = runs.emphasis[r, k] if k >= 0 else 1.0
    for i in range(work.kept.shape[0]):
        work.kept[i] = NOTHING_KEPT[i]
    for i in range(runs.first.shape[1]):
        x[i] = runs.first[r, i]
    for k in range(n):
        march.iterations[k] = 0
    for i in range(2):
        march.tolerances[i] = runs.tolerances[i] * runs.references[r]
    e, code = 0, 0
    while e < n and code == 0 and runs.stop[0] == 0:
        e, code, _ = march_elements(march, e, min(e + CHUNK, n))
    found[r, 0], found[r, 1] = -1 if code == 0 and e < n else code, 0
    for k in range(n):
        found[r, 1] += abs(march.iterations[k])
    for c in range(runs.ends.shape[1]):
        runs.states[r, 0, c] = x[runs.ends[0, c]]
        for k in range(n):
            runs.states[r, k + 1, c] = x[k * step + runs.ends[1, c]] if k < e else np.nan
