"""The size of a motion, against which errors of states are measured wherever a tolerance is asked for.

Velocities are measured against their largest change v, coordinates against the length v^2 / a that belongs to it, with
a the largest acceleration: what is travelled while the velocity changes. So a system that drifts away does not become
less accurate. Positions and rotations count on their own, weighted with masses and inertia.
"""

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record

ENOUGH = 0.1  # an increment d, relative to the motion, leaves an error of about d^2
NOISE = 4e-15  # relative round-off of a state, which is no error
LEAST = 1e-3  # of the motion of all blocks, that one block is taken to move at least


class Motion(Record):
    """A motion so far, in blocks of coordinates (positions, rotations); with q scaled by root(mass)."""

    roots: np.ndarray  # (n_q,) roots of the masses
    blocks: np.ndarray  # (n_q,) number of the block of each coordinate
    start: np.ndarray  # (n_q,) momenta at the start
    speed: np.ndarray  # (n_blocks,) largest change of the velocity
    rate: np.ndarray  # (n_blocks,) largest acceleration

    @classmethod
    def of(cls, system, z0):
        """The `Motion` of a system at its start."""
        blocks = np.concatenate([_blocks(len(body.mass_scale)) for body in system.bodies])
        return cls(np.sqrt(system.mass_scale), blocks, z0[system.n_q:].copy(), *np.zeros((2, blocks.max() + 1)))


def _blocks(n):
    """Block of each coordinate of a body: 0 for positions, 1 for what the mass tells apart from them."""
    return np.where(np.arange(n) < 3, 0, 1) if n > 3 else np.zeros(n, int)


def size_of_motion(system, t, z):
    """Sizes of the components of states, shape (n_z,), by the motion through the states `z`, shape (n, n_z), at `t`."""
    z = np.ascontiguousarray(z)
    motion, out = Motion.of(system, z[0]), np.empty(z.shape[1])
    _sizes_along(motion, np.ascontiguousarray(t, float), z, out)
    return out


@compiled(error_model="numpy", _nrt=False)
def _sizes_along(motion, t, z, out):
    n, now = motion.roots.shape[0], 0.0
    for k in range(t.shape[0]):
        if k:
            enlarge(motion, z[k - 1, n:], z[k, n:], t[k] - t[k - 1])
        for i in range(n):
            now = max(now, abs(z[k, n + i]) / motion.roots[i])
    least, slow = _least(motion, now)
    for i in range(n):
        path, speed = size_of_block(motion, motion.blocks[i], least, slow, t[-1] - t[0], 0.0)
        out[i], out[n + i] = path / motion.roots[i], speed * motion.roots[i]


@compiled(error_model="numpy", _nrt=False)
def enlarge(motion, before, after, length):
    """Update a motion by momenta `before` and `after` a time `length`."""
    for i in range(motion.roots.shape[0]):
        b = motion.blocks[i]
        motion.speed[b] = max(motion.speed[b], abs(after[i] - motion.start[i]) / motion.roots[i])
        motion.rate[b] = max(motion.rate[b], abs(after[i] - before[i]) / motion.roots[i] / length)


@compiled(error_model="numpy", _nrt=False)
def take(motion, other):
    """Let a motion have the size of another one."""
    for b in range(motion.speed.shape[0]):
        motion.speed[b], motion.rate[b] = other.speed[b], other.rate[b]


@compiled(error_model="numpy", _nrt=False)
def _least(motion, now):
    """Least change of the velocity and least acceleration of a block; `now` is the largest velocity."""
    largest, fastest = 0.0, 0.0
    for b in range(motion.speed.shape[0]):
        largest, fastest = max(largest, motion.speed[b]), max(fastest, motion.rate[b])
    if now == 0.0 and largest == 0.0:
        now = 1.0
    return max(LEAST * largest, 1e-4 * now), LEAST * fastest


@compiled(error_model="numpy", _nrt=False)
def size_of_block(motion, b, least, slow, duration, least_time):
    """Length and velocity against which errors of block b are measured.

    The motion is taken to have lasted for `least_time`: what starts from rest has no size yet.
    """
    speed = max(motion.speed[b], least, motion.rate[b] * least_time)
    return speed**2 / max(motion.rate[b], slow, speed / duration), speed


@compiled(error_model="numpy", _nrt=False)
def relative_error(motion, error, z, duration, least_time):
    """Largest entry of an error of `z = (q, p)`, relative to the size of the motion; round-off left out."""
    n, now, result = motion.roots.shape[0], 0.0, 0.0
    for i in range(n):
        now = max(now, abs(z[n + i]) / motion.roots[i], abs(motion.start[i]) / motion.roots[i])
    least, slow = _least(motion, now)
    for i in range(n):
        root = motion.roots[i]
        path, speed = size_of_block(motion, motion.blocks[i], least, slow, duration, least_time)
        of_q = max(abs(error[i]) - NOISE * abs(z[i]), 0.0) * root / path
        of_p = max(abs(error[n + i]) / root - NOISE * now, 0.0) / speed
        if not max(of_q, of_p) <= result:  # also when it is not a number
            result = max(of_q, of_p)
    return result


@compiled(error_model="numpy", _nrt=False)
def relative_errors(motion, errors, z, duration, result):
    """`relative_error` of each line of `errors` and `z`."""
    for i in range(errors.shape[0]):
        result[i] = relative_error(motion, errors[i], z[i], duration, 0.0)


@compiled(error_model="numpy", _nrt=False)
def enough(motion, limit, per_size, state, duration):
    """Scaled increment of Newton's method that leaves an error that is small against `limit`.

    `state` are the places of `z = (q, p)` at the end of an element among its core unknowns, or -1.
    """
    n, largest, result = motion.roots.shape[0], 0.0, np.inf
    for b in range(motion.speed.shape[0]):
        largest = max(largest, motion.speed[b])
    for i in range(n):
        b, root = motion.blocks[i], motion.roots[i]
        speed = max(motion.speed[b], LEAST * largest)
        if speed == 0.0:
            return 0.0
        path = speed**2 / max(motion.rate[b], speed / duration)
        if state[i] >= 0:
            result = min(result, path / root * per_size[state[i]])
        if state[n + i] >= 0:
            result = min(result, speed * root * per_size[state[n + i]])
    return ENOUGH * np.sqrt(limit) * result if np.isfinite(result) else 0.0
