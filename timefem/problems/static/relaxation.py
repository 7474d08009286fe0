"""Statics from afar: long implicit steps in time with what inertia there is, until loads are carried.

Pseudo-transient continuation (Kelley & Keyes, SIAM J. Numer. Anal. 35, 1998): `(M / s + K) dq = -R` with the mass
matrix M goes down a fall where nothing resists, as of a slack rope, and becomes Newton's method as s grows.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse


@dataclass(frozen=True)
class RelaxationOptions:
    """How far and how often statics go in long implicit steps in time."""

    most_steps: int = 400
    first: float = 0.02  # of the size of the system, that it falls in the first step
    furthest: float = 0.1  # of that size, or of the way so far, that a step may go
    endless: float = 1e3  # of that size: what falls so far is held by nothing
    growth: float = 2.0  # of s after a step that is short enough
    near: float = 1e-7  # of the forces, residual from which on Newton's method goes on
    independent: float = 1e-10  # singular values of gradients of constraints, relative: below, they repeat each other


RELAXATION = RelaxationOptions()


def relaxed(equations, x, t, solve, error, within=np.inf):
    """Unknowns near an equilibrium, from far, None where none is reached; and how far coordinates fell without end.

    Parameters
    ----------
    equations : StaticEquations
    x : ndarray, shape (n,)
    t : float
        Time of the loads.
    solve : callable
        `solve(equations, matrix, b)`; RuntimeError where the matrix is singular.
    error : callable
        `error(residual, tangent, x)`, of the forces that make it up.
    within : float
        How far to go, as `distance` measures it.

    Returns
    -------
    x : ndarray or None
    fallen : ndarray, shape (n_q,), or None
        Changes of coordinates that go on without end.
    """
    options, n, system = RELAXATION, equations.n_q, equations.system
    x = equations.with_multipliers(x, t)
    residual, tangent, _ = equations.evaluate(x, t)
    if not np.isfinite(residual).all():
        return None, None
    start, root = x[:n], np.sqrt(system.mass_scale)
    size, fall = _size(system, start, root), np.abs(residual[:n] / root).max()
    s = options.first * size / fall if fall > 0 else 1.0
    none, forces = scipy.sparse.csc_array((equations.m, equations.m)), np.arange(equations.n) < n
    for _ in range(options.most_steps):
        mass = system.mass_matrix(t, np.append(x[:n], np.zeros(n)))
        matrix = scipy.sparse.csc_array(tangent + scipy.sparse.block_diag([mass / s, none]))
        try:
            step, onto = solve(equations, matrix, np.column_stack([residual * forces, residual * ~forces])).T
        except RuntimeError:
            s /= 4
            continue
        gone = distance(system, start, x[:n])
        if gone > within:
            return None, None
        if gone > options.endless * size:
            return None, x[:n] - start
        # what joints are apart, as supports of a rope that is longer, does not shrink with s: a part of it at a time
        furthest, far = options.furthest * max(size, gone), np.abs(onto[:n] * root).max()
        step = step + onto * min(1.0, furthest / (2 * far) if far > 0 else 1.0)
        way = np.abs(step[:n] * root).max()
        trial = equations.counted(x - step)
        if not way <= furthest:
            s /= 2
            continue
        found = equations.evaluate(trial, t)
        if not np.isfinite(found[0]).all():
            s /= 4
            continue
        x, (residual, tangent, _) = trial, found
        if error(residual, tangent, x) <= options.near:
            return x, None
        s *= options.growth
    return None, None


def distance(system, a, b):
    """Between coordinates of shapes (n_q,): the largest change of one, by the root of its mass."""
    return np.abs((b - a) * np.sqrt(system.mass_scale)).max()


def _size(system, q, root):
    """By which steps are measured, by the root of the mass: distances of places from their middle, and rotations."""
    places, size = [], np.abs(q)
    for body in system.bodies:
        if body.has_position and not body.helper:
            places.append(np.arange(system.n_q)[system.coordinates(body)][:3])
    if len({len(p) for p in places}) == 1:
        size[places] = np.abs(q[places] - np.mean(q[places], axis=0))
    return (size * root).max() or np.abs(q * root).max() or root.max()
