"""Motions from one state to another: cubic or bent, with joints closed."""

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.bodies import rotations
from ....mechanics.bodies.states import CanonicalState, Pose
from ....mechanics.states.assemble import consistent_states
from ....polynomials import CubicSpline
from ..options import OPTIONS
from .shapes import (
    closed_as_wholes,
    easiest_axis,
    has_shapes,
    quaternions,
    rate_before,
    rate_of_turn,
    turn,
    turned,
    with_shapes,
)


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
        for places in getattr(body, "quaternions", ()):
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
