"""Neighbouring motions of a solution, by the tangents of its elements."""

import numpy as np
import scipy

from ..sensitivity.linearization import Linearization
from ..sensitivity.parameters import Directions
from ..solution.solution import Solution
from ..status import Status


def carried(solution, changes, linear=None):
    """Changes of the state at the end with those at the start, columns (n_z, n): exact derivatives of the elements.

    `R(x, z0) = 0`, all elements linearised and solved together.
    """
    at = Linearization(solution, linear)
    n = changes.shape[1]
    none = [scipy.sparse.csc_array((size, n)) for size in (at.places.size, at.places.size, *[len(changes) // 2] * 2)]
    return at.end_tangents(Directions(*none, scipy.sparse.csc_array(changes), [""] * n))


def piece(solution, start, stop):
    """Elements start, ..., stop - 1 of a solution, as a solution."""
    fields = {name: values[start:stop] for name, values in solution.fields.items()}
    return Solution(solution.system, solution.element, solution.t[start:stop + 1], solution.z[start],
                    solution.nodal_state[start:stop], solution.nodal_multipliers[start:stop], Status(True), {}, fields)


def state_changes(reduction):
    """Changes (q, p) of a state with minimal coordinates, columns (n_z, n)."""
    return np.concatenate([reduction.dq, reduction.at.momenta(reduction.dq, reduction.dv)])


def minimal_changes(reduction, changes):
    """Minimal coordinates of changes (q, p) that the constraints allow, columns (n, k)."""
    n = reduction.at.n
    dq, dp = changes[:n], changes[n:]
    dv = reduction.at.velocities(dq, dp)
    (y, s), chart = reduction.chosen, reduction.chart
    return np.concatenate([chart.y[y] @ dq, chart.y[s] @ dv + chart.first[s] @ dq])
