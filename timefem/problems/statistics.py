"""Numbers of a solve, as all kinds of problems tell them, and solves that are looked at while they run."""

from collections.abc import Mapping
from contextlib import contextmanager
from functools import cached_property
from operator import mul

import numpy as np

from ..assembly import TimeMesh
from ..solution.solution import Solution
from ..solvers.equations.outcome import NodalValues
from ..status import Status


class OnDemand(Mapping):
    """Plain data that `make()` gives when they are first looked at; copies are dicts."""

    def __init__(self, make):
        self._make = make

    @cached_property
    def _data(self):
        return self._make()

    def __getitem__(self, name):
        return self._data[name]

    def __iter__(self):
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def __repr__(self):
        return repr(self._data)

    def __reduce__(self):
        return dict, (self._data,)


def solve_statistics(driver, backend, mesh, outcome, **further):
    """The `statistics` of a `Solution`.

    Parameters
    ----------
    driver : Driver
    backend : str or None
        Name of the solver of linear systems, or of the method in its place.
    mesh : TimeMesh
    outcome : Outcome
    **further
        What only this kind of problem tells.

    Returns
    -------
    dict
    """
    counts = np.bincount(outcome.iterations).tolist()  # by iterations, which are few: reductions would take longer
    total = sum(map(mul, counts, range(len(counts))))
    return {"driver": driver.name, "backend": backend, "n_ranks": outcome.n_ranks,
            "newton_iterations": {"max": max(len(counts) - 1, 0), "mean": total / max(len(outcome.iterations), 1)},
            "n_elements": mesh.n_elements, "n_unknowns": outcome.n_unknowns, "seconds": outcome.seconds,
            "backward_error": outcome.backward_error, **({"ordering": outcome.ordering} if outcome.ordering else {}),
            **({"per_rank": outcome.per_rank} if outcome.per_rank else {}),
            **({"attempts": outcome.attempts} if outcome.attempts else {}), **further}


def worst(names, values):
    """Largest value by name."""
    found = {}
    for name, value in zip(names, values, strict=True):
        found[name] = max(found.get(name, 0.0), float(value))
    return found


def largest_controls(sol):
    """Largest size of each control inside of the elements, by actuator."""
    values, found, first = np.abs(sol.fields["controls"]).max(axis=(0, 1)), {}, 0
    for part in sol.system.parts:
        if part.n_controls:
            found[sol.system.label(part)] = values[first:first + part.n_controls].tolist()
            first += part.n_controls
    return found


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
