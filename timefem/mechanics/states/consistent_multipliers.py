"""Multipliers that keep the constraints at a state, and constraints that repeat others, by rank."""

import numpy as np

from ...errors import InputError
from ...memory import Late
from ...sparse import estimated_norm, sparse_lu
from ..symbols import first_order_places
from ..values.at_start import at_start, constraints_at, is_small
from ..values.evaluate import evaluator, quantities_at
from ..values.measures import OPTIONS
from ..values.of_parts import (
    consistent_velocity,
    has_inverse_mass,
    has_reaction_forces,
    nonholonomic_derivatives,
    reaction_force,
    reaction_forces,
    solved,
)

scipy = Late("scipy")

RANK_TOLERANCE = 1e-8  # of gradients of unit length; states hold their constraints to 1e-9 or better


def redundant_names(system, t, z):
    """Names of the constraints that repeat others at a state, the last one first."""
    names = system.constraint_names + system.nonholonomic_names
    return [names[i] for i in redundant_rows(system, t, z)]


def redundant_rows(system, t, z):
    """Numbers of the redundant constraints, list of int, the last one first: in `system.constraint_names`, then those
    of `system.nonholonomic_names`."""
    if not system.n_nonholonomic and all(part.is_body and part.has_orientation for part in system.parts
                                         if part.constraint_names):
        return []  # nothing but lengths of quaternions, and directors
    gradient, rows = _free_gradient(system, t, z)
    if isinstance(gradient, np.ndarray):
        found = rows[_dependent(gradient)]
    elif not len(rows) or factored((gradient @ gradient.T).tocsc())[1] < 1e10:
        return []  # independent beyond doubt: a sparse factorization spares the dense ones below
    else:
        n_parts, part = scipy.sparse.csgraph.connected_components(abs(gradient) @ abs(gradient).T, directed=False)
        blocks = [(members, gradient[members]) for members in (np.flatnonzero(part == i) for i in range(n_parts))]
        found = np.concatenate([rows[members[_dependent(block[:, np.unique(block.indices)].toarray())]]
                                for members, block in blocks])
    return sorted(found.tolist(), reverse=True)


def weakest(system, t, z):
    """The constraint that is nearest to repeating others at a state: its name, and the smallest singular value of the
    gradients of unit length; None and infinity where nothing can repeat others."""
    if not system.n_constraints + system.n_nonholonomic:
        return None, np.inf
    gradient, rows = _free_gradient(system, t, z)
    if not len(rows):
        return None, np.inf
    if isinstance(gradient, np.ndarray):
        vectors, values, _ = np.linalg.svd(gradient)
        vector, size = vectors[:, -1], values[-1] if len(values) == len(rows) else 0.0
    else:
        normal, vector = (gradient @ gradient.T).tocsc(), np.ones(len(rows))
        inverse, _ = factored(normal)
        for _ in range(4 if inverse else 0):  # inverse iteration
            vector = inverse(vector / np.linalg.norm(vector))
        vector /= np.linalg.norm(vector)
        size = np.linalg.norm(gradient.T @ vector) if inverse else 0.0
    last = np.flatnonzero(np.abs(vector) > 0.1 * np.abs(vector).max())[-1]
    return (system.constraint_names + system.nonholonomic_names)[rows[last]], float(size)


def repeating(system, t, z, following=None):
    """For the message of a failed march: the first constraint that came to repeat others on the way, or does where it
    ends, by straight lines through the smallest singular values before; or nothing.

    Parameters
    ----------
    t, z : ndarray, shapes (n,), (n, n_z)
        Of the nodes that were reached.
    following : float, optional
        Node that was not.
    """
    n = int(np.isfinite(z).all(axis=1).cumprod().sum())
    if n < 2:
        return ""
    looks = np.unique(np.linspace(0, n - 1, OPTIONS.looks).astype(int))
    soon = t[n - 1] + OPTIONS.soon * (t[n - 1] - t[0])
    later = [*t[looks[1:]], soon if following is None else max(soon, following)]
    before = weakest(system, t[0], z[0])[1]
    for i, last, most in zip(looks[1:], looks, later[1:], strict=False):
        name, size = weakest(system, t[i], z[i])
        if size < before < np.inf:
            at = t[i] + size * (t[i] - t[last]) / (before - size)
            near = np.searchsorted(t[:n], at) + np.array([-1, 0])
            if at <= most and (near[1] == n or min(weakest(system, t[k], z[k])[1] for k in near) <= 0.5 * size):
                return f"; '{name}' comes to repeat other constraints near t = {at:.6g}: leave it out, or end before"
        before = size
    return ""


def _free_gradient(system, t, z):
    """Gradients of the constraints by velocities along the motions of rigid bodies, an array where the system is small,
    else CSR; and their numbers, bodies' own first, nonholonomic ones last: these are the ones to leave out where others
    keep their points in place as well.

    Coordinates are weighted with the mass, and whole gradients brought to unit length, so that units do not matter.
    """
    n, m, every = system.n_q, system.n_constraints, system.n_constraints + system.n_nonholonomic
    first = np.cumsum([0, *(len(p.constraint_names) for p in system.parts)])
    own = {p: np.arange(a, b) for p, a, b in zip(system.parts, first, first[1:]) if p.is_body}
    rows = [own[body] for body in system.bodies if not body.has_orientation]
    rows = np.concatenate([*rows, np.setdiff1d(np.arange(every), np.concatenate(list(own.values())))]).astype(int)
    weights, bodies = system.mass_scale**-0.5, [(body, system.coordinates(body)) for body in system.bodies]
    if is_small(system):
        gradient = constraints_at(system, t, z)[1][:m, :n]
        if system.n_nonholonomic:
            form, = quantities_at(system, np.full(1, float(t)), np.asarray(z, float)[None], "form matrix")
            gradient = np.concatenate([gradient, form.dense()[0]])
        gradient = gradient * weights
        gradient /= row_sizes(np.linalg.norm(gradient, axis=1), norms_of_terms(system, t, z, weights))[:, None]
        return np.hstack([gradient[rows, place] @ null_space(gradient[own[body], place]) if body.has_orientation
                          else gradient[rows, place] for body, place in bodies]), rows
    gradient = system.derivatives(t, z)[1][:m, :n]
    if system.n_nonholonomic:
        gradient = scipy.sparse.vstack([gradient, nonholonomic_derivatives(system, t, z)[0]], format="csr")
    gradient = scipy.sparse.csr_array(gradient @ scipy.sparse.diags_array(weights))
    size = row_sizes(np.sqrt(gradient.multiply(gradient).sum(axis=1)), norms_of_terms(system, t, z, weights))
    gradient = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / size) @ gradient)
    free = [null_space(gradient[own[body], place].toarray()) if body.has_orientation else np.eye(body.n_q)
            for body, place in bodies]
    return scipy.sparse.csr_array(gradient[rows] @ scipy.sparse.block_diag(free, format="csr")), rows


def norms_of_terms(system, t, z, weights):
    """Norms of the terms whose sums gradients are, such as of tilts in a plane that a loop never leaves: shape (m,)."""
    t, z = np.full(1, float(t)), np.asarray(z, float)[None]
    gradients = evaluator(system, "position gradient", "form matrix")
    if gradients.gave_sizes:  # systems of this structure are looked at again and again: formulas pay
        found = quantities_at(system, t, z, "gradient terms", "form matrix terms")
    else:
        found = gradients.sizes(system, t, z)
    squares = [np.bincount(terms.rows, np.nan_to_num(terms.data[0] * weights[terms.columns], posinf=0.0) ** 2,
                           minlength=terms.shape[0]) for terms in found]
    return np.sqrt(np.concatenate(squares))


def row_sizes(norms, terms, rounding=RANK_TOLERANCE):
    """By what rows with these norms (..., m) are divided: by those of their terms where they are rounding of these."""
    return np.where(norms > rounding * terms, norms, np.where(terms > 0, terms, 1.0))


def null_space(a):
    """Orthonormal columns that span the null space of the rows of `a`, which are independent."""
    return np.linalg.qr(a.T, mode="complete")[0][:, len(a):]


def factored(matrix):
    """Of a sparse square matrix: the function `b -> matrix^-1 b`, and an estimate of the 1-norm of the inverse.

    None and infinity when it is exactly singular.
    """
    try:
        lu = sparse_lu(matrix)
    except RuntimeError:
        return None, np.inf
    inverse = scipy.sparse.linalg.LinearOperator(matrix.shape, lu.solve, rmatvec=lambda b: lu.solve(b, "T"),
                                                 dtype=float)
    return lu.solve, estimated_norm(inverse)


def _dependent(a):
    """Rows that depend on the rows before them, list of int.

    The combinations of rows that vanish are left singular vectors: columns of N. The last rows with which N has full
    rank (a greedy choice from the end) are those that depend on others before them.
    """
    m = len(a)
    vectors, values, _ = np.linalg.svd(a)
    remaining = vectors[:, int(np.sum(values > RANK_TOLERANCE)):]
    chosen, n_dependent = [], remaining.shape[1]
    for row in range(m - 1, -1, -1):
        if len(chosen) == n_dependent:
            break
        size = np.linalg.norm(remaining[row])
        # small enough that enough rows are found: rows of length 1/sqrt(m) at most cannot make up unit columns
        if size > 1e-3 / np.sqrt(m):
            direction = remaining[row] / size
            remaining = remaining - np.outer(remaining @ direction, direction)
            chosen.append(row)
    return chosen


# ---- multipliers that keep the constraints at a state

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


def multipliers_at(system, t, z):
    """Multipliers of Theta, and of the pairs (A qdot + a, its rate) of nonholonomic constraints.

    For which d/dt Theta = 0; see `System.consistent_multipliers`.
    """
    if _by_mass(system):
        return _by_mass_matrix(system, t, z)
    if is_small(system):
        here = at_start(system, t, z)
        if here.solves and here.condition < SINGULAR:
            return here.multipliers.copy()
    values, fine = _independent(system, np.full(1, float(t)), np.asarray(z, float)[None], None)
    if not fine[0]:
        names = redundant_names(system, t, z)
        if not names and has_reaction_forces(system):
            raise InputError("no constraint forces are found at the initial state: others that depend on them may be "
                             "too large, as in a mechanism that jams, or not be finite")
        if not names:
            raise InputError("the constraints are nearly redundant at the initial state: move the mechanism away "
                             "from the singular position")
        shown = ", ".join(f"'{name}'" for name in names[:6]) + f" and {len(names) - 6} more" * (len(names) > 6)
        raise InputError(f"the constraints are redundant at the initial state: {shown} can be left out, because "
                         "other constraints imply them; do so, or give System(..., redundant='drop'). Where they imply "
                         "them in this position alone, a dead point, start from another one")
    return values[0]


def nonholonomic_multipliers(system, t, z):
    """Multipliers of the nonholonomic constraints at a consistent state, shape (n_nonholonomic,).

    Those of A qdot + a, whose force on the coordinates is -A^T gamma. Errors as `System.consistent_multipliers`.
    """
    return multipliers_at(system, t, z)[system.n_multipliers:][:system.n_nonholonomic]


def _by_mass(system):
    return bool(system.n_constraints) and not (has_inverse_mass(system) or system.n_nonholonomic or _solved(system))


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
