"""Marches of one system with many states and numbers, one after the other, in one thread; several threads at once.

The compiled loop holds no lock of Python, so that threads share the cores; each has loops and memory of its own.
"""

from typing import Any, NamedTuple

import numpy as np

from ... import interrupts
from .loop import march_elements
from .march import REASONS, LoopArrays

CHUNK = 1000  # elements between two looks for a signal


class Runs(NamedTuple):
    """What differs from run to run.

    Attributes
    ----------
    first : ndarray, shape (n_runs, n_local)
        Dofs of the first element: the state at the start, and a guess of the rest.
    scalings : sequence of Scaling
    references : ndarray, shape (n_runs,)
        Size of the scaled state.
    numbers : ndarray, shape (n_runs, n_numbers), or None
        Numbers of the parts, as in `ElementPlan.arrays`; None: those of the plan.
    """

    first: np.ndarray
    scalings: Any
    references: np.ndarray
    numbers: np.ndarray | None


class Marcher:
    """One thread's march over the runs that it is given.

    Parameters
    ----------
    plan : ElementPlan
        Of its own, whose numbers it overwrites.
    mesh : TimeMesh
    scaling : Scaling
        Of any run.
    settings : Newton
    """

    def __init__(self, plan, mesh, scaling, settings):
        self.plan, self.mesh, self.settings = plan, mesh, settings
        self.loop = LoopArrays(plan, scaling)
        c = plan.columns
        self.x = np.zeros(c.n_node + mesh.n_elements * c.step)
        self._elements = np.lib.stride_tricks.as_strided(self.x, (mesh.n_elements, c.n_local),
                                                         (8 * c.step, 8), writeable=False)
        self._left, self._right = c.first[0], c.first[-1]
        self._nodes = np.ascontiguousarray(mesh.nodes[:-1]), np.ascontiguousarray(mesh.lengths)

    def run(self, runs, i, states):
        """Run i: its states at all nodes into `states`, shape (n_elements + 1, n_z); NaN where it fails.

        Returns
        -------
        reason : str
            "converged", why it failed, or "stopped" by a signal.
        iterations : int
            Of Newton's method, of all elements.
        """
        settings, reference, n = self.settings, runs.references[i], self.mesh.n_elements
        if runs.numbers is not None:
            self.plan.arrays.parameters[:] = runs.numbers[i]
        if not self.loop.rescale(runs.scalings[i]):
            self.loop = LoopArrays(self.plan, runs.scalings[i])
        loop, own = self.loop, self.loop.begin()
        self.x[:runs.first.shape[1]] = runs.first[i]
        iterations, history = np.zeros(n, int), np.empty(settings.max_iterations + 1)
        e, code = 0, 0
        while e < n and not code and not interrupts.asked():
            e, code = march_elements(
                loop.record, loop.record.step.one, own, self.x, *self._nodes, e, min(e + CHUNK, n),
                settings.tol_residual * reference, settings.tol_increment * reference, settings.max_iterations,
                settings.line_search, self.plan.element.keeps_factors and not settings.line_search, iterations, history)
        states[0] = self.x[self._left]
        states[1:] = self._elements[:, self._right]
        states[e + 1:] = np.nan
        reason = REASONS[code] if code else "stopped" if e < n else "converged"
        return reason, int(np.abs(iterations).sum())
