"""Parts of one kind taken together, for kernels that evaluate all of them."""

from dataclasses import dataclass

import numpy as np

from .part import Part


@dataclass(frozen=True, eq=False)
class PartGroup:
    """All parts of one kind.

    Attributes
    ----------
    part : Part
        One of them, for its formulas.
    state_index : ndarray of int, shape (n_parts, 2 n_q_local)
        Where the local `(q, p)` stand in the system's `z = (q, p)`.
    multiplier_index : ndarray of int, shape (n_parts, 2 m_local)
        Where the local `(gamma, mu)` stand in the system's `lambda = (gamma, mu)`.
    nonholonomic_index : ndarray of int, shape (n_parts, n_local)
        Where the local nonholonomic constraints stand among those of the system.
    parameters : ndarray, shape (n_parts, n_parameters)
    """

    part: Part
    state_index: np.ndarray
    multiplier_index: np.ndarray
    nonholonomic_index: np.ndarray
    parameters: np.ndarray


def grouped(system):
    """The parts of a system by kind, list of `PartGroup`."""
    places, constraint, rolling = {}, 0, 0
    for part in system.parts:
        coordinates = map(system.coordinates, part.bodies)
        q = np.concatenate([np.zeros(0, int), *(np.arange(c.start, c.stop) for c in coordinates)])
        g = np.arange(constraint, constraint + len(part.constraint_names))
        constraint += len(g)
        r = np.arange(rolling, rolling + len(part.nonholonomic_names))
        rolling += len(r)
        place = (part, np.concatenate([q, q + system.n_q]), np.concatenate([g, g + system.n_constraints]), r)
        places.setdefault(part.kind, []).append(place)
    return [PartGroup(same[0][0], *(np.array([place[i] for place in same], dtype=int) for i in (1, 2, 3)),
                      np.array([place[0].parameters for place in same]))
            for same in places.values()]
