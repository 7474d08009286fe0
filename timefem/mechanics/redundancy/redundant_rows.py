"""Redundant constraints, found by the rank of their gradients."""

import numpy as np

from ...estimated_norm import estimated_norm
from ...late import Late
from ..values.at_start import constraints_at, is_small
from .sparse_lu import sparse_lu

scipy = Late("scipy")

RANK_TOLERANCE = 1e-8  # of gradients of unit length; states hold their constraints to 1e-9 or better


def redundant_names(system, t, z):
    """Names of the constraints that repeat others at a state, the last one first."""
    names = system.constraint_names
    return [names[i] for i in redundant_rows(system, t, z)]


def redundant_rows(system, t, z):
    """Numbers of the redundant constraints in `system.constraint_names`, list of int, the last one first."""
    if all(part.is_body and part.has_orientation for part in system.parts if part.constraint_names):
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


def _free_gradient(system, t, z):
    """Gradients of the constraints along the motions of rigid bodies, an array where the system is small, else CSR; and
    their numbers, bodies' own first.

    Coordinates are weighted with the mass, and whole gradients brought to unit length, so that units do not matter.
    """
    n, m = system.n_q, system.n_constraints
    first = np.cumsum([0, *(len(p.constraint_names) for p in system.parts)])
    own = {p: np.arange(a, b) for p, a, b in zip(system.parts, first, first[1:]) if p.is_body}
    rows = [own[body] for body in system.bodies if not body.has_orientation]
    rows = np.concatenate([*rows, np.setdiff1d(np.arange(m), np.concatenate(list(own.values())))]).astype(int)
    weights, bodies = system.mass_scale**-0.5, [(body, system.coordinates(body)) for body in system.bodies]
    if is_small(system):
        gradient = constraints_at(system, t, z)[1][:m, :n] * weights
        gradient /= row_sizes(np.linalg.norm(gradient, axis=1))[:, None]
        return np.hstack([gradient[rows, place] @ null_space(gradient[own[body], place]) if body.has_orientation
                          else gradient[rows, place] for body, place in bodies]), rows
    gradient = scipy.sparse.csr_array(system.derivatives(t, z)[1][:m, :n] @ scipy.sparse.diags_array(weights))
    size = row_sizes(np.sqrt(gradient.multiply(gradient).sum(axis=1)))
    gradient = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / size) @ gradient)
    free = [null_space(gradient[own[body], place].toarray()) if body.has_orientation else np.eye(body.n_q)
            for body, place in bodies]
    return scipy.sparse.csr_array(gradient[rows] @ scipy.sparse.block_diag(free, format="csr")), rows


def row_sizes(norms, rounding=np.finfo(float).eps):
    """By what rows with these norms (..., m) are divided: the largest of them where they are zero or rounding."""
    largest = norms.max(axis=-1, initial=0.0, keepdims=True)
    return np.where(norms > rounding * largest, norms, np.where(largest > 0, largest, 1.0))


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
