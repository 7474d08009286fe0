"""Which components of the momenta a system conserves, found by moving it."""

import numpy as np
from scipy.spatial.transform import Rotation

from timefem import InputError, Pose

from ..mechanics.values.of_parts import has_power

SHIFT = 0.83  # of the size of the motion
ANGLE = 1.1


def conserved_axes(system, t, z):
    """Space axes along which linear, and about which angular momentum is constant: two tuples of axes.

    By Noether's theorem these are the directions in which energy and constraints do not change when the whole system
    is shifted, or turned about the origin. It is tried at states of a motion. None are named where forces without a
    potential, motions in time, nonholonomic constraints or bodies without a place in space are in play.

    Parameters
    ----------
    system : System
    t, z : ndarray, shapes (n,), (n, n_z)
        A few states of a motion.
    """
    placed = all(hasattr(body, "position") for body in system.bodies)
    if has_power(system) or system.n_nonholonomic or not placed:
        return (), ()
    positions = [body.position(z[:, system.coordinates(body)]) for body in system.bodies]
    shift = SHIFT * (1 + np.abs(positions).max())
    still = [(np.eye(3), shift * axis) for axis in np.eye(3)]
    turned = [(Rotation.from_rotvec(ANGLE * axis).as_matrix(), np.zeros(3)) for axis in np.eye(3)]
    return tuple(tuple(i for i, motion in enumerate(motions) if _invariant(system, t, z, *motion))
                 for motions in (still, turned))


def _invariant(system, t, z, rotation, shift):
    try:
        here, there = (np.stack([_moved(system, state, r, s) for state in z])
                       for r, s in ((np.eye(3), np.zeros(3)), (rotation, shift)))
    except InputError:  # a point mass that would leave its plane
        return False
    potential, energy = system.potential(t, here), system.hamiltonian(t, here)
    size = np.abs(potential).max() + np.abs(energy - potential).max()
    same_energy = np.abs(system.hamiltonian(t, there) - energy).max() <= 1e-9 * size
    here, there = (np.abs(system.constraints(t, states)).max(initial=0.0) for states in (here, there))
    return bool(same_energy and there <= 1e-9 * (1 + np.abs(shift).max()) + 10 * here)


def _moved(system, state, rotation, shift):
    """A state with all bodies turned about the origin and shifted."""
    q, p = np.zeros(system.n_q), np.zeros(system.n_q)
    for body in system.bodies:
        part = system.coordinates(body)
        own = state[part], state[system.n_q:][part]
        pose = {"position": rotation @ body.position(own[0]) + shift, "velocity": rotation @ body.velocity(*own)}
        if body.has_orientation:
            left, _, right = np.linalg.svd(body.rotation_matrix(own[0]))  # the nearest rotation
            pose |= {"orientation": rotation @ left @ right,
                     "angular_velocity": body.angular_velocity(*own)}
        q[part], p[part] = body.state(Pose(**pose))
    return np.concatenate([q, p])
