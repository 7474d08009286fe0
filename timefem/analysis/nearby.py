"""How far two states are apart in minimal coordinates, and states nearby."""

import numpy as np
import scipy

from ..mechanics.bodies import rotations
from ..mechanics.bodies.states import CanonicalState, Coordinates, Pose
from ..mechanics.states.consistent import assemble
from ..sensitivity.linearization import Linearization
from ..sensitivity.parameters import Directions
from ..solution.solution import Solution
from ..status import Status
from .chart import moving


def state_gap(last, first):
    """Minimal coordinates of the state of `last` seen from that of `first`, shape (n,): `Reduction`s.

    A body that stands at `exp(eta) R` and turns with omega' has `eta` and `d eta/dt = omega' - omega - eta x omega`.
    """
    system, rate = first.at.system, last.chart.velocity - first.chart.velocity
    gap, start, speed = np.zeros(len(rate)), 0, first.chart.velocity
    for body in moving(system):
        q0, q1 = (r.at.q[system.coordinates(body)] for r in (first, last))
        n = 6 if body.has_orientation else body.n_q
        if body.has_orientation:
            turn = rotations.quaternion_from_matrix(body.rotation_matrix(q1) @ body.rotation_matrix(q0).T)
            size = np.linalg.norm(turn[1:])
            vector = turn[1:] * (2 * np.arctan2(size, turn[0]) / size if size else 2.0)
            gap[start:start + 3], gap[start + 3:start + 6] = q1[:3] - q0[:3], vector
            rate[start + 3:start + 6] -= np.cross(vector, speed[start + 3:start + 6])
        else:
            gap[start:start + n] = q1 - q0
        start += n
    y, s = first.chosen
    return np.concatenate([gap[y], rate[s]])


def moved(reduction, x):
    """A consistent state at minimal coordinates x from that of a `Reduction`: dict body -> canonical state."""
    at, chart, system = reduction.at, reduction.chart, reduction.at.system
    move = reduction.displacements @ x
    speed = chart.velocity + (chart.y @ reduction.dv + chart.first @ reduction.dq) @ x
    speed[chart.flows] = 0.0  # not even rounding
    states, start = {}, 0
    for body in moving(system):
        n = 6 if body.has_orientation else body.n_q
        own = slice(start, start + n)
        if body.has_orientation:
            vector = move[own][3:]
            turning = speed[own][3:] + np.cross(vector, chart.velocity[own][3:])
            states[body] = displaced(body, at.q[system.coordinates(body)], move[own], speed[own][:3], turning)
        else:
            states[body] = displaced(body, at.q[system.coordinates(body)], move[own], speed[own])
        start += n
    return assembled(system, states, at.t)


def displaced(body, q, move, velocity, angular_velocity=(0.0, 0.0, 0.0)):
    """State of a body moved from coordinates q by displacements, `CanonicalState`; velocities in space axes."""
    if not body.has_orientation:
        q = q + move
        if not body.has_position or body.has_inverse_mass is False:
            return CanonicalState(*body.state(Coordinates(q, velocity)))
        if not body.begins_with_position or body.first_order:
            return body.of_coordinates(Coordinates(q, velocity))
        return CanonicalState(q, body.mass_scale * velocity)
    angle = np.linalg.norm(move[3:])
    turn = np.append(np.cos(angle / 2), np.sinc(angle / 2 / np.pi) / 2 * move[3:])
    if hasattr(body, "quaternion"):  # of the same sign
        orientation = rotations.product(turn, q[3:])
        orientation /= np.linalg.norm(orientation)
    else:
        orientation = rotations.matrix_from_quaternion(turn) @ body.rotation_matrix(q)
    return CanonicalState(*body.state(Pose(q[:3] + move[:3], orientation, velocity, angular_velocity, "space")))


def assembled(system, states, t):
    """States with joints closed; bodies hold their own constraints already."""
    joints = system.n_constraints > sum(len(b.constraint_names) for b in system.bodies if b.has_orientation)
    return assemble(system, states, t) if joints or system.n_nonholonomic else states


# ---- neighbouring motions of a solution, by the tangents of its elements

def carried(solution, changes, linear=None):
    """Changes of the state at the end with those at the start, columns (n_z, n): exact derivatives of the elements.

    `R(x, z0) = 0`, all elements linearised and solved together.
    """
    at = Linearization(solution, linear)
    n = changes.shape[1]
    none = [scipy.sparse.csc_array((size, n)) for size in (at.places.size, at.places.size, *[len(changes) // 2] * 2)]
    return at.end_tangents(Directions(*none, scipy.sparse.csc_array(changes), [""] * n))


def piece(solution, start, stop):
    """Elements start, ..., stop - 1 of a solution, as a solution."""
    fields = {name: values[start:stop] for name, values in solution.fields.items()}
    return Solution(solution.system, solution.element, solution.t[start:stop + 1], solution.z[start],
                    solution.nodal_state[start:stop], solution.nodal_multipliers[start:stop], Status(True), {}, fields)


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
