"""A glance at a motion: usually nothing is wrong with it, and that is seen in microseconds.

Each test is stricter than the one of `audit` that it stands for: what passes here passes there.
"""

from typing import NamedTuple

import numpy as np

from ..mechanics.one_state import is_small, kept
from .glance_loop import gather, held, smooth

PIECE = 256  # nodes whose constraints are evaluated at once
MOST_SIZES = 20  # numbers of nodes for which memory is kept


class Limits(NamedTuple):
    """What motions of a system are held against.

    Attributes
    ----------
    constraints : ndarray, shape (2 m,)
        Residuals; only those of the first half, of configuration, count.
    floor : ndarray, shape (n_z,)
    factor : float
    difference : ndarray, shape (n_shapes,) or (0,)
    turn : float
        Largest rotation in an element [rad].
    """

    constraints: np.ndarray
    floor: np.ndarray
    factor: float
    difference: np.ndarray
    turn: float


def nothing_wrong(system, t, z, nodal, limits):
    """Whether a motion surely keeps its constraints, and its mesh resolves it; False where that takes a closer look.

    Parameters
    ----------
    system : System
    t, z, nodal : ndarray, shapes (n + 1,), (n + 1, n_z), (n, n_shapes, n_z)
    limits : Limits
    """
    if system.kept is not None or not is_small(system):
        return False
    places, rates, counts = _turning(system)
    longest = (t[1:] - t[:-1]).max()
    if counts or not smooth(t, z, nodal, limits.difference, limits.floor, limits.factor, places,
                            (limits.turn / longest)**2 * rates):
        return False
    return constraints_held(system, t, z, limits.constraints)


def constraints_held(system, t, z, bounds):
    """Whether constraints surely are within bounds (2 m,), of which only those of configuration count."""
    return not system.n_constraints or (is_small(system) and kept(system, Along).held(system, t, z, bounds))


def _turning(system):
    """First and last places of rotations, the square of the momentum at which each turns by one rad per second, and
    whether turns are counted."""
    known = system.__dict__.get("_turning")
    if known is None:
        bodies = [body for body in system.bodies if hasattr(body, "angular_velocity")]
        places = [(system.coordinates(b).start + 3, system.coordinates(b).stop) for b in bodies]
        known = system._turning = (np.array(places, np.int64).reshape(-1, 2),
                                   np.array([1 / b.rate_per_momentum**2 for b in bodies]),
                                   any(b.helper and b.counts_turns for b in system.bodies))
    return known


class Along:
    """Constraints of systems of one structure at many states."""

    def __init__(self, system):
        self._index = [np.ascontiguousarray(group.state_index, np.int64) for group in system.groups]
        self._rows = [np.ascontiguousarray(group.multiplier_index, np.int64) for group in system.groups]
        self._sizes = {}

    def held(self, system, t, z, bounds):
        """Whether they are within their bounds."""
        for first in range(0, len(t), PIECE):
            last = min(first + PIECE, len(t))
            if last - first not in self._sizes:
                if len(self._sizes) == MOST_SIZES:
                    self._sizes.clear()
                self._sizes[last - first] = [_Memory(*group, last - first) if group[1].multiplier_index.size else None
                                             for group in zip(system._functions, system.groups, strict=True)]
            for memory, index, rows, group in zip(self._sizes[last - first], self._index, self._rows, system.groups,
                                                  strict=True):
                if memory is not None:
                    gather(index, z[first:last], memory.states)
                    memory.evaluate(t[first:last], group)
                    if not held(memory.theta, rows, bounds):
                        return False
        return True


class _Memory:
    """Arguments and results of the constraints of one kind of part at a number of states."""

    def __init__(self, functions, group, n):
        function, (n_parts, width) = functions["theta"], group.state_index.shape
        self.states, self.theta = np.zeros(n * n_parts * width), np.zeros(n * group.multiplier_index.size)
        self.times, self.numbers = np.zeros((n, n_parts)), np.zeros((n, *group.parameters.shape))
        self._buffer, self._run = function.map(n * n_parts).buffer()
        self._group, self._function = None, function
        for i, values in enumerate((self.states, self.times, self.numbers)):
            if values.size:
                self._buffer.set_arg(i, memoryview(values.reshape(-1)))
        self._buffer.set_res(0, memoryview(self.theta))

    def evaluate(self, t, group):
        self.times[:] = t[:, None]
        if group is not self._group:
            self.numbers[:], self._group = group.parameters, group
        self._run()
