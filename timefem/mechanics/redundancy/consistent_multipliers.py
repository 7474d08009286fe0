"""Multipliers that keep the constraints at a state."""

import numpy as np

from ...errors import InputError
from ...late import Late
from ..symbols import first_order_places
from ..values.at_start import at_start, is_small
from ..values.evaluate import quantities_at
from ..values.of_parts import consistent_velocity, nonholonomic_derivatives
from ..values.reaction_forces import has_reaction_forces, reaction_force, reaction_forces, solved
from .redundant_rows import factored, redundant_names
from .sparse_lu import sparse_lu

scipy = Late("scipy")

PIECE = 64  # states at once
SINGULAR = 1e12  # condition number from which on the constraints count as redundant


def multipliers_along(system, t, z, force=None):
    """`multipliers_at` of many states (n, n_z) at times (n,), with forces of controls (n, n_q).

    Returns
    -------
    ndarray, shape (n, 2 m + 2 n_nonholonomic)

    Raises
    ------
    InputError
        Where the constraints are redundant; names the time.
    """
    out = np.empty((len(z), system.n_multipliers + 2 * system.n_nonholonomic))
    for start in range(0, len(z), PIECE):
        piece = slice(start, start + PIECE)
        out[piece], fine = _independent(system, t[piece], z[piece], None if force is None else force[piece])
        if not fine.all():
            raise InputError(f"the constraints are redundant, or nearly so, at t = {t[piece][np.argmin(fine)]:g}: "
                             "consistent multipliers are not determined there; the element's own are "
                             "sol.multipliers(t, kind='element')")
    return out


def multipliers_at(system, t, z, force=None):
    """Multipliers of Theta, and of the pairs (A qdot + a, its rate) of nonholonomic constraints.

    For which d/dt Theta = 0; see `System.consistent_multipliers`.
    """
    force = None if force is None else np.asarray(force, float)[None]
    if _by_mass(system):
        return _by_mass_matrix(system, t, z)
    if force is None and is_small(system):
        here = at_start(system, t, z)
        if here.solves and here.condition < SINGULAR:
            return here.multipliers.copy()
    values, fine = _independent(system, np.full(1, float(t)), np.asarray(z, float)[None], force)
    if not fine[0]:
        names = redundant_names(system, t, z)
        if not names and has_reaction_forces(system):
            raise InputError("no constraint forces are found at the initial state: others that depend on them may be "
                             "too large, as in a mechanism that jams, or not be finite")
        if not names:
            raise InputError("the constraints are nearly redundant at the initial state: move the mechanism away "
                             "from the singular position" +
                             ", or remove nonholonomic constraints that repeat others" * bool(system.n_nonholonomic))
        shown = ", ".join(f"'{name}'" for name in names[:6]) + f" and {len(names) - 6} more" * (len(names) > 6)
        raise InputError(f"the constraints are redundant at the initial state: {shown} can be left out, because "
                         "other constraints imply them; do so, or give System(..., redundant='drop'). Where they imply "
                         "them in this position alone, a dead point, start from another one")
    return values[0]


def _by_mass(system):
    return bool(system.n_constraints) and not (system.has_inverse_mass or system.n_nonholonomic or _solved(system))


def _independent(system, t, z, force=None):
    """The same by the inverse of the mass, with forces of controls (n, n_q)."""
    m, n = system.n_multipliers + 2 * system.n_nonholonomic, system.n_q
    if not m:
        return np.zeros((len(z), 0)), np.ones(len(z), bool)
    if system.n_nonholonomic or not is_small(system):
        forces = [None] * len(z) if force is None else force
        found = [_sparse(system, *state) for state in zip(t, z, forces, strict=True)]
        return np.array([values for values, _ in found]), np.array([fine for _, fine in found])
    gradient, jacobian, rate = quantities_at(system, t, z, "gradient", "jacobian", "rate")
    jacobian = jacobian.dense()
    if force is not None:
        gradient = gradient - np.concatenate([force, np.zeros_like(force)], axis=1)
    gradient = _with_flows(system, t, z, gradient)
    turned = np.concatenate([-jacobian[:, :, n:], jacobian[:, :, :n]], axis=2)  # grad Theta J
    size = np.sqrt(((jacobian * system.state_scale)**2).sum(axis=2))
    scale = 1 / np.where(size > 0, size, 1.0)
    matrix = (turned @ jacobian.swapaxes(1, 2)) * (scale[:, :, None] * scale[:, None, :])
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        inverse = np.array([_inverse(a) for a in matrix])
    condition = np.abs(matrix).sum(axis=1).max(axis=1) * np.abs(inverse).sum(axis=1).max(axis=1)
    right = scale * ((turned @ gradient[:, :, None])[:, :, 0] + rate)
    values = -(inverse @ right[:, :, None])[:, :, 0]
    values -= (inverse @ ((matrix @ values[:, :, None])[:, :, 0] + right)[:, :, None])[:, :, 0]
    fine = condition < SINGULAR
    if has_reaction_forces(system):
        by_force = scale[:, :, None] * turned[:, :, :n]

        def step(x):
            pushed, by_forces = reaction_forces(system, t, z, scale * x)
            left = (matrix @ x[:, :, None] - by_force @ pushed[:, :, None])[:, :, 0] + right
            tangent = matrix - by_force @ by_forces * scale[:, None, :]
            return x - np.linalg.solve(tangent, left[:, :, None])[:, :, 0]

        values = solved(step, values)
        fine &= np.isfinite(values).all(axis=1)
    return scale * values, fine


def _with_flows(system, t, z, gradient):
    """Gradients of H less forces, (n, n_z), by which coordinates of first order go at their rates: masses that change.
    """
    places = np.array(first_order_places(system), int)
    if places.size:
        gradient, by_state = gradient.copy(), quantities_at(system, t, z, "energy by state")[0]
        gradient[:, system.n_q + places] = by_state[:, places] - gradient[:, places]
        gradient[:, places] = 0.0
    return gradient


def _inverse(matrix):
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)


def _sparse(system, t, z, force):
    """Values, and whether they are determined, at one state: by Newton's method where forces depend on them."""
    grad, jac, rate = system.derivatives(t, z)
    if force is not None:
        grad[:system.n_q] -= force
    grad = _with_flows(system, np.full(1, float(t)), np.asarray(z, float)[None], grad[None])[0]
    if system.n_nonholonomic:
        a, derivative, drift, drift_rate = nonholonomic_derivatives(system, t, z)
        none = scipy.sparse.csr_array((system.n_nonholonomic, system.n_q))
        jac = scipy.sparse.vstack([jac, scipy.sparse.hstack([a, none]), derivative], format="csr")
        rate = np.concatenate([rate, drift, drift_rate])
    n = system.n_q
    jac_j = scipy.sparse.hstack([-jac[:, n:], jac[:, :n]])  # grad Theta J
    weighted = jac @ scipy.sparse.diags_array(system.state_scale)
    size = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    scale = scipy.sparse.diags_array(1 / np.where(size > 0, size, 1.0))
    matrix = scipy.sparse.csc_matrix(scale @ jac_j @ jac.T @ scale)
    solve, inverse = factored(matrix)
    if not abs(matrix).sum(axis=0).max() * inverse < SINGULAR:
        return np.full(len(rate), np.nan), False
    found = scale @ solve(-(scale @ (jac_j @ grad + rate)))
    if not has_reaction_forces(system):
        return found, True
    dense, turned = matrix.toarray(), scale @ jac_j[:, :n]

    def step(x):
        pushed, by_forces = reaction_force(system, t, z, scale @ x)
        tangent = dense.copy()
        tangent[:, :by_forces.shape[1]] -= turned @ by_forces * scale.diagonal()[:by_forces.shape[1]]
        return x - np.linalg.solve(tangent, scale @ (jac_j @ grad + rate) - turned @ pushed + dense @ x)

    found = solved(step, found / scale.diagonal())
    return scale @ found, bool(np.isfinite(found).all())


def _by_mass_matrix(system, t, z):
    """Of the mass matrix of T(q, v), which may be singular: `M a + G^T gamma = -V_q + Q`, `G a = -(G v)_q v`.

    For mass matrices that do not depend on q, and forces at rest; others are near. mu is zero.
    """
    n, m, z = system.n_q, system.n_constraints, np.asarray(z, float)
    q = np.concatenate([z[:n], np.zeros(n)])
    v = consistent_velocity(system, t, z)
    grad, jacobian, _ = system.derivatives(t, q)
    gradient, step = jacobian[:m, :n], 1e-6 * max(1.0, np.abs(z[:n]).max()) / max(1e-300, np.abs(v).max())
    ahead, behind = (system.derivatives(t, q + sign * step * np.append(v, 0 * v))[1][:m, :n] for sign in (1, -1))
    matrix = scipy.sparse.block_array([[system.mass_matrix(t, z), gradient.T], [gradient, None]], format="csc")
    right = np.append(-grad[:n], -(ahead - behind) @ v / (2 * step))
    try:
        found = sparse_lu(matrix).solve(right)
        if has_reaction_forces(system):
            dense = matrix.toarray()

            def step_from(x):
                pushed, by_forces = reaction_force(system, t, z, np.append(x[n:], np.zeros(m)))
                tangent = dense.copy()
                tangent[:n, n:] -= by_forces[:, :m]
                return x - np.linalg.solve(tangent, dense @ x - right - np.append(pushed, np.zeros(m)))

            found = solved(step_from, found)
    except RuntimeError:
        found = np.full(n + m, np.nan)
    if not np.isfinite(found).all():
        raise InputError("the constraints are redundant at the initial state, or some motion has neither mass nor a "
                         "constraint")
    return np.append(found[n:], np.zeros(m))


def _solved(system):
    """Whether velocities follow from momenta by a solve in numbers, as of trees."""
    return any(body.velocity_by_solve for body in system.bodies)
