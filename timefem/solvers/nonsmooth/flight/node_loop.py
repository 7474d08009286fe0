"""Compiled: what contacts are worth at a state, and impacts there; and what the compiled loop of flights takes, records
of arrays and thresholds."""

import numpy as np

from ....kernels.loops import compiled
from ....kernels.record import Record
from ....mechanics.values.evaluate import Tables, along
from ...march.loop import MarchArrays
from ..impact_law import OPEN, PRESSED, SLIDES, STICKS
from ..impact_loop import Law, proximal, residual
from ..mobility import Block, move_block

FLIES, LOOKS, STRIKES = range(3)  # how a flight ends: it goes on; at an element, or at a node, that needs more
# sizes of the law at nodes, in this order
SPEED, LENGTH, STILL, ROUNDING, MET, PULLED = range(6)


class Formulas(Record):
    """Tables of evaluators, and where what they give stands."""

    gaps: Tables  # gaps, then their rates, by states
    velocity: Tables  # by states
    momentum: Tables  # by states and velocities
    motion: Tables  # by coordinates and velocities, and further inputs that are zero
    at_gaps: np.ndarray  # (1, n) scratch, values
    at_velocity: np.ndarray
    at_momentum: np.ndarray
    at_motion: np.ndarray  # (2, n), of the start of an element, and of its end
    of_states: np.ndarray  # (1, n_z) scratch, inputs
    of_both: np.ndarray  # (1, n_z + n_q)
    of_motion: np.ndarray
    time: np.ndarray  # (1,)
    first: np.ndarray  # where quantities begin among the values of the motion, in the order of `QUANTITIES`
    mass: np.ndarray  # (n_entries, 3) of int: row, column, place among these values
    jacobian: np.ndarray  # the same of the rows of contacts


QUANTITIES = ("row", "second", "third", "gap", "gap rate", "gap acceleration", "slip", "slip rate", "restitution",
              "friction", "load")
ROW, SECOND, THIRD, GAP, GAP_RATE, GAP_ACCELERATION, SLIP, SLIP_RATE, RESTITUTION, FRICTION, LOAD = range(11)


class Moving(Record):
    """How forces move bodies, at the start of an element and at its end."""

    block: Block  # all blocks as one kind: coordinates that are none have the index n_q, and a mass of one
    place: np.ndarray  # (n_q, 2) of int, block and place there of each coordinate
    helpers: np.ndarray  # coordinates that count turns
    v: np.ndarray  # (2, n_q)
    force: np.ndarray  # (2, n_q + 1)
    right: np.ndarray  # (2, n_rows)
    roots: np.ndarray  # (2, n_blocks, b, b)
    acceleration: np.ndarray  # (2, n_q + 1)
    rooted: np.ndarray  # (3 n_contacts, n_blocks b)
    pushed: np.ndarray  # (2, n_blocks b) scratch
    change: np.ndarray  # (n_q + 1,) scratch


class Rows(Record):
    """The rows of contacts."""

    tangents: np.ndarray  # rows of slip among the three of each
    n_slip: np.ndarray
    label: np.ndarray  # of each contact, number of the set of bodies that it depends on
    alike: np.ndarray  # the same, apart for lengths and for angles
    of: np.ndarray  # number of the set of each coordinate
    sums: np.ndarray  # (2, n_sets) scratch
    sizes: np.ndarray  # (6, n_contacts), see above
    zero: np.ndarray  # of int, whether the gap is zero at the start as it has just opened
    gap: np.ndarray  # (2, n_contacts) at the start and at the end of an element
    rate: np.ndarray
    gamma: np.ndarray  # (2, 3 n_contacts)
    free: np.ndarray
    near: np.ndarray  # contacts that may close in an element
    ends: np.ndarray  # (2, n_contacts, 3) of these: gap, rate, acceleration
    lengths: np.ndarray
    still: np.ndarray
    at_zero: np.ndarray
    scratch: np.ndarray  # (5, 6)
    found: np.ndarray  # (n_contacts, 3)


class Limits(Record):
    """Thresholds: see `ContactOptions` and `LawOptions`."""

    touching: float
    through: float
    still: float
    unseen: float
    rest: float
    short_flight: float
    sliver: float
    locations: int
    shift: float
    blocked: float
    stalled: float
    gain: float
    most: int  # events in one element of the mesh
    ahead: int


class Told(Record):
    """What a flight gives."""

    x: np.ndarray  # (n, n_local) dofs of elements
    ends: np.ndarray  # (n,) their ends
    iterations: np.ndarray
    where: np.ndarray  # (n_events, 3) of int: elements before, contact that closes, how many touch
    contacts: np.ndarray  # (n_events, few) of int
    statuses: np.ndarray
    numbers: np.ndarray  # (n_events, 3) time, energy, distance
    impulses: np.ndarray  # (n_events, few, 3)


class Flight(Record):
    """A flight: where it is, and all that the loop takes."""

    march: MarchArrays
    one: MarchArrays  # of one element
    best: np.ndarray  # (n_local,) dofs of the best one
    state: np.ndarray  # (n_shapes, n_z) places of the state among the dofs of an element
    formulas: Formulas
    moving: Moving
    rows: Rows
    limits: Limits
    alone: Law  # of one contact
    few: Law  # of some; those that are not there have no compliance
    x: np.ndarray  # (2, 3 few) impulses, and velocities before, scaled
    size: np.ndarray  # (3 few,)
    rest: np.ndarray  # (few,)
    told: Told
    t: np.ndarray  # (1,)
    z: np.ndarray  # (2, n_z) here, and at the end of the element
    counts: np.ndarray  # elements, events, and the contact that closes where the flight ends, of int


@compiled(error_model="numpy", _nrt=False)
def gaps(formulas, t, z, gap, rate):
    """Gaps and their rates at a state."""
    n, values = gap.shape[0], formulas.at_gaps
    formulas.time[0] = t
    for i in range(z.shape[0]):
        formulas.of_states[0, i] = z[i]
    values[:] = 0.0
    along(formulas.gaps, formulas.time, formulas.of_states, values)
    for c in range(n):
        gap[c], rate[c] = values[0, c], values[0, n + c]


@compiled(error_model="numpy", _nrt=False)
def states(f, side, t, z):
    """What contacts are worth at a state, to row `side` of all that has two: gaps, slips, accelerations, mobility."""
    formulas, moving, rows = f.formulas, f.moving, f.rows
    v, n = moving.v[side], moving.v.shape[1]
    formulas.time[0] = t
    for i in range(z.shape[0]):
        formulas.of_states[0, i] = z[i]
    formulas.at_velocity[:] = 0.0
    along(formulas.velocity, formulas.time, formulas.of_states, formulas.at_velocity)
    for i in range(n):
        v[i] = formulas.at_velocity[0, i]
    for i in range(moving.helpers.shape[0]):
        v[moving.helpers[i]] = 0.0
    for i in range(n):
        formulas.of_motion[0, i], formulas.of_motion[0, n + i] = z[i], v[i]
    values = formulas.at_motion[side:side + 1]
    values[:] = 0.0
    along(formulas.motion, formulas.time, formulas.of_motion, values)
    first, found = formulas.first, formulas.at_motion[side]
    force, right = moving.force[side], moving.right[side]
    for i in range(n):
        force[i] = -found[first[ROW] + i]
    for i in range(moving.helpers.shape[0]):
        force[moving.helpers[i]] = 0.0
    n_second = first[THIRD] - first[SECOND]
    for i in range(n_second):
        right[i] = -found[first[SECOND] + i]
    for i in range(right.shape[0] - n_second):
        right[n_second + i] = -found[first[THIRD] + i]
    move_block(moving.block, values, values, moving.force[side:side + 1], moving.right[side:side + 1],
               moving.roots[side:side + 1], moving.acceleration[side:side + 1])
    gamma, free, a = rows.gamma[side], rows.free[side], moving.acceleration[side]
    gamma[:] = 0.0
    free[:] = 0.0
    for c in range(rows.gap.shape[1]):
        gamma[3 * c], free[3 * c] = found[first[GAP_RATE] + c], found[first[GAP_ACCELERATION] + c]
        rows.gap[side, c], rows.rate[side, c] = found[first[GAP] + c], gamma[3 * c]
    for i in range(rows.tangents.shape[0]):
        gamma[rows.tangents[i]], free[rows.tangents[i]] = found[first[SLIP] + i], found[first[SLIP_RATE] + i]
    for i in range(formulas.jacobian.shape[0]):
        free[formulas.jacobian[i, 0]] += found[formulas.jacobian[i, 2]] * a[formulas.jacobian[i, 1]]


@compiled(error_model="numpy", _nrt=False)
def keep_states(f):
    """Take what is known of the end of an element as the start of the next one."""
    moving, rows = f.moving, f.rows
    for i in range(moving.v.shape[1]):
        moving.v[0, i] = moving.v[1, i]
    for i in range(f.formulas.at_motion.shape[1]):
        f.formulas.at_motion[0, i] = f.formulas.at_motion[1, i]
    for i in range(rows.gamma.shape[1]):
        rows.gamma[0, i], rows.free[0, i] = rows.gamma[1, i], rows.free[1, i]


@compiled(error_model="numpy", _nrt=False)
def meet(rows, gap, gamma, stride):
    """Take note of the sizes of gaps, and of velocities, `stride` of each contact."""
    sizes = rows.sizes
    for c in range(gap.shape[0]):
        sizes[MET, c] = max(sizes[MET, c], abs(gap[c]))
        sizes[LENGTH, c] = max(sizes[LENGTH, c], abs(gap[c]))
        for i in range(stride):
            sizes[SPEED, c] = max(sizes[SPEED, c], abs(gamma[stride * c + i]))


@compiled(error_model="numpy", _nrt=False)
def _know(f, z, length):
    """Take note of the speeds and ways that are possible at the end of an element; see `NodeLaw.know`."""
    formulas, moving, rows, limits = f.formulas, f.moving, f.rows, f.limits
    found, v, sizes = formulas.at_motion[1], moving.v[1], rows.sizes
    energies, largest = rows.sums[0], rows.sums[1]
    energies[:] = 0.0
    largest[:] = 0.0
    momenta = moving.change
    momenta[:] = 0.0
    for i in range(formulas.mass.shape[0]):
        momenta[formulas.mass[i, 0]] += found[formulas.mass[i, 2]] * v[formulas.mass[i, 1]]
    for i in range(moving.helpers.shape[0]):
        momenta[moving.helpers[i]] = v[moving.helpers[i]]
    for i in range(v.shape[0]):
        energies[rows.of[i]] += momenta[i] * v[i]
    for c in range(rows.label.shape[0]):
        softness, pulled = 0.0, 0.0
        for r in range(3 * c, 3 * c + 3):
            square = 0.0
            for i in range(moving.rooted.shape[1]):
                square += moving.rooted[r, i] ** 2
            softness, pulled = max(softness, square), max(pulled, abs(rows.free[1, r]))
        reach = np.sqrt(softness * max(energies[rows.label[c]], 0.0))
        largest[rows.alike[c]] = max(largest[rows.alike[c]], reach, pulled * length)
    terms = rows.still  # scratch until the next element
    terms[:] = 0.0
    for i in range(formulas.jacobian.shape[0]):
        if formulas.jacobian[i, 0] % 3 == 0:
            terms[formulas.jacobian[i, 0] // 3] += abs(found[formulas.jacobian[i, 2]] * z[formulas.jacobian[i, 1]])
    for c in range(rows.label.shape[0]):
        possible = largest[rows.alike[c]]
        sizes[STILL, c] = max(sizes[STILL, c], limits.still * possible, limits.unseen * terms[c] / length)
        sizes[LENGTH, c] = max(sizes[LENGTH, c], possible * length)
        sizes[PULLED, c] = max(sizes[PULLED, c], abs(rows.free[1, 3 * c]) * length**2)
        if not np.isfinite(sizes[STILL, c] + sizes[LENGTH, c]):
            return False
    for c in range(rows.label.shape[0]):
        sizes[ROUNDING, c] = limits.through * max(sizes[LENGTH, c], terms[c])
    return True


@compiled(error_model="numpy", _nrt=False)
def _root_rows(f):
    """All rows times R, at the end of an element."""
    formulas, moving = f.formulas, f.moving
    found, root, rooted = formulas.at_motion[1], moving.roots[1], moving.rooted
    n = root.shape[1]
    rooted[:] = 0.0
    for i in range(formulas.jacobian.shape[0]):
        row, q, value = formulas.jacobian[i, 0], formulas.jacobian[i, 1], found[formulas.jacobian[i, 2]]
        block, place = moving.place[q, 0], moving.place[q, 1]
        for j in range(n):
            rooted[row, block * n + j] += value * root[block, place, j]


@compiled(error_model="numpy", _nrt=False)
def _moved(f, event, n):
    """Velocities after the impulses of the contacts that touch, in place of `moving.change`."""
    moving = f.moving
    root, pushed, change = moving.roots[1], moving.pushed[0], moving.change
    width = root.shape[1]
    pushed[:] = 0.0
    for i in range(n):
        for r in range(3):
            impulse, row = f.told.impulses[event, i, r], 3 * f.told.contacts[event, i] + r
            for j in range(pushed.shape[0]):
                pushed[j] += moving.rooted[row, j] * impulse
    for q in range(moving.v.shape[1]):
        block, place = moving.place[q, 0], moving.place[q, 1]
        change[q] = moving.v[1, q]
        for j in range(width):
            change[q] += root[block, place, j] * pushed[block * width + j]


@compiled(error_model="numpy", _nrt=False)
def momenta(f, t, x, state):
    """Momenta of the velocities in `moving.change`, to the places `state` of a state in x; those of counters stay."""
    formulas, moving, n = f.formulas, f.moving, f.moving.v.shape[1]
    formulas.time[0] = t
    for i in range(2 * n):
        formulas.of_both[0, i] = x[state[i]]
    for i in range(n):
        formulas.of_both[0, 2 * n + i] = moving.change[i]
    formulas.at_momentum[:] = 0.0
    along(formulas.momentum, formulas.time, formulas.of_both, formulas.at_momentum)
    for i in range(moving.helpers.shape[0]):
        formulas.at_momentum[0, moving.helpers[i]] = x[state[n + moving.helpers[i]]]
    for i in range(n):
        x[state[n + i]] = formulas.at_momentum[0, i]


@compiled(error_model="numpy", _nrt=False)
def _take_velocity(f, t, z):
    """Take the velocities of `moving.change` into a state, as momenta; counters go on with what they count."""
    formulas, moving, n = f.formulas, f.moving, f.moving.v.shape[1]
    change, helpers = moving.change, moving.helpers
    formulas.time[0] = t
    for i in range(2 * n):
        formulas.of_both[0, i] = z[i]
    for trial in range(1 + (helpers.shape[0] > 0)):
        for i in range(helpers.shape[0]):
            if trial:  # whose momentum is their speed less that of what they count
                root = moving.block.size[moving.place[helpers[i], 0], moving.place[helpers[i], 1]]
                change[helpers[i]] -= formulas.at_momentum[0, helpers[i]] / root**2
        for i in range(n):
            formulas.of_both[0, 2 * n + i] = change[i]
        formulas.at_momentum[:] = 0.0
        along(formulas.momentum, formulas.time, formulas.of_both, formulas.at_momentum)
    for i in range(helpers.shape[0]):
        formulas.at_momentum[0, helpers[i]] = z[n + helpers[i]]
    for i in range(n):
        z[n + i] = formulas.at_momentum[0, i]


@compiled(error_model="numpy", _nrt=False)
def strike(f, law, event, t, z, closes, length):
    """The impact at the end of an element, at which a contact closes, and the state after it, in place; False where
    there is none, or more is to be found than plain impulses after which all contacts are open: the state is as it was.
    """
    moving, rows, limits, told = f.moving, f.rows, f.limits, f.told
    gamma, found, first = rows.gamma[1], f.formulas.at_motion[1], f.formulas.first
    _root_rows(f)
    meet(rows, rows.gap[1], gamma, 3)
    if not _know(f, z, length):
        return False
    contacts, n, most, approaches = told.contacts[event], 0, law.friction.shape[0], False
    for c in range(rows.label.shape[0]):
        if c == closes or rows.gap[1, c] <= limits.touching * rows.sizes[LENGTH, c]:
            if n == most:
                return False
            contacts[n] = c
            n += 1
            approaches = approaches or -gamma[3 * c] > rows.sizes[STILL, c]
    if not approaches:
        return False
    d, size, x, b = law.compliance, f.size, f.x[0, :3 * most], f.x[1, :3 * most]
    _scale(f, law, event, n, d, size)
    if not _depend(d, law.length, n):
        return False
    largest = 0.0
    for i in range(3 * most):
        b[i] = gamma[3 * contacts[i // 3] + i % 3] * size[i] if i < 3 * n else 0.0
        largest = max(largest, abs(b[i]))
        x[i] = 0.0
    if not largest > 0.0:
        return False
    for i in range(3 * most):
        b[i] /= largest
    for i in range(n):
        c = contacts[i]
        rest, speed = found[first[RESTITUTION] + c], abs(gamma[3 * c])
        flight = 2 * rest * speed / max(abs(rows.free[1, 3 * c]), 1e-300)
        slow = rest < 1 and (speed < limits.rest * rows.sizes[SPEED, c] or flight < limits.short_flight * length)
        if slow or gamma[3 * c] > 0:
            rest = 0.0
        f.rest[i] = rest
        b[3 * i] *= 1.0 + rest
    law.count[0] = 0
    if not proximal(law, x, b, limits.shift, 1.0, 0.0):
        return False
    residual(law, x, b, 0.0, 0.0, 1.0)
    energy, most_impulse, distance = 0.0, 1.0, np.inf
    for i in range(3 * n):
        xi = b[i]
        for j in range(3 * n):
            xi += d[i, j] * x[j]
        before = b[i] / (1.0 + f.rest[i // 3]) if i % 3 == 0 else b[i]
        energy += x[i] * (before + (xi - b[i]) / 2)
        most_impulse = max(most_impulse, abs(x[i]))
    if energy > limits.gain * most_impulse:
        return False
    for i in range(n):
        c, pressed = contacts[i], law.a[3 * i] > 0.0
        slip = 0.0
        for r in range(1, 3):
            xi = b[3 * i + r]
            for j in range(3 * n):
                xi += d[3 * i + r, j] * x[j]
            slip = np.hypot(slip, xi)
        slides = pressed and law.length[i] > law.radius[i] and slip > limits.stalled
        told.statuses[event, i] = OPEN if not pressed else (SLIDES if slides else STICKS)
        if pressed and law.friction[i] == 0.0:
            told.statuses[event, i] = PRESSED
        distance = min(distance, abs(law.a[3 * i]))
        if pressed and law.friction[i] > 0.0:
            distance = min(distance, abs(law.length[i] - law.radius[i]))
        for r in range(3):
            told.impulses[event, i, r] = x[3 * i + r] * size[3 * i + r] * largest
    told.numbers[event, 0], told.numbers[event, 2] = t, distance
    told.where[event, 1], told.where[event, 2] = closes, n
    _moved(f, event, n)
    after = f.z[0]
    for i in range(z.shape[0]):
        after[i] = z[i]
    _take_velocity(f, t, after)
    energy = 0.0  # with the work of surfaces that move, and of joints whose motion is prescribed
    for q in range(moving.v.shape[1]):
        energy += (after[moving.v.shape[1] + q] - z[moving.v.shape[1] + q]) * (moving.v[1, q] + moving.change[q]) / 2
    told.numbers[event, 1] = energy
    states(f, 0, t, after)
    for i in range(n):
        c = contacts[i]
        slow = abs(rows.free[0, 3 * c]) * limits.short_flight * length / 2
        if rows.gamma[0, 3 * c] <= max(rows.sizes[STILL, c], slow):
            return False
    meet(rows, rows.gap[0], rows.gamma[0], 3)
    rows.zero[:] = 0
    for i in range(n):
        rows.zero[contacts[i]] = rows.gap[0, contacts[i]] <= rows.sizes[ROUNDING, contacts[i]]
    return True


@compiled(error_model="numpy", _nrt=False)
def _depend(d, seen, n):
    """Whether the first n contacts depend on each other; those that do not have laws of their own, see `impact`."""
    for c in range(n):
        seen[c] = c == 0
    for _ in range(n - 1):
        for row in range(3 * n):
            for column in range(3 * n):
                if seen[row // 3] > 0.0 and d[row, column] != 0.0:
                    seen[column // 3] = 1.0
    for c in range(n):
        if seen[c] == 0.0:
            return False
    return True


@compiled(error_model="numpy", _nrt=False)
def _scale(f, law, event, n, d, size):
    """The law of n contacts that touch, with one size per contact; see `_Scaled`."""
    rows, moving, most = f.rows, f.moving, law.friction.shape[0]
    contacts, friction = f.told.contacts[event], f.formulas.first[FRICTION]
    d[:] = 0.0
    for i in range(3 * n):
        for j in range(i + 1):
            value = 0.0
            one, other = 3 * contacts[i // 3] + i % 3, 3 * contacts[j // 3] + j % 3
            for k in range(moving.rooted.shape[1]):
                value += moving.rooted[one, k] * moving.rooted[other, k]
            d[i, j] = d[j, i] = value
    for c in range(most):
        largest, mean, count = 0.0, 0.0, 0
        for i in range(3 * c, 3 * c + 3):
            largest = max(largest, d[i, i])
        for i in range(3 * c, 3 * c + 3):
            if d[i, i] > f.limits.blocked * largest:
                mean, count = mean + d[i, i], count + 1
        mean /= max(count, 1)
        for i in range(3 * c, 3 * c + 3):
            size[i] = 1.0 / np.sqrt(mean if mean > 0.0 else 1.0) if d[i, i] > f.limits.blocked * largest else 0.0
        law.friction[c] = 0.0
        if c < n and rows.n_slip[contacts[c]] > 0:
            law.friction[c] = f.formulas.at_motion[1, friction + contacts[c]]
    for i in range(3 * most):
        for j in range(3 * most):
            d[i, j] *= size[i] * size[j]
    for i in range(3 * most):
        if size[i] == 0.0:
            d[i, i] = 1.0
