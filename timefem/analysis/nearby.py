"""How far two states are apart in minimal coordinates, and states nearby."""

import numpy as np
import scipy

from ..errors import SolveError
from ..mechanics.bodies import rotations
from ..mechanics.bodies.states import CanonicalState, Coordinates, Pose
from ..mechanics.states.assemble import consistent_states
from ..mechanics.values.equations_of_motion import EquationsOfMotion, put_efforts
from ..sensitivity.linearization import Linearization
from ..sensitivity.parameters import Directions
from ..solution.solution import Solution
from ..status import Status
from .chart import moving, steps_of, turns_of
from .options import OPTIONS
from .reduction import Reduction


def state_gap(last, first):
    """Minimal coordinates of the state of `last` seen from that of `first`, shape (n,): `Reduction`s.

    What stands at `exp(eta) R` and turns with omega' has `eta` and `d eta/dt = omega' - omega - eta x omega`.
    """
    system, rate = first.at.system, last.chart.velocity - first.chart.velocity
    gap, start, speed = np.zeros(len(rate)), 0, first.chart.velocity
    for body in moving(system):
        q0, q1 = (r.at.q[system.coordinates(body)] for r in (first, last))
        for shifts, turns in steps_of(body):
            gap[start:start + len(shifts)] = q1[shifts] - q0[shifts]
            start += len(shifts)
            if len(turns):
                vector, own = _turn(body, q0, q1, turns), slice(start, start + 3)
                gap[own], start = vector, start + 3
                rate[own] -= np.cross(vector, speed[own])
    y, s = first.chosen
    return np.concatenate([gap[y], rate[s]])


def _turn(body, q0, q1, turns):
    """The vector that turns what has these coordinates from q0 to q1."""
    if body.has_orientation:
        turn = rotations.quaternion_from_matrix(body.rotation_matrix(q1) @ body.rotation_matrix(q0).T)
    else:
        turn = rotations.product(q1[turns], q0[turns] * [1, -1, -1, -1])
        turn = turn if turn[0] >= 0 else -turn
    size = np.linalg.norm(turn[1:])
    return turn[1:] * (2 * np.arctan2(size, turn[0]) / size if size else 2.0)


def _quaternion(vector):
    """Of the turn by a vector."""
    angle = np.linalg.norm(vector)
    return np.append(np.cos(angle / 2), np.sinc(angle / 2 / np.pi) / 2 * vector)


def moved(reduction, x):
    """A consistent state at minimal coordinates x from that of a `Reduction`: dict body -> canonical state."""
    at, chart, system = reduction.at, reduction.chart, reduction.at.system
    move = reduction.displacements @ x
    speed = chart.velocity + (chart.y @ reduction.dv + chart.first @ reduction.dq) @ x
    speed[chart.flows] = 0.0  # not even rounding
    for own in turns_of(system):
        speed[own] += np.cross(move[own], chart.velocity[own])
    return displaced(system, at.t, at.q, move, speed)


def displaced(system, t, q, move, speed):
    """A consistent state moved from coordinates q (n_q,) by displacements: dict body -> canonical state. Speeds are of
    displacements."""
    states, start = {}, 0
    for body in moving(system):
        first, start = start, start + sum(len(shifts) + 3 * bool(len(turns)) for shifts, turns in steps_of(body))
        states[body] = _displaced(body, q[system.coordinates(body)], move[first:start], speed[first:start])
    return _assembled(system, states, t)


def _displaced(body, q, move, speed):
    if body.has_orientation:
        turn = _quaternion(move[3:])
        if hasattr(body, "quaternion"):  # of the same sign
            orientation = rotations.product(turn, q[3:])
            orientation /= np.linalg.norm(orientation)
        else:
            orientation = rotations.matrix_from_quaternion(turn) @ body.rotation_matrix(q)
        return CanonicalState(*body.state(Pose(q[:3] + move[:3], orientation, speed[:3], speed[3:], "space")))
    q, velocity, start = q.copy(), np.zeros(len(q)), 0
    for shifts, turns in steps_of(body):
        own = slice(start, start + len(shifts))
        q[shifts], velocity[shifts], start = q[shifts] + move[own], speed[own], own.stop
        if len(turns):
            own = slice(start, start + 3)
            quaternion = rotations.product(_quaternion(move[own]), q[turns])
            q[turns], start = quaternion / np.linalg.norm(quaternion), start + 3
            velocity[turns] = rotations.product(np.append(0.0, speed[own]), q[turns]) / 2
    if not body.has_position or body.has_inverse_mass is False:
        return CanonicalState(*body.state(Coordinates(q, velocity)))
    if not body.begins_with_position or body.first_order:
        return body.of_coordinates(Coordinates(q, velocity))
    return CanonicalState(q, body.mass_scale * velocity)


def _assembled(system, states, t):
    """States with joints closed; bodies hold their own constraints already."""
    joints = system.n_constraints > sum(len(b.constraint_names) for b in system.bodies if b.has_orientation)
    return consistent_states(system, states, t) if joints or system.n_nonholonomic else states


# ---- neighbouring motions of a solution, by the tangents of its elements

def carried(solution, changes, linear=None):
    """Changes of the state at the end with those at the start, columns (n_z, n): exact derivatives of the elements.

    `R(x, z0) = 0`, all elements linearised and solved together.
    """
    if getattr(solution, "_problem", None) is not None:  # its elements, without what is prescribed at the ends
        solution = piece(solution, 0, len(solution.t) - 1)
    at = Linearization(solution, linear)
    n = changes.shape[1]
    none = [scipy.sparse.csc_array((size, n)) for size in (at.places.size, at.places.size, *[len(changes) // 2] * 2)]
    return at.end_tangents(Directions(*none, scipy.sparse.csc_array(changes), [""] * n))


def piece(solution, start, stop):
    """Elements start, ..., stop - 1 of a solution, as a solution."""
    fields = {name: values[start:stop] for name, values in solution.fields.items()}
    return Solution(solution.system, solution.element, solution.t[start:stop + 1], solution.z[start],
                    solution.nodal.state[start:stop], solution.nodal.multipliers[start:stop], Status(True), {}, fields)


def state_changes(reduction):
    """Changes (q, p) of a state with minimal coordinates, columns (n_z, n)."""
    return np.concatenate([reduction.dq, reduction.at.momenta(reduction.dq, reduction.dv)])


def minimal_changes(reduction, changes):
    """Minimal coordinates of changes (q, p) that the constraints allow, columns (n, k)."""
    n = reduction.at.n
    dq, dp = changes[:n], changes[n:]
    dv = reduction.at.velocities(dq, dp)
    (y, s), chart = reduction.chosen, reduction.chart
    return np.concatenate([chart.y[y] @ dq, chart.y[s] @ dv + chart.first[s] @ dq])


def settle(system, state, t=0.0):
    """Where a system comes to rest from a state, its velocities left out.

    Pseudo-transient continuation: implicit Euler steps of `ydot = a(y)`, a the accelerations from rest in minimal
    coordinates, that grow as a falls; in the end they are those of Newton's method. Motions that nothing opposes stay
    where they are.

    Parameters
    ----------
    system : System
        Without nonholonomic constraints that prescribe a velocity, and without redundant constraints.
    state : dict
        Body -> `CanonicalState`, consistent.
    t : float
        Time of the loads [s].

    Returns
    -------
    dict
        Body -> `CanonicalState`.

    Raises
    ------
    SolveError
        When it does not come to rest.
    """
    q = np.zeros(system.n_q)
    _put(system, q, state)
    at, step = _rest(system, t, q), None
    for _ in range(OPTIONS.rest_iterations):
        reduction = Reduction(at, turning=False)
        y, s = reduction.chosen
        rows = reduction.chart.y[y]
        acceleration = rows @ at.acceleration
        norm = np.linalg.norm(np.sqrt(np.abs(np.diag(reduction.mass))) * (reduction.chart.y @ at.acceleration))
        if norm <= OPTIONS.at_rest * at.size + at.rounding:
            return {b: CanonicalState(at.q[system.coordinates(b)], np.zeros(b.n_q)) for b in moving(system)}
        stiffness = -(rows @ at.tangent(reduction.dq[:, :len(y)], np.zeros_like(reduction.dq[:, :len(y)]))[0])
        if step is None:
            step, last = 1 / (np.linalg.norm(stiffness, 2) or 1.0), norm
        step, last = step * np.clip(last / norm, 0.2, 10.0), norm
        # an unstable direction must not be followed to where it is at rest
        shift = max(1 / step, -1.5 * np.linalg.eigvals(stiffness).real.min(initial=0))
        change = np.linalg.solve(stiffness + shift * np.eye(len(y)), acceleration)
        x = np.concatenate([change, np.zeros(len(s))])
        size = np.abs(reduction.displacements @ x).max()
        moved_to = moved(reduction, x * min(1.0, OPTIONS.rest_step / size))
        q = at.q.copy()
        _put(system, q, moved_to)
        at = _rest(system, t, q)
    raise SolveError(f"the system does not come to rest near this state: after {OPTIONS.rest_iterations} iterations "
                     f"its acceleration is {norm / at.size:.1e} of those of single forces; give a state nearer to rest")


def _put(system, q, states):
    for body in moving(system):
        q[system.coordinates(body)] = states[body].q


def _rest(system, t, q):
    u = np.zeros(sum(p.n_controls for p in system.parts))
    v = np.zeros_like(q)
    put_efforts(system, q, v)
    return EquationsOfMotion(system, t, q, v, u)
