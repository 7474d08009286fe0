"""Redundant constraints, found by the rank of their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...argument_names import named_arguments
from ...estimated_norm import estimated_norm
from ...late import Late

if TYPE_CHECKING:
    from ..system import System

scipy = Late("scipy")

RANK_TOLERANCE = 1e-8  # of gradients of unit length; states hold their constraints to 1e-9 or better


@named_arguments
def redundant_constraints(system: System, t: float, z: np.ndarray) -> list[str]:
    """Names of the constraints that repeat others at a state, the last one first.

    A constraint is redundant when its gradient, restricted to the motions that the bodies' own constraints allow, is a
    combination of those before it: of several that repeat one another the later ones are named. The constraints of the
    bodies themselves count as first.

    Parameters
    ----------
    system : System
    t : float
        Time [s].
    z : array_like, shape (n_z,)
        A state that holds the constraints (see `assemble`): away from it constraints may repeat others unseen.

    Returns
    -------
    list of str
        As in `system.constraint_names`.
    """
    names = system.constraint_names
    return [names[i] for i in redundant_rows(system, t, z)]


def redundant_rows(system, t, z):
    """Numbers of the redundant constraints in `system.constraint_names`, list of int, the last one first."""
    if all(part.is_body and part.has_orientation for part in system.parts if part.constraint_names):
        return []  # nothing but lengths of quaternions, and directors
    gradient, rows = _free_gradient(system, t, z)
    # independent beyond doubt: a sparse factorization spares the dense one below
    if not len(rows) or factored((gradient @ gradient.T).tocsc())[1] < 1e10:
        return []
    n_parts, part = scipy.sparse.csgraph.connected_components(abs(gradient) @ abs(gradient).T, directed=False)
    found = []
    for i in range(n_parts):
        members = np.flatnonzero(part == i)
        block = gradient[members]
        found += [rows[members[k]] for k in _dependent(block[:, np.unique(block.indices)].toarray())]
    return sorted(map(int, found), reverse=True)


def _free_gradient(system, t, z):
    """Gradients of the constraints along the motions of rigid bodies, CSR; and their numbers, bodies' own first.

    Coordinates are weighted with the mass, and whole gradients brought to unit length, so that units do not matter.
    """
    n, m = system.n_q, system.n_constraints
    weights = scipy.sparse.diags_array(system.mass_scale**-0.5)
    gradient = scipy.sparse.csr_array(system.derivatives(t, z)[1][:m, :n] @ weights)
    size = np.sqrt(gradient.multiply(gradient).sum(axis=1))
    gradient = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.where(size > 0, size, 1.0)) @ gradient)
    first = np.cumsum([0, *(len(p.constraint_names) for p in system.parts)])
    own = {p: np.arange(a, b) for p, a, b in zip(system.parts, first, first[1:]) if p.is_body}
    free, rows = [], []
    for body in system.bodies:
        if body.has_orientation:
            free.append(null_space(gradient[own[body], system.coordinates(body)].toarray()))
        else:
            free.append(np.eye(body.n_q))
            rows.extend(own[body])
    rows = np.array([*rows, *np.setdiff1d(np.arange(m), np.concatenate(list(own.values())))], dtype=int)
    return scipy.sparse.csr_array(gradient[rows] @ scipy.sparse.block_diag(free, format="csr")), rows


def null_space(a):
    """Orthonormal columns that span the null space of the rows of `a`, which are independent."""
    return np.linalg.qr(a.T, mode="complete")[0][:, len(a):]


def factored(matrix):
    """Of a sparse square matrix: the function `b -> matrix^-1 b`, and an estimate of the 1-norm of the inverse.

    None and infinity when it is exactly singular.
    """
    try:
        lu = scipy.sparse.linalg.splu(matrix)
    except RuntimeError:
        return None, np.inf
    inverse = scipy.sparse.linalg.LinearOperator(matrix.shape, lu.solve, rmatvec=lambda b: lu.solve(b, "T"),
                                                 dtype=float)
    return lu.solve, estimated_norm(inverse)


def _dependent(a):
    """Rows that depend on the rows before them, list of int.

    The rank comes from QR with column pivoting, which gives the combinations of rows that vanish: columns of N. The
    last rows with which N has full rank (a greedy choice from the end) are those that depend on others before them.
    """
    m = len(a)
    if not a.size:  # gradients that are zero
        return list(range(m))
    r, pivots = scipy.linalg.qr(a.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int(np.sum(diagonal > RANK_TOLERANCE))
    combinations = np.zeros((m, m - rank))
    combinations[pivots[:rank]] = -scipy.linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:])
    combinations[pivots[rank:]] = np.eye(m - rank)
    remaining = np.linalg.qr(combinations)[0]
    chosen = []
    for row in range(m - 1, -1, -1):
        if len(chosen) == m - rank:
            break
        size = np.linalg.norm(remaining[row])
        # small enough that enough rows are found: rows of length 1/sqrt(m) at most cannot make up unit columns
        if size > 1e-3 / np.sqrt(m):
            direction = remaining[row] / size
            remaining = remaining - np.outer(remaining @ direction, direction)
            chosen.append(row)
    return chosen
