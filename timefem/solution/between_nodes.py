"""Whether a motion stays near its constraints between the nodes, where elements ask for nothing.

Optimisers find motions that hold the constraints at all nodes, and go straight from one side of a joint to the other in
one element, which costs nothing. No real motion is near these.
"""

from typing import NamedTuple

import numpy as np

from .options import OPTIONS

BETWEEN = np.arange(2, 7) / 8  # places between two nodes


class Jump(NamedTuple):
    """Where a motion leaves a constraint: element, time [s], name of the constraint."""

    element: int
    time: float
    name: str


def jump_of(solution):
    """The `Jump` of a solution, where it leaves a constraint most; None where it stays near all of them."""
    system, basis = solution.system.complete or solution.system, solution.element.state.basis
    m, n = system.n_constraints, system.n_q
    if not m or len(solution.t) == 1:
        return None
    points = basis.points if basis.n_shapes > 1 else np.array([0.0, 1.0])
    times = solution.t[:-1, None] + np.diff(solution.t)[:, None] * points
    z = solution.nodal_state if basis.n_shapes > 1 else solution(times)
    size = _ways(system, z[..., :n])
    steps = np.diff(z[..., :n], axis=1) / size
    element, place = np.nonzero((np.abs(steps) > OPTIONS.between_small).any(axis=2))
    if not len(element):
        return None
    first, last = times[element, place], times[element, place + 1]
    between = first[:, None] + (last - first)[:, None] * BETWEEN
    residuals = np.abs(system.constraints(between.ravel(), solution(between).reshape(between.size, -1))[:, :m])
    residuals, middle = residuals.reshape(*between.shape, m).max(axis=1), (first + last) / 2
    chosen = np.argsort(-residuals.max(axis=1))[:OPTIONS.between_places]
    residuals, element, place, middle = residuals[chosen], element[chosen], place[chosen], middle[chosen]
    gradients = np.array([[system.derivatives(times[e, j], z[e, j])[1][:m, :n].toarray() * size for j in (i, i + 1)]
                          for e, i in zip(element, place, strict=True)])
    lengths, gradients = np.linalg.norm(gradients, axis=3).min(axis=1), gradients[:, 0]
    largest = np.abs(gradients).max(axis=0)
    seen = largest > OPTIONS.between_seen * largest.max(axis=1, keepdims=True)
    ways = np.sqrt(np.einsum("ka,ia->ki", steps[element, place]**2, seen))
    first_order = lengths * ways
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(ways > OPTIONS.between_small, residuals / first_order, 0.0)
    k, i = np.unravel_index(np.argmax(np.nan_to_num(shares)), shares.shape)
    if shares[k, i] > OPTIONS.between_left:
        return Jump(int(element[k]), float(middle[k]), system.constraint_names[i])
    return None


def _ways(system, q):
    """How far each coordinate moves, or those of a place in space, or of a rotation, together; shape (n_q,)."""
    way = np.ptp(q, axis=(0, 1))
    for body in system.bodies:
        own = way[system.coordinates(body)]
        first = body.dimension if body.has_position else len(own)
        for group in (own[:first], own[first:]):
            group[:] = group.max(initial=0.0)
    return np.maximum(way, OPTIONS.between_noise * max(np.abs(q).max(), 1e-300))
