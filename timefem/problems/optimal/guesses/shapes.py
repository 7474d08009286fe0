"""Beams and ropes on the way of a guess: they turn as a whole while their shape changes steadily.

Straight ways of their nodes would compress what turns, so that it buckles.
"""

import numpy as np

from ....mechanics.bodies import rotations
from ....mechanics.bodies.states import Pose
from ....mechanics.values.at_start import constraint_sizes, constraints_at
from ....memory import Late
from ..options import OPTIONS

scipy = Late("scipy")

NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


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
