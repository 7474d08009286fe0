"""A motion between two configurations to start from: bodies move straight and turn steadily, joints are kept."""

import numpy as np

from ...errors import InputError
from ...mechanics.bodies import rotations
from ...mechanics.bodies.states import CanonicalState
from ...mechanics.states.assemble import consistent_states
from ...polynomials import CubicSpline

SAMPLES = 16  # configurations between which a spline runs; as many more for each extra turn


def interpolation(problem, turns=0, axis=None):
    """States of a motion from the configuration at the start to that at the end: a function `t -> z`.

    Parameters
    ----------
    problem : BoundaryValueProblem
    turns : int
        Full turns of all bodies besides; without `axis` an even number, about the axis of the way itself, so that
        quaternions keep their signs.
    axis : {0, 1, 2}, optional
        Body axis of these turns.

    Returns
    -------
    callable
        For times of shape (n,), states (n, n_z).
    """
    system, conditions = problem.system, problem.conditions_at_ends
    n, (t0, t1) = system.n_q, problem.t_span
    s = np.linspace(0, 1, SAMPLES * (1 + abs(turns)) + 1)
    q = np.zeros((len(s), n))
    for body in system.bodies:
        part = system.coordinates(body)
        q[:, part] = _path(body, s, conditions.z0[:n][part], conditions.z1[:n][part], turns, axis)
    times = t0 + (t1 - t0) * s
    if system.n_constraints > sum(len(b.constraint_names) for b in system.bodies):
        q = _on_constraints(system, times, q)
    spline = CubicSpline(times, q)

    def states(t):
        q, v = spline(t), spline(t, 1)
        return np.concatenate([q, system.momentum(t, np.concatenate([q, np.zeros_like(q)], axis=-1), v)], axis=-1)

    return states


def _path(body, s, first, last, turns, axis):
    path = first + s[:, None] * (last - first)
    if hasattr(body, "quaternion"):
        path[:, 3:] = _turned(first[3:], last[3:], s, turns, axis)
    elif hasattr(body, "rotation_matrix"):
        a, b = (rotations.quaternion_from_matrix(body.rotation_matrix(x)) for x in (first, last))
        turned = rotations.matrix_from_quaternion(_turned(a, b if a @ b >= 0 else -b, s, turns, axis))
        path[:, 3:] = np.swapaxes(turned, 1, 2).reshape(len(s), -1)
    return path


def _turned(a, b, s, turns, axis):
    """Quaternions on the great circle from a to b, with further turns."""
    if axis is None:
        return _great_circle(a, b, s, np.pi * turns)
    angle, spin = np.pi * turns * s[:, None], np.eye(4)[1 + axis]
    path = _great_circle(a, (-1) ** turns * b, s, 0.0)
    after = np.concatenate([np.zeros((len(s), 1)), np.eye(3)[[axis] * len(s)]], axis=1)
    product = np.concatenate([-path[:, 1:] @ spin[1:, None],
                              path[:, :1] * after[:, 1:] + np.cross(path[:, 1:], after[:, 1:])], axis=1)
    return np.cos(angle) * path + np.sin(angle) * product


def _great_circle(a, b, s, more):
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    across = b - (a @ b) * a
    if np.linalg.norm(across) < 1e-9:  # any axis will do
        across = np.array([-a[1], a[0], -a[3], a[2]])
    across /= np.linalg.norm(across)
    angle = np.arctan2(b @ across, b @ a) + more  # half that of the body
    return np.cos(angle * s)[:, None] * a + np.sin(angle * s)[:, None] * across


def _on_constraints(system, times, q):
    """Configurations that hold the constraints, near the given ones; as they are where none is found."""
    out = q.copy()
    zero = np.zeros(system.n_q)
    for i, t in enumerate(times):
        near = {b: CanonicalState(q[i, system.coordinates(b)], zero[system.coordinates(b)]) for b in system.bodies}
        try:
            out[i] = np.concatenate([s.q for s in consistent_states(system, near, t).values()])
        except InputError:
            continue
        for body in system.bodies:  # the sign of quaternions
            part = system.coordinates(body)
            if hasattr(body, "quaternion") and out[i, part][3:] @ q[i, part][3:] < 0:
                out[i, part.start + 3:part.stop] *= -1
    return out
