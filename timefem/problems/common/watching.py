"""Solves that are looked at while they run."""

from contextlib import contextmanager

import numpy as np

from ...assembly import TimeMesh
from ...elements.evaluation.nodal_values import NodalValues
from ...solution.solution import Solution
from ...status import Status

_watchers = []


@contextmanager
def watching(watcher):
    """Context in which marches, windows and global solves call `watcher(look)` from time to time.

    `look()` gives the `Solution` as far as it is known: the elements solved, or the last iterate of all. Ranks look at
    what they have themselves.
    """
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def show(job, what):
    """Let the watchers of a driver's job look at what it would write into a checkpoint."""
    for watcher in _watchers:
        watcher(lambda: _so_far(job, what()))


def _so_far(job, stored):
    plan, (first, x) = job.plan, stored[2][0]
    for start, more in stored[2][1:]:  # windows, one after the other; they share a node
        x = np.concatenate([x[:(start - first) * plan.columns.step], more])
    n = (len(x) - plan.columns.n_node) // plan.columns.step
    if not n:
        return None
    mesh = TimeMesh(job.mesh.nodes[first:first + n + 1])
    values = NodalValues(*plan.unpack(x))
    return Solution.of(plan.system, plan.element, mesh.nodes, values.state[0, 0], values, Status(True),
                       {"driver": job.driver.name})
