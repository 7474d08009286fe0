"""The size of a motion, against which errors of states are measured wherever a tolerance is asked for.

Velocities are measured against their largest change v, coordinates against the length v^2 / a that belongs to it, with
a the largest acceleration: what is travelled while the velocity changes. So a system that drifts away does not become
less accurate. Positions and rotations count on their own, weighted with masses and inertia: by the largest motion of
all bodies, and where a body is light beside others by its own (`mechanics.values.measures.measure`). A state of first
order has a unit of its own and no momentum: it is measured as velocities are, by its own largest change.
"""

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record
from ...mechanics.symbols import first_order_places
from ...mechanics.values import measures

NOISE = 4e-15  # relative round-off of a state, which is no error
LEAST = 1e-3  # of the motion of others, that each block is taken to move at least
DRIFT = 1e-4  # of its velocity, that a block is taken to change its velocity at least
ALIKE, ALIKE_IN_STEPS = measures.ALIKE, measures.ALIKE_IN_STEPS
FIRST_ORDER = 2  # kind of a block
SPEED, RATE, UNWEIGHTED_SPEED, UNWEIGHTED_RATE = range(4)  # of `Motion.common`

measure = compiled(error_model="numpy", _nrt=False)(measures.measure)


class Motion(Record):
    """A motion so far, in blocks of coordinates (positions, rotations of a body); with q scaled by root(mass)."""

    roots: np.ndarray  # (n_q,) roots of the masses; of states of first order 1
    blocks: np.ndarray  # (n_q,) number of the block of each coordinate; -1 of counters of turns, which may be off
    kinds: np.ndarray  # (n_blocks,) 0 for positions, 1 for what the mass tells apart from them, FIRST_ORDER
    block_roots: np.ndarray  # (n_blocks,)
    body_roots: np.ndarray  # (n_blocks,) the same of the positions of the body, by which its rotations are lengths
    rows: np.ndarray  # (n_q,) entries of z that tell how fast: momenta, and states of first order themselves
    start: np.ndarray  # (n_q,) these at the start
    speed: np.ndarray  # (n_blocks,) largest change of the velocity
    rate: np.ndarray  # (n_blocks,) largest acceleration
    now: np.ndarray  # (n_blocks,) largest velocity that counts; scratch
    common: np.ndarray  # (n_kinds, 4) the largest of all blocks of a kind; scratch

    @classmethod
    def of(cls, system, z0):
        """The `Motion` of a system at its start."""
        (blocks, kinds), roots = measures.blocks_of(system), np.sqrt(system.mass_scale)
        rows, states = system.n_q + np.arange(system.n_q), np.array(first_order_places(system), int)
        rows[states], blocks[states], roots[states] = states, len(kinds) + np.arange(len(states)), 1.0
        kinds = np.append(kinds, np.full(len(states), FIRST_ORDER))
        numbers, first, blocks = np.unique(blocks, return_index=True, return_inverse=True)
        of_bodies = roots[first]
        for body in system.bodies:
            places = np.arange(system.n_q)[system.coordinates(body)]
            if body.n_q > 3:
                of_bodies[blocks[places[3:]]] = roots[places[0]]
            if body.is_counter:
                blocks[places] = -1
        return cls(roots, blocks, kinds[numbers], roots[first], of_bodies, rows, z0[rows],
                   *np.zeros((3, len(numbers))), np.zeros((2, 4)))


def size_of_motion(system, t, z, ends=None):
    """Sizes of the components of states, shape (n_z,), by the motion through the states `z`, shape (n, n_z), at `t`;
    inf of counters of turns, and of the momenta that states of first order do not have. Where momenta jump, `z` has
    the states after that, and `ends`, shape (n - 1, n_z), those before, at the ends of elements."""
    z = np.ascontiguousarray(z)
    motion, out = Motion.of(system, z[0]), np.empty(z.shape[1])
    _sizes_along(motion, np.ascontiguousarray(t, float), z, np.ascontiguousarray(z[1:] if ends is None else ends), out)
    return out


@compiled(error_model="numpy", _nrt=False)
def _sizes_along(motion, t, z, ends, out):
    n = motion.roots.shape[0]
    follow(motion, t, z, ends)
    for i in range(n):
        path, speed = size_of(motion, i, t[-1] - t[0], 0.0)
        out[i], out[n + i] = path / motion.roots[i], speed * motion.roots[i]


@compiled(error_model="numpy", _nrt=False)
def follow(motion, t, z, ends):
    """Let the states `z`, shape (n, n_z), at `t` count, and those at the `ends` of the elements between them."""
    motion.now[:] = 0.0
    for k in range(t.shape[0]):
        if k:
            enlarge(motion, z[k - 1], ends[k - 1], t[k] - t[k - 1])
        see(motion, z[k])
    share(motion)


@compiled(error_model="numpy", _nrt=False)
def enlarge(motion, before, after, length):
    """Update a motion by states `before` and `after` a time `length`."""
    for i in range(motion.roots.shape[0]):
        b, row = motion.blocks[i], motion.rows[i]
        if b < 0:
            continue
        motion.speed[b] = max(motion.speed[b], abs(after[row] - motion.start[i]) / motion.roots[i])
        motion.rate[b] = max(motion.rate[b], abs(after[row] - before[row]) / motion.roots[i] / length)


@compiled(error_model="numpy", _nrt=False)
def take(motion, other):
    """Let a motion have the size of another one."""
    for b in range(motion.speed.shape[0]):
        motion.speed[b], motion.rate[b] = other.speed[b], other.rate[b]


@compiled(error_model="numpy", _nrt=False)
def see(motion, z):
    """Let the velocities of a state count."""
    for i in range(motion.roots.shape[0]):
        b = motion.blocks[i]
        if b < 0:
            continue
        motion.now[b] = max(motion.now[b], abs(z[motion.rows[i]]) / motion.roots[i])


@compiled(error_model="numpy", _nrt=False)
def share(motion):
    """Find what all blocks of a kind have in common, and let each have some velocity: one, where nothing moves."""
    common, largest = motion.common, 0.0
    common[:] = 0.0
    for b in range(motion.speed.shape[0]):
        k, root = motion.kinds[b], motion.block_roots[b]
        if k == FIRST_ORDER:
            motion.now[b] = motion.now[b] if motion.now[b] > 0.0 else 1.0
            continue
        largest = max(largest, motion.speed[b] / motion.body_roots[b], motion.now[b] / motion.body_roots[b])
        common[k, SPEED] = max(common[k, SPEED], motion.speed[b])
        common[k, RATE] = max(common[k, RATE], motion.rate[b])
        common[k, UNWEIGHTED_SPEED] = max(common[k, UNWEIGHTED_SPEED], motion.speed[b] / root)
        common[k, UNWEIGHTED_RATE] = max(common[k, UNWEIGHTED_RATE], motion.rate[b] / root)
    for b in range(motion.now.shape[0]):
        if motion.kinds[b] == FIRST_ORDER:
            continue
        motion.now[b] = max(motion.now[b], LEAST * largest * motion.body_roots[b]) if largest > 0.0 else 1.0


@compiled(error_model="numpy", _nrt=False)
def size_of(motion, i, duration, least_time):
    """Length and velocity against which errors of coordinate i are measured, after `share`.

    The motion is taken to have lasted for `least_time`: what starts from rest has no size yet.
    """
    b, root, common = motion.blocks[i], motion.roots[i], motion.common
    if b < 0:
        return np.inf, np.inf
    k, rate, drift = motion.kinds[b], motion.rate[b], DRIFT * motion.now[b]
    if k == FIRST_ORDER:
        return max(motion.speed[b], drift, rate * least_time), np.inf
    largest, fastest = max(common[0, SPEED], common[1, SPEED]), max(common[0, RATE], common[1, RATE])
    speed = max(common[k, SPEED], LEAST * largest, drift, common[k, RATE] * least_time)
    path = speed**2 / max(common[k, RATE], LEAST * fastest, speed / duration)
    own = max(motion.speed[b], LEAST * root * common[k, UNWEIGHTED_SPEED], drift, rate * least_time)
    own_path = own**2 / max(rate, LEAST * root * common[k, UNWEIGHTED_RATE], own / duration)
    return measure(own_path, path, ALIKE), measure(own, speed, ALIKE)


@compiled(error_model="numpy", _nrt=False)
def relative_error(motion, error, z, duration, least_time):
    """Largest entry of an error of `z = (q, p)`, relative to the size of the motion; round-off left out.

    Round-off of velocities is that of places over the whole time: what is held at rest moves by no more.
    """
    n, largest, unweighted, result = motion.roots.shape[0], 0.0, 0.0, 0.0
    reach, unweighted_reach = 0.0, 0.0
    for b in range(motion.now.shape[0]):
        motion.now[b] = 0.0
    for i in range(n):
        b = motion.blocks[i]
        if b < 0:
            continue
        motion.now[b] = max(motion.now[b], abs(motion.start[i]) / motion.roots[i])
        if motion.kinds[b] != FIRST_ORDER:
            way = abs(z[i]) * motion.roots[i]
            reach, unweighted_reach = max(reach, way), max(unweighted_reach, way / motion.body_roots[b])
    see(motion, z)
    for b in range(motion.now.shape[0]):
        largest, unweighted = max(largest, motion.now[b]), max(unweighted, motion.now[b] / motion.body_roots[b])
    share(motion)
    for i in range(n):
        if motion.blocks[i] < 0:
            continue
        root, now, body = motion.roots[i], motion.now[motion.blocks[i]], motion.body_roots[motion.blocks[i]]
        path, speed = size_of(motion, i, duration, least_time)
        noise, far = NOISE * max(min(largest, unweighted * body), now), NOISE * min(reach, unweighted_reach * body)
        if motion.kinds[motion.blocks[i]] == FIRST_ORDER:  # which may be but the noise of others
            far = NOISE * max(abs(z[i]), unweighted) * root
        noise = max(noise, far / duration)
        of_q = max(abs(error[i]) * root - far, 0.0) / path
        of_p = max(abs(error[n + i]) / root - noise, 0.0) / speed
        if not max(of_q, of_p) <= result:  # also when it is not a number
            result = max(of_q, of_p)
    return result


@compiled(error_model="numpy", _nrt=False)
def relative_errors(motion, errors, z, duration, result):
    """`relative_error` of each line of `errors` and `z`."""
    for i in range(errors.shape[0]):
        result[i] = relative_error(motion, errors[i], z[i], duration, 0.0)


@compiled(error_model="numpy", _nrt=False)
def set_sizes(motion, components, z, length, duration, sizes, emphasis):
    """Let increments of Newton's method count by the size of the motion, in place in the sizes of its unknowns.

    At rest they count by places, and by the velocities that lead there within a time `length`. `emphasis` takes the
    factors by which those of light bodies count more.

    Parameters
    ----------
    components : ndarray of int
        For each unknown its place in `(q, p, v)`, or -1: others do not count.

    Returns
    -------
    bool
        Whether anything moves.
    """
    n, common, way = motion.roots.shape[0], motion.common, 0.0
    share(motion)
    fastest = max(common[0, SPEED], common[1, SPEED])
    for i in range(n):
        if motion.blocks[i] >= 0 and motion.kinds[motion.blocks[i]] != FIRST_ORDER:
            way = max(way, abs(z[i]) * motion.roots[i])
    way = way if way > 0.0 else 1.0
    moves = fastest > 0.0
    for c in range(components.shape[0]):
        sizes[c], emphasis[c] = np.inf, 1.0
        i = components[c] % n
        if components[c] < 0 or motion.blocks[i] < 0:
            continue
        k, root, own = motion.kinds[motion.blocks[i]], motion.roots[i], motion.speed[motion.blocks[i]]
        if k == FIRST_ORDER:
            moves = moves or own > 0.0
            if own > 0.0 and components[c] < n:
                sizes[c] = own
            continue
        path, speed = way, way / length
        if fastest > 0.0:
            speed = max(common[k, SPEED], LEAST * fastest)
            path = speed**2 / max(common[k, RATE], speed / duration)
            own = max(own, LEAST * root * common[k, UNWEIGHTED_SPEED], LEAST**2 * speed)
            emphasis[c] = speed / measure(own, speed, ALIKE_IN_STEPS)
        sizes[c] = path / root if components[c] < n else speed * root if components[c] < 2 * n else speed / root
    return moves
