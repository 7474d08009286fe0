"""Increments of rigid bodies: displacement and Rodrigues parameters, see `RigidBodyBase.moved`.

In symbols, and as numbers between states.
"""

import casadi as ca
import numpy as np

STEPS = 8  # of the search for increments, which converges quadratically
SMALL = 1e-12  # of slopes: turns that run away leave none


def half(u):
    """The increment u (6,) of a rigid body half way: half the displacement, half the angle."""
    return ca.vertcat(u[:3] / 2, u[3:] / (1 + ca.sqrt(1 + ca.sumsqr(u[3:]) / 4)))


def rotation_vector(u):
    """Angle times axis of Rodrigues parameters u (3,)."""
    square = ca.sumsqr(u) / 4
    small = square < 1e-6
    r = ca.sqrt(ca.if_else(small, 1, square))
    return u * ca.if_else(small, 1 - square / 3 + square**2 / 5, ca.atan(r) / r)


def between(system, state):
    """Increments of all bodies from the start of each element to its end, closest by their coordinates.

    Parameters
    ----------
    system : System
    state : ndarray, shape (n_elements, 2, n_z)

    Returns
    -------
    ndarray, shape (n_elements, 1, n)
    """
    every = []
    for body in system.bodies:
        q0, q1 = (state[:, end, :system.n_q][:, system.coordinates(body)] for end in (0, -1))
        q, u = ca.SX.sym("q", body.n_q), ca.SX.sym("u", body.n_increments)
        end = body.moved(q, u)
        every.append(_between(ca.Function("moved", [q, u], [end, ca.jacobian(end, u)]), q0, q1, body.n_increments))
    return np.concatenate(every, axis=1)[:, None]


def _between(moved, q0, q1, n):
    """By Gauss and Newton's method; zero where it does not get there, such as for more than half a turn."""
    u, least = np.zeros((len(q0), n)), SMALL * np.eye(n)
    for _ in range(STEPS):
        end, slopes = (np.array(x) for x in moved(q0.T, u.T))
        missing = q1 - end.T
        slopes = slopes.reshape(q0.shape[1], -1, n).transpose(1, 2, 0)
        u += np.linalg.solve(slopes @ slopes.swapaxes(1, 2) + least, slopes @ missing[:, :, None])[:, :, 0]
    found = np.abs(missing).max(axis=1) <= np.abs(q1 - q0).max(axis=1)
    return np.where(found[:, None], u, 0.0)
