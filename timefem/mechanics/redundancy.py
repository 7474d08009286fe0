"""Redundant constraints: found by the rank of their gradients, named, left out, and their multipliers shared out."""

import numpy as np

from ..errors import InputError
from .part import Body, Part
from .rigid_body import RigidBodyBase
from .system import System

RANK_TOLERANCE = 1e-8  # of gradients of unit length; states hold their constraints to 1e-9 or better


def redundant_constraints(system, t, z):
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
    from scipy.sparse.csgraph import connected_components

    gradient, rows = _free_gradient(system, t, z)
    if not len(rows) or _regular(gradient):
        return []
    n_parts, part = connected_components(abs(gradient) @ abs(gradient).T, directed=False)
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
    import scipy.sparse as sp

    n, m = system.n_q, system.n_constraints
    gradient = sp.csr_array(system.derivatives(t, z)[1][:m, :n] @ sp.diags_array(system.mass_scale**-0.5))
    size = np.sqrt(gradient.multiply(gradient).sum(axis=1))
    gradient = sp.csr_array(sp.diags_array(1 / np.where(size > 0, size, 1.0)) @ gradient)
    first = np.cumsum([0, *(len(p.constraint_names) for p in system.parts)])
    own = {p: np.arange(a, b) for p, a, b in zip(system.parts, first, first[1:]) if isinstance(p, Body)}
    free, rows = [], []
    for body in system.bodies:
        if isinstance(body, RigidBodyBase):
            free.append(_null_space(gradient[own[body], system.coordinates(body)].toarray()))
        else:
            free.append(np.eye(body.n_q))
            rows.extend(own[body])
    rows = np.array([*rows, *np.setdiff1d(np.arange(m), np.concatenate(list(own.values())))], dtype=int)
    return sp.csr_array(gradient[rows] @ sp.block_diag(free, format="csr")), rows


def _null_space(a):
    """Orthonormal columns that span the null space of the rows of `a`, which are independent."""
    return np.linalg.qr(a.T, mode="complete")[0][:, len(a):]


def _regular(gradient):
    """Whether the rows are independent beyond doubt: a sparse factorization, which spares the dense one below."""
    from scipy.sparse.linalg import LinearOperator, onenormest, splu

    gram = (gradient @ gradient.T).tocsc()
    try:
        lu = splu(gram)
    except RuntimeError:  # exactly singular
        return False
    inverse = LinearOperator(gram.shape, lu.solve, rmatvec=lu.solve, dtype=float)
    return onenormest(inverse) < 1e10


def _dependent(a):
    """Rows that depend on the rows before them, list of int.

    The rank comes from QR with column pivoting, which gives the combinations of rows that vanish: columns of N. The
    last rows with which N has full rank (a greedy choice from the end) are those that depend on others before them.
    """
    from scipy.linalg import qr, solve_triangular

    m = len(a)
    if not a.size:  # gradients that are zero
        return list(range(m))
    r, pivots = qr(a.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int(np.sum(diagonal > RANK_TOLERANCE))
    combinations = np.zeros((m, m - rank))
    combinations[pivots[:rank]] = -solve_triangular(r[:rank, :rank], r[:rank, rank:])
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


class Selected(Part):
    """A joint of which only some constraints are kept.

    Parameters
    ----------
    part : Part
    rows : tuple of int
        The constraints that are kept.
    name : str
    """

    def __init__(self, part, rows, name):
        self.part, self.rows, self.name = part, tuple(rows), name
        self.bodies, self.own_parameters = part.bodies, part.own_parameters
        self.constraint_names = tuple(part.constraint_names[i] for i in self.rows)
        self.nonholonomic_names = part.nonholonomic_names

    def __repr__(self):
        return f"Selected({self.part!r}, {self.rows})"

    @property
    def kinks(self):
        return self.part.kinks

    @property
    def t_span(self):
        return self.part.t_span

    @property
    def kind(self):
        return (Selected, self.part.kind, self.rows)

    def energy(self, s):
        return self.part.energy(s)

    def force(self, s):
        return self.part.force(s)

    def constraints(self, s):
        return self.part.constraints(s)[list(self.rows)]

    def velocity_constraints(self, s):
        return self.part.velocity_constraints(s)[list(self.rows)]

    def velocity_form(self, s):
        return self.part.velocity_form(s)


def drop_redundant(system, t, z):
    """The same system without the constraints that are redundant at a state.

    The motion is the same as long as they stay redundant, that is for mechanisms whose mobility does not change; the
    kept constraints carry all forces. Which ones are kept is settled at this state (see `redundant_constraints`).

    Parameters
    ----------
    system : System
    t : float
        Time [s].
    z : array_like, shape (n_z,)
        A state that holds the constraints.

    Returns
    -------
    System
        With the same bodies and the same names, `complete` (the system given), `kept` (numbers of the kept constraints
        there) and `dropped` (names of the others); or the system given, when nothing is redundant.

    Raises
    ------
    InputError
        When constraints of a body itself repeat one another.
    """
    redundant = redundant_rows(system, t, z)
    if not redundant:
        return system
    return keep_constraints(system, np.setdiff1d(np.arange(system.n_constraints), redundant))


def keep_constraints(system, kept):
    """The system with only some of its constraints, which `complete`, `kept` and `dropped` tell about.

    Parameters
    ----------
    system : System
    kept : array_like of int
        Numbers in `system.constraint_names`, increasing.

    Raises
    ------
    InputError
        When constraints of a body itself are left out.
    """
    parts, first = [], 0
    for part in system.parts:
        n = len(part.constraint_names)
        rows = [int(i) - first for i in kept if first <= i < first + n]
        if len(rows) < n and isinstance(part, Body):
            raise InputError(f"the constraints of {system.label(part)} itself repeat one another; remove those that do")
        parts.append(part if len(rows) == n else Selected(part, rows, system.label(part)))
        first += n
    reduced = System(parts)
    reduced.complete, reduced.kept = system, np.array(kept, dtype=int)
    reduced.dropped = [name for i, name in enumerate(system.constraint_names) if i not in set(reduced.kept.tolist())]
    return reduced


def minimum_norm_multipliers(system, t, z, multipliers):
    """Multipliers of all constraints, the dropped ones too, with the same forces and the smallest sum of squares.

    With redundant constraints the forces of single joints are not determined by rigid-body mechanics; this shares them
    out evenly, in the units of the constraints. Solves `B^T lambda = B_kept^T lambda_kept`, B the gradient of Theta.
    What counts are the multipliers of joints: those by which rigid bodies hold themselves together are what they then
    have to be, so that the result does not depend on the rotation (quaternions or directors).

    Parameters
    ----------
    system : System
        A system made by `drop_redundant`, such as `solution.system`; of any other the multipliers are the only ones.
    t : array_like, shape (...)
        Times [s].
    z : array_like, shape (..., n_z)
        States, `solution(t)`.
    multipliers : array_like, shape (..., n_multipliers)
        Those of the kept constraints, `solution.multipliers(t)`.

    Returns
    -------
    ndarray, shape (..., complete.n_multipliers)
        `(gamma, mu)` in the order of `complete.constraint_names`; `complete` is `system.complete`, or the system.
    """
    z, multipliers = np.asarray(z, float), np.asarray(multipliers, float)
    complete = system.complete
    if complete is None:
        return multipliers.copy()
    shape, m = z.shape[:-1], complete.n_constraints
    kept = np.concatenate([system.kept, system.kept + m])
    rigid = np.concatenate([np.full(len(p.constraint_names), isinstance(p, RigidBodyBase)) for p in complete.parts])
    own, joints = np.flatnonzero(np.tile(rigid, 2)), np.flatnonzero(np.tile(~rigid, 2))
    scale = np.concatenate([np.ones(complete.n_q), complete.mass_scale])  # velocity level per momentum -> per velocity
    times = np.broadcast_to(np.asarray(t, float), shape).ravel()
    out = np.zeros((len(times), 2 * m))
    for i, (state, values) in enumerate(zip(z.reshape(-1, complete.n_z), multipliers.reshape(-1, len(kept)),
                                            strict=True)):
        jacobian = complete.derivatives(times[i], state)[1].toarray() * scale
        force = jacobian[kept].T @ values
        free = _null_space(jacobian[own])
        # redundant gradients differ by the drift of the state from the constraints, hence the generous cut
        out[i, joints] = np.linalg.lstsq(free.T @ jacobian[joints].T, free.T @ force, rcond=1e-7)[0]
        out[i, own] = np.linalg.lstsq(jacobian[own].T, force - jacobian[joints].T @ out[i, joints], rcond=None)[0]
    return out.reshape(*shape, 2 * m)
