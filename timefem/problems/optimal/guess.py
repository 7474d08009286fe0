"""Where the solution of an optimal control problem starts from."""

import numpy as np

from ... import validate
from ...assembly import TimeMesh
from ...errors import InputError
from ...mechanics import Pose
from ...mechanics.bodies import rotations
from ...solvers.equations.transfer import transferred


def first_guess(problem, plan, mesh, guess):
    """All unknowns to start from: states that are given, or on the way from start to end; controls in the middle of
    their bounds, or none; no costates.

    Parameters
    ----------
    guess : None, callable or ndarray
        A function `t -> z` for an array of times, or nodal states of shape (degree n_elements + 1, n_z) of a uniform
        mesh, which are interpolated.
    """
    system, element = plan.system, plan.element
    times = mesh.points(element.state.basis)
    if guess is None:
        state = between(problem, times)
    elif callable(guess):
        state = validate.array("guess(t)", guess(times.ravel()), (times.size, system.n_z))
    else:
        guess = validate.array("guess", guess, (None, system.n_z))
        nodes = np.linspace(*problem.t_span, len(guess))
        state = np.stack([np.interp(times.ravel(), nodes, column) for column in guess.T], axis=1)
    state = state.reshape(*times.shape, system.n_z)
    if not problem.free_start:
        state[0, 0] = problem.z0
    multipliers = np.zeros((mesh.n_elements, element.multiplier.basis.n_shapes, system.n_multipliers))
    values = element.nodal_values(system, times, state, multipliers)
    bounded = np.isfinite(problem.bounds).all(axis=0)
    values[list(element.trial).index("controls")][:] = np.where(bounded, problem.bounds, 0.0).sum(axis=0) / 2
    if problem.unknown_names:
        values[list(element.trial).index("constants")][:] = problem.guesses / problem.units
    return np.concatenate([plan.columns.pack(*values), np.zeros(len(problem.conditions.combinations))])


def from_solution(problem, plan, mesh, solution):
    """All unknowns from the solution of a problem of the same kind, stretched to the mesh."""
    if set(solution.fields) != {name for name, field in list(zip(plan.element.trial, plan.columns.fields))[2:]
                                if field.size}:
        raise InputError(f"the guess has the fields {sorted(solution.fields)}, not those of this problem; give a "
                         "solution of the same kind, or a function t -> z")
    if not solution.success:
        raise InputError(f"the guess is a solution that failed: {solution.status.message}")
    t, (t0, t1) = solution.t, problem.t_span
    coarse = TimeMesh(t0 + (t - t[0]) * (t1 - t0) / (t[-1] - t[0]))
    sizes = {name: field.shape[1] for name, field in zip(plan.element.trial, plan.columns.fields, strict=True)}
    values = transferred({"state": solution.nodal_state, "multipliers": solution.nodal_multipliers, **solution.fields},
                         solution.element, coarse, plan.element, sizes, mesh)
    x = plan.columns.pack(*values.values())
    if not problem.free_start:
        x[plan.columns.first[0]] = problem.z0
    return np.concatenate([x, np.zeros(len(problem.conditions.combinations))])


def prolonged(plan, coarse, mesh, values):
    """All dofs on a mesh, interpolated from nodal values on a coarser one; element by element where nodes coincide."""
    parent = np.clip(np.searchsorted(coarse.nodes, mesh.nodes[:-1] + mesh.lengths / 2, side="right") - 1, 0,
                     coarse.n_elements - 1)
    fine = []
    for nodal, space in zip(values, plan.columns.spaces, strict=True):
        xi = (mesh.points(space.basis) - coarse.nodes[parent, None]) / coarse.lengths[parent, None]
        shapes = space.basis.values(xi.ravel()).reshape(*xi.shape, -1)
        fine.append(np.einsum("eis,esa->eia", shapes, nodal[parent]))
    return plan.columns.pack(*fine)


def between(problem, times):
    """States on a smooth way from the start to the end, at times of shape (n_elements, n_shapes)."""
    system, z0, z1 = problem.system, problem.z0, problem.conditions.state
    t0, t1 = problem.t_span
    tau = (times.ravel() - t0) / (t1 - t0)
    s, rate = tau**2 * (3 - 2 * tau), 6 * tau * (1 - tau) / (t1 - t0)
    out = np.zeros((len(tau), system.n_z))
    for body in system.bodies:
        part = system.coordinates(body)
        momenta = slice(system.n_q + part.start, system.n_q + part.stop)
        a, b = z0[part], z1[part]
        if body.has_orientation:
            first, axis_angle = _turn(body, a, b)
            for i in range(len(tau)):
                pose = Pose(a[:3] + s[i] * (b[:3] - a[:3]), _turned(first, s[i] * axis_angle),
                            rate[i] * (b[:3] - a[:3]), rate[i] * axis_angle, "space")
                out[i, part], out[i, momenta] = body.state(pose)
            continue
        q, v = a + s[:, None] * (b - a), rate[:, None] * (b - a)
        out[:, part] = q
        if not body.has_position:
            v = np.einsum("...ab,...b->...a", body.mass_matrix(q), v)
        else:
            v = v * body.mass_scale
        out[:, momenta] = v
    return out.reshape(*times.shape, system.n_z)


def _turn(body, a, b):
    """Quaternion at the start, and axis times angle (in space) of the rotation to the end."""
    if hasattr(body, "quaternion"):
        first, last = body.quaternion(a), body.quaternion(b)
    else:
        first, last = (rotations.as_quaternion(body.rotation_matrix(q)) for q in (a, b))
        last = last if first @ last >= 0 else -last
    vector, scalar = rotations.spatial_map(first) @ last, first @ last  # last = turn o first
    size = np.linalg.norm(vector)
    return first, (2 * np.arctan2(size, scalar) / size if size else 0.0) * vector


def _turned(quaternion, axis_angle):
    angle = np.linalg.norm(axis_angle)
    if angle == 0:
        return quaternion
    half = np.sin(angle / 2) / angle * axis_angle
    turned = np.cos(angle / 2) * quaternion + rotations.spatial_map(quaternion).T @ half
    return turned / np.linalg.norm(turned)
