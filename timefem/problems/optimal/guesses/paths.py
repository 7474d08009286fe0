"""Motions from one state to another: cubic or bent, with joints closed; or with controls that put in energy; and beams
and ropes, which turn as a whole while their shape changes steadily."""

import warnings
from copy import copy
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ....elements.mixed_galerkin import MixedGalerkin
from ....errors import InputError, UnderResolved
from ....mechanics.bodies import rotations
from ....mechanics.bodies.states import CanonicalState, Pose
from ....mechanics.numbers.changes import extended
from ....mechanics.part import Part
from ....mechanics.states.assemble import consistent_states
from ....mechanics.values.at_start import constraint_sizes, constraints_at
from ....mechanics.values.equations_of_motion import EquationsOfMotion
from ....mechanics.values.forces import n_seen
from ....memory import Late
from ....polynomials import CubicSpline
from ...initial.problem import InitialValueProblem
from ...kinds import KINDS
from ...task import Task
from ..options import OPTIONS

scipy = Late("scipy")

NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


class Way(NamedTuple):
    """From where to where: states (n_z,) at both ends of a time span, velocities there (2, n_q), zero where free."""

    system: Any
    first: Any
    last: Any
    t_span: tuple
    rates: np.ndarray


def path(way, times, bend=0.0, seed=0):
    """States on a way, at times of shape (n_elements, n_shapes).

    Parameters
    ----------
    way : Way
    bend : float
        How far bodies go aside in the middle [m or rad], in directions that `seed` tells.
    """
    system = way.system
    joints = system.n_constraints > sum(len(b.constraint_names) for b in system.bodies if b.has_orientation)
    shapes = has_shapes(system)
    if not (joints or bend or shapes):
        return between(way, times)
    t = np.linspace(*way.t_span, OPTIONS.path_samples)
    q = between(way, t[None])[0, :, :system.n_q]
    if shapes:
        q = with_shapes(way, steadily((t - t[0]) / (t[-1] - t[0])), q)
    if bend:
        q = _bent(system, q, bend, np.random.default_rng(seed))
    if joints:
        q = np.array([_closed(system, time, closed_as_wholes(system, time, x) if shapes else x)
                      for time, x in zip(t, q, strict=True)])
    spline = CubicSpline(t, q, way.rates)
    flat = times.ravel()
    z = np.concatenate([spline(flat), np.zeros((len(flat), system.n_q))], axis=1)
    z[:, system.n_q:] = system.momentum(flat, z, spline(flat, 1))
    return z.reshape(*times.shape, system.n_z)


def _bent(system, q, bend, rng):
    """Coordinates (n, n_q), moved aside between the ends."""
    aside, out = bend * np.sin(np.pi * np.linspace(0, 1, len(q))), q.copy()
    for body in system.bodies:
        part = system.coordinates(body)
        first = part.start + (3 if body.has_orientation else body.n_q)
        direction = rng.normal(size=first - part.start)
        out[:, part.start:first] += aside[:, None] * direction / np.linalg.norm(direction)
        if body.has_orientation:
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            for x, angle in zip(out[:, part], aside, strict=True):
                x[3:] = body.state(Pose(orientation=turned(quaternions(body, x)[0], angle * axis)))[0][3:]
    return out


def _closed(system, t, q):
    """Coordinates that hold the constraints near given ones; these, where none are found."""
    near = {b: CanonicalState(q[system.coordinates(b)], np.zeros(b.n_q)) for b in system.bodies}
    try:
        closed = np.concatenate([s.q for s in consistent_states(system, near, t).values()])
    except InputError:
        return q
    for body in system.bodies:  # the sign of quaternions
        part = system.coordinates(body)
        if hasattr(body, "quaternion") and closed[part][3:] @ q[part][3:] < 0:
            closed[part.start + 3:part.stop] *= -1
    return closed


def _oriented(first, whole, spins, shares):
    """Orientations (n, 4), and angular velocities in space, of a turn by axis times angle that has these (2, 3) at its
    ends; `shares` of the way, their rates, and both of the velocities at the ends."""
    s, rate, add, add_rate = shares
    spins = np.array([spins[0], rate_before(whole, spins[1])])
    turns = s * whole + add @ spins
    return turned(first, turns), rate_of_turn(turns, rate * whole + add_rate @ spins)


def _turning(first, last, rates, shares):
    """A quaternion that is a coordinate, and its rates, shape (n, 4) each: it turns, and keeps its length."""
    length, maps = np.linalg.norm(first), [rotations.spatial_map(q) for q in (first, last)]
    spins = np.array([2 * m @ v / (q @ q) for m, v, q in zip(maps, rates, (first, last), strict=True)])
    unit, end = first / length, last / np.linalg.norm(last)
    orientation, omega = _oriented(unit, turn(unit, end), spins, shares)
    turning = np.einsum("...ab,...a->...b", rotations.spatial_map(orientation), omega / 2)
    return length * orientation, length * turning


def steadily(tau):
    """Shares of a way from rest to rest, at shares of the time."""
    return tau**2 * (3 - 2 * tau)


def between(way, times):
    """States on a cubic way from the start to the end, at times of shape (n_elements, n_shapes)."""
    system, z0, z1, (t0, t1), rates = way
    length = t1 - t0
    tau = ((times.ravel() - t0) / length)[:, None]
    s, rate = steadily(tau), 6 * tau * (1 - tau) / length
    # what velocities at both ends add, by Hermite's polynomials, and to the rates
    add = length * np.concatenate([tau * (1 - tau)**2, tau**2 * (tau - 1)], axis=1)
    add_rate = np.concatenate([(1 - tau) * (1 - 3 * tau), tau * (3 * tau - 2)], axis=1)
    out = np.zeros((len(tau), system.n_z))
    for body in system.bodies:
        part = system.coordinates(body)
        momenta = slice(system.n_q + part.start, system.n_q + part.stop)
        a, b, ends = z0[part], z1[part], np.array([v[part] for v in rates])
        if body.has_orientation:
            first, last = quaternions(body, a, b)
            spins = np.array([np.linalg.lstsq(body.turning(q)[0], v, rcond=None)[0]
                              for q, v in zip((a, b), ends, strict=True)])
            x, v = a[:3] + s * (b[:3] - a[:3]) + add @ ends[:, :3], rate * (b[:3] - a[:3]) + add_rate @ ends[:, :3]
            orientation, omega = _oriented(first, turn(first, last, easiest_axis(body)), spins,
                                           (s, rate, add, add_rate))
            if hasattr(body, "states"):  # of many times at once
                own = np.einsum("...ab,...a->...b", rotations.matrix_from_quaternion(orientation), omega)
                out[:, part], out[:, momenta] = body.states(x, orientation, v, own)
                continue
            for i in range(len(tau)):
                out[i, part], out[i, momenta] = body.state(Pose(x[i], orientation[i], v[i], omega[i], "space"))
            continue
        q, v = a + s * (b - a) + add @ ends, rate * (b - a) + add_rate @ ends
        for places in body.quaternions:
            q[:, places], v[:, places] = _turning(a[places], b[places], ends[:, places], (s, rate, add, add_rate))
        out[:, part] = q
        if not body.has_position:
            v = np.einsum("...ab,...b->...a", body.mass_matrix(q), v)
        elif not body.begins_with_position:
            symbols = [ca.SX.sym(name, body.n_q) for name in "qv"]
            found = ca.Function("p", symbols, [body.momenta_of_velocity(*symbols, body.own_parameters)])
            v = np.array(found.map(len(q))(q.T, v.T)).T
        else:
            v = v * body.mass_scale
        out[:, momenta] = v
        out[:, [momenta.start + i for i in body.first_order]] = 0.0
    return out.reshape(*times.shape, system.n_z)


class Pumping(Part):
    """Puts an actuator's controls where they put in energy: `u = middle + half tanh(rate / width + kick)`."""

    def __init__(self, actuator, middle, half, width):
        self.actuator, self.bodies, self.name = actuator, actuator.bodies, f"pumping by {actuator.name}"
        self.own_parameters = np.concatenate([actuator.own_parameters, middle, half, width])

    @property
    def kind(self):
        return Pumping, self.actuator.kind

    def force(self, s):
        n, k = len(self.actuator.own_parameters), self.actuator.n_controls
        own, middle, half, width = ca.vertsplit(s.own, [0, n, n + k, n + 2 * k, n + 3 * k])
        theirs, u = copy(s), ca.SX.sym("u", k)
        theirs.own = own
        by_controls = ca.jacobian(self.actuator.control_force(theirs, u), u)
        rates = by_controls.T @ ca.vertcat(*s.velocity)
        return by_controls @ pumped(rates, middle, half, width, ca.tanh)


def pumped(rates, middle, half, width, tanh=np.tanh):
    """Controls at these rates along them."""
    return middle + half * tanh(rates / width + OPTIONS.pumping_kick)


def pumping(system, actuators, bounds, t_span, ends, longest):
    """States, times and controls (n, n_controls) of a motion that has the energy of the target in the end.

    None where a control has no two bounds, the target has no more energy, or it is not reached.

    Parameters
    ----------
    system : System
    actuators : list of Actuator
    bounds : ndarray, shape (2, n_controls)
    t_span : (float, float)
        As guessed [s].
    ends : (ndarray, ndarray), shape (n_z,) each
        States at the start and at the target.
    longest : float
        Duration [s].
    """
    t0, t1 = t_span
    before, after = (system.hamiltonian(t0, z) for z in ends)
    if any(n_seen(actuator) > actuator.n_controls or not actuator.is_affine for actuator in actuators):
        return None
    if not np.isfinite(bounds).all() or (bounds[0] == bounds[1]).any() or not after > before:
        return None
    middle, half = bounds.mean(axis=0), np.diff(bounds, axis=0)[0] / 2
    try:
        at = EquationsOfMotion.of_state(system, t0, ends[0], middle)
        moved = at.by_controls()  # a control of one gives rates up to the root of twice the energy times a.M a
        squares = 2 * (after - before) * np.sum(moved * (at.mass @ moved), axis=0)
        width = OPTIONS.pumping_width * np.sqrt(np.maximum(squares, 0.0))
        if not (width > 0).all():
            return None
        longest = min(longest, OPTIONS.pumping_longest * (t1 - t0))
        sol = _marched(system, actuators, (middle, half, width), ends[0], t_span, longest)
        enough = system.hamiltonian(sol.t, sol.z) >= after  # where it fails it is far too fast
        if not np.any(enough):
            return None
        t = np.linspace(t0, sol.t[int(np.argmax(enough))], OPTIONS.pumping_samples)
        z, controls = sol(t), []
        for time, state in zip(t, z, strict=True):
            at = EquationsOfMotion.of_state(system, float(time), state, middle)
            controls.append(pumped(at.v @ at.mass @ at.by_controls(), middle, half, width))
    except (InputError, np.linalg.LinAlgError, ValueError):
        return None
    return z, t, np.array(controls)


def _marched(system, actuators, numbers, start, t_span, span):
    parts, stop = [], 0
    for actuator in actuators:
        first, stop = stop, stop + actuator.n_controls
        parts.append(Pumping(actuator, *(x[first:stop] for x in numbers)))
    t0, t1 = t_span
    way = InitialValueProblem(extended(system, parts), start, (t0, t0 + span))
    trees = any(body.velocity_by_solve for body in system.bodies)
    element = MixedGalerkin(2, form="lagrange") if trees else MixedGalerkin(2)
    marches = KINDS["initial"]
    march = marches.default_driver(element)
    n = int(np.ceil(OPTIONS.pumping_per_span * span / (t1 - t0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderResolved)  # of a guess, that goes on too fast once there is enough
        return marches.solve(Task(way, element, n, driver=march(keep_mesh=True), progress=False))


# ---- beams and ropes

def has_shapes(system):
    """Whether some part has several nodes."""
    return any(len(group) > 1 for group in _groups(system))


def with_shapes(way, shares, q):
    """Coordinates (n, n_q) at shares of the way, with the nodes of each part going with the first of them."""
    q = q.copy()
    for group in _groups(way.system):
        if len(group) > 1:
            _carry(way, group, shares, q)
    return q


def _carry(way, group, shares, q):
    places = [way.system.coordinates(body) for body in group]
    first, last = ([(z[place], _point(body, z[place])) for body, place in zip(group, places, strict=True)]
                   for z in (way.first, way.last))
    arms = np.array([[x - end[0][1] for _, x in end] for end in (first, last)])
    axes = [quaternions(body, a, b) if body.has_orientation else (NO_TURN, NO_TURN)
            for body, (a, _), (b, _) in zip(group, first, last, strict=True)]
    whole = turn(*axes[0]) if group[0].has_orientation else _least_turn(*arms)
    arms[1] = arms[1] @ rotations.matrix_from_quaternion(turned(NO_TURN, whole))  # the last shape, turned back
    change = [turn(a, turned(b, -whole)) for a, b in axes]
    for row, s in zip(q, shares, strict=True):
        origin, r = _point(group[0], row[places[0]]), rotations.matrix_from_quaternion(turned(NO_TURN, s * whole))
        for i, (body, place) in enumerate(zip(group, places, strict=True)):
            x = origin + r @ ((1 - s) * arms[0, i] + s * arms[1, i])
            row[place] = _placed(body, x, turned(turned(axes[i][0], s * change[i]), s * whole))


def carried(system, before, z):
    """The state z, shape (n_z,), with beams, and what is on them, that follow bodies which z turns from the one before:
    from one to the next by the joints between them.

    Nodes that z moves on their own go with their part: the search from there satisfies what is prescribed for them.
    """
    if not has_shapes(system):
        return z
    z, groups = z.copy(), _groups(system)
    moved = [any((z[system.coordinates(b)] != before[system.coordinates(b)]).any() for b in group) for group in groups]
    of_body = {body: g for g, group in enumerate(groups) for body in group}
    ways = [None] * len(groups)  # from where, to where, and the turn
    for g, group in enumerate(groups):
        if moved[g] and len(group) == 1 and group[0].has_orientation:
            a, b = (x[system.coordinates(group[0])] for x in (before, z))
            ways[g] = _point(group[0], a), _point(group[0], b), turn(*quaternions(group[0], a, b))
    joints = [{of_body[b] for b in part.bodies if b in of_body} for part in system.parts if part.constraint_names]
    front = [g for g, way in enumerate(ways) if way is not None]
    for g in front:  # which grows
        for other in sorted(set().union(*(joint for joint in joints if g in joint)) - {g}):
            if ways[other] is None and (len(groups[other]) > 1 or not moved[other]):
                ways[other] = first, last, whole = ways[g]
                r = rotations.matrix_from_quaternion(turned(NO_TURN, whole))
                for body in groups[other]:
                    place = system.coordinates(body)
                    q = before[place]
                    own = quaternions(body, q)[0] if body.has_orientation else NO_TURN
                    z[place] = _placed(body, last + r @ (_point(body, q) - first), turned(own, whole))
                front.append(other)
    return z


def closed_as_wholes(system, t, q):
    """Coordinates near `q` with joints as closed as motions of bodies, and of parts as wholes, can make them."""
    m, n = system.n_constraints, system.n_q
    joints = np.concatenate([np.full(len(p.constraint_names), not p.has_orientation) for p in system.parts])
    best, least = q, np.inf
    for _ in range(OPTIONS.closing_steps):
        z = np.concatenate([q, np.zeros(n)])
        sizes = constraint_sizes(system, t, z)[:m][joints]
        theta, jacobian, _ = constraints_at(system, t, z)
        violation = theta[:m][joints] / sizes
        size = np.abs(violation).max(initial=0.0)
        if not size < least:
            break
        best, least = q, size
        if size <= OPTIONS.closed:
            break
        changes, steps = _motions(system, q)
        effect = (scipy.sparse.csr_array(jacobian)[:m, :n][joints] @ changes).toarray() / sizes[:, None]
        q = _moved(system, q, -steps @ np.linalg.lstsq(effect, violation, rcond=OPTIONS.repeated)[0])
    return best


def _groups(system):
    """Bodies that go together: the nodes of a part, and all others alone."""
    groups = {}
    for body in system.bodies:
        if body.begins_with_position and not body.helper:
            groups.setdefault(body.owner or body, []).append(body)
    return list(groups.values())


def _motions(system, q):
    """Motions of the groups whose kinetic energies are alike, which have no units: changes of the coordinates,
    (n_q, 6 n_groups), and translations and turns about the middles that they are, (6 n_groups, 6 n_groups)."""
    groups = _groups(system)
    out = scipy.sparse.lil_array((system.n_q, 6 * len(groups)))
    steps, roots = scipy.sparse.lil_array((6 * len(groups),) * 2), np.sqrt(system.mass_scale)
    for g, group in enumerate(groups):
        places = [system.coordinates(body) for body in group]
        points = np.array([_point(body, q[place]) for body, place in zip(group, places, strict=True)])
        for body, place, arm in zip(group, places, points - points.mean(axis=0), strict=True):
            change = np.zeros((body.n_q, 6))
            d = body.dimension
            change[:d, :3], change[:d, 3:] = np.eye(3)[:d], -rotations.hat(arm)[:d]
            if body.has_orientation:
                change[:, 3:] += body.turning(q[place])[0]
            out[place, 6 * g:6 * g + 6] = change
        own = slice(6 * g, 6 * g + 6)
        moved = roots[:, None] * out[:, own].toarray()
        lengths = np.linalg.norm(moved, axis=0)
        lengths[lengths == 0] = 1.0
        _, s, vt = np.linalg.svd(moved / lengths, full_matrices=False)
        moves = s > OPTIONS.repeated * s[0]  # a straight rope has no turn about itself
        steps[own, own] = vt.T / lengths[:, None] * np.where(moves, 1 / np.where(moves, s, 1.0), 0.0)
    steps = steps.tocsr()
    return out.tocsr() @ steps, steps


def _moved(system, q, steps):
    """Coordinates after translations and turns of the groups."""
    q = q.copy()
    for group, step in zip(_groups(system), steps.reshape(-1, 6), strict=True):
        places = [system.coordinates(body) for body in group]
        points = np.array([_point(body, q[place]) for body, place in zip(group, places, strict=True)])
        middle, r = points.mean(axis=0), rotations.matrix_from_quaternion(turned(NO_TURN, step[3:]))
        for body, place, x in zip(group, places, points, strict=True):
            first = quaternions(body, q[place])[0] if body.has_orientation else NO_TURN
            q[place] = _placed(body, middle + step[:3] + r @ (x - middle), turned(first, step[3:]))
    return q


def _point(body, q):
    return np.concatenate([q[:body.dimension], np.zeros(3 - body.dimension)])


def _placed(body, x, quaternion):
    if body.has_orientation:
        return body.state(Pose(x, quaternion))[0]
    return x[:body.dimension]


def _least_turn(first, last):
    """Axis times angle of the rotation that brings points closest to others, the least of these where they are many."""
    h = last.T @ first
    u, _, vt = np.linalg.svd(h + 1e-6 * max(np.trace(first.T @ first), 1e-300) * np.eye(3))
    r = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
    return turn(NO_TURN, rotations.quaternion_from_matrix(r))


X = np.array([1.0, 0.0, 0.0])


def quaternions(body, *coordinates):
    """Unit quaternions of a body at coordinates, of equal signs where its coordinates have none."""
    if hasattr(body, "quaternion"):
        return tuple(map(body.quaternion, coordinates))
    out = [rotations.as_quaternion(body.rotation_matrix(q)) for q in coordinates]
    return tuple(q if q @ out[0] >= 0 else -q for q in out)


def turn(first, last, about=X):
    """Axis times angle, in space, of the rotation from one unit quaternion to another; of a full turn, which no axis
    follows from, about the one given in the axes of the body."""
    vector, scalar = rotations.spatial_map(first) @ last, first @ last  # last = turn o first
    size = np.linalg.norm(vector)
    if size <= OPTIONS.full_turn and scalar < 0:
        return 2 * np.pi * rotations.matrix_from_quaternion(first) @ about
    return (2 * np.arctan2(size, scalar) / size if size else 0.0) * vector


def easiest_axis(body):
    """Axis of the body about which its inertia is least."""
    inertia = getattr(body, "inertia", None)
    return X if inertia is None else np.linalg.eigh(inertia)[1][:, 0]


def turned(quaternion, axis_angle):
    """A unit quaternion after rotations by axis times angle, in space, shape (..., 3)."""
    half = np.linalg.norm(axis_angle, axis=-1, keepdims=True) / 2
    out = np.cos(half) * quaternion + np.sinc(half / np.pi) * axis_angle / 2 @ rotations.spatial_map(quaternion)
    return out / np.linalg.norm(out, axis=-1, keepdims=True)


def rate_of_turn(axis_angle, rate):
    """Angular velocity, in space, of a turn by axis times angle that change at a rate, shapes (..., 3)."""
    angle = np.linalg.norm(axis_angle, axis=-1, keepdims=True)
    size = np.where(angle > 1e-4, angle, 1.0)  # 1/6 below, to rounding
    across = np.cross(axis_angle, rate)
    return rate + np.sinc(angle / (2 * np.pi))**2 / 2 * across + np.where(
        angle > 1e-4, (size - np.sin(size)) / size**3, 1 / 6) * np.cross(axis_angle, across)


def rate_before(axis_angle, omega):
    """The rate of axis times angle of which an angular velocity comes; least where, near a whole turn, many do."""
    return np.linalg.lstsq(rate_of_turn(axis_angle, np.eye(3)).T, omega, rcond=OPTIONS.singular_turn)[0]
