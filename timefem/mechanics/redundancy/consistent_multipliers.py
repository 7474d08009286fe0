"""Multipliers that keep the constraints at a state."""

import numpy as np
import scipy

from ...errors import InputError
from ..point_functions import evaluate
from .redundant_rows import factored, redundant_constraints

DENSE = 300  # multipliers up to which many states are solved for together, by dense matrices
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
    m = system.n_multipliers + 2 * system.n_nonholonomic
    force = np.zeros((len(z), system.n_q)) if force is None else force
    if not m or not len(z):
        return np.zeros((len(z), m))
    if m > DENSE or system.n_nonholonomic:
        return np.array([multipliers_at(system, *state) for state in zip(t, z, force, strict=True)])
    out = np.empty((len(z), m))
    for start in range(0, len(z), PIECE):
        piece = slice(start, start + PIECE)
        out[piece] = _dense(system, t[piece], z[piece], force[piece])
    return out


def _derivatives(system, t, z):
    """`System.derivatives` of many states, shapes (n,), (n, n_z) -> (n, n_z), (n, 2 m, n_z), (n, 2 m)."""
    n, m = len(z), system.n_multipliers
    grad, jac, rate = np.zeros((n, system.n_z)), np.zeros((n, m, system.n_z)), np.zeros((n, m))
    for group, functions in zip(system.groups, system._functions, strict=True):
        index, w = group.state_index, group.multiplier_index
        values = evaluate(functions["derivatives"], z[:, index], t, group.parameters)
        g, b, r = np.split(values, [index.shape[1], values.shape[2] - w.shape[1]], axis=2)
        np.add.at(grad, (slice(None), index), g)
        rate[:, w] = r
        jac[:, w[:, None], index[:, :, None]] = b.reshape(n, *index.shape, w.shape[1])  # column by column
    return grad, jac, rate


def _dense(system, t, z, force):
    n, (grad, jac, rate) = system.n_q, _derivatives(system, t, z)
    grad[:, :n] -= force
    jac_j = np.concatenate([-jac[:, :, n:], jac[:, :, :n]], axis=2)
    size = np.linalg.norm(jac, axis=2)
    scale = 1 / np.where(size > 0, size, 1.0)
    matrix = scale[:, :, None] * (jac_j @ jac.swapaxes(1, 2)) * scale[:, None]
    try:
        inverse = np.linalg.inv(matrix)
        condition = abs(matrix).sum(axis=1).max(axis=1) * abs(inverse).sum(axis=1).max(axis=1)
    except np.linalg.LinAlgError:
        condition = np.linalg.cond(matrix)
    worst = int(np.argmax(np.where(np.isfinite(condition), condition, np.inf)))
    if not condition[worst] < SINGULAR:
        raise InputError(f"the constraints are redundant, or nearly so, at t = {t[worst]:g}: consistent multipliers "
                         "are not determined there; the element's own are sol.multipliers(t, kind='element')")
    right = -scale * ((jac_j @ grad[:, :, None])[..., 0] + rate)
    return scale * np.linalg.solve(matrix, right[..., None])[..., 0]


def multipliers_at(system, t, z, force=None):
    """Multipliers of Theta, and of the pairs (A qdot + a, its rate) of nonholonomic constraints.

    For which d/dt Theta = 0; see `System.consistent_multipliers`.
    """
    if not system.n_multipliers + system.n_nonholonomic:
        return np.zeros(0)
    if not system.has_inverse_mass and not system.n_nonholonomic and not _solved(system):
        return _by_mass_matrix(system, t, z)
    grad, jac, rate = system.derivatives(t, z)
    if force is not None:
        grad[:system.n_q] -= force
    if system.n_nonholonomic:
        a, derivative, drift, drift_rate = system.nonholonomic_derivatives(t, z)
        none = scipy.sparse.csr_array((system.n_nonholonomic, system.n_q))
        jac = scipy.sparse.vstack([jac, scipy.sparse.hstack([a, none]), derivative], format="csr")
        rate = np.concatenate([rate, drift, drift_rate])
    n = system.n_q
    jac_j = scipy.sparse.hstack([-jac[:, n:], jac[:, :n]])  # grad Theta J
    size = np.sqrt(jac.multiply(jac).sum(axis=1))
    scale = scipy.sparse.diags_array(1 / np.where(size > 0, size, 1.0))
    matrix = scipy.sparse.csc_matrix(scale @ jac_j @ jac.T @ scale)
    solve, inverse = factored(matrix)
    if not abs(matrix).sum(axis=0).max() * inverse < SINGULAR:
        names = redundant_constraints(system, t, z)
        if not names:
            raise InputError("the constraints are nearly redundant at the initial state: move the mechanism away "
                             "from the singular position" +
                             ", or remove nonholonomic constraints that repeat others" * bool(system.n_nonholonomic))
        shown = ", ".join(f"'{name}'" for name in names[:6]) + f" and {len(names) - 6} more" * (len(names) > 6)
        raise InputError(f"the constraints are redundant at the initial state: {shown} can be left out, because "
                         "other constraints imply them; do so, or give System(..., redundant='drop')")
    return scale @ solve(-(scale @ (jac_j @ grad + rate)))


def _by_mass_matrix(system, t, z):
    """Of the mass matrix of T(q, v), which may be singular: `M a + G^T gamma = -V_q + Q`, `G a = -(G v)_q v`.

    For mass matrices that do not depend on q, and forces at rest; others are near. mu is zero.
    """
    n, m, z = system.n_q, system.n_constraints, np.asarray(z, float)
    q = np.concatenate([z[:n], np.zeros(n)])
    v = system.consistent_velocity(t, z)
    grad, jacobian, _ = system.derivatives(t, q)
    gradient, step = jacobian[:m, :n], 1e-6 * max(1.0, np.abs(z[:n]).max()) / max(1e-300, np.abs(v).max())
    ahead, behind = (system.derivatives(t, q + sign * step * np.append(v, 0 * v))[1][:m, :n] for sign in (1, -1))
    matrix = scipy.sparse.block_array([[system.mass_matrix(t, z), gradient.T], [gradient, None]], format="csc")
    try:
        found = scipy.sparse.linalg.splu(matrix).solve(np.append(-grad[:n], -(ahead - behind) @ v / (2 * step)))
    except RuntimeError:
        found = np.full(n + m, np.nan)
    if not np.isfinite(found).all():
        raise InputError("the constraints are redundant at the initial state, or some motion has neither mass nor a "
                         "constraint")
    return np.append(found[n:], np.zeros(m))


def _solved(system):
    """Whether velocities follow from momenta by a solve in numbers, as of trees."""
    return any(body.velocity_by_solve for body in system.bodies)
