"""Consistent initial states: assembly of a mechanism from approximate positions, and projection of its velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...memory import Late
from ...records import frozen
from ...sparse import sparse_lu
from ...validate.options import Options, documented, option
from ..bodies.states import CanonicalState, Pose
from ..values.at_start import constraint_sizes, constraints_at, is_small
from ..values.measures import TINY
from ..values.of_parts import nonholonomic_derivatives
from .given import with_followers

if TYPE_CHECKING:
    pass

scipy = Late("scipy")


@documented
@frozen
class ConsistentOptions(Options):
    """Thresholds of states that constraints allow."""

    tolerance: float = option(1e-12, "of constraints, relative to the terms that make them up")
    iterations: int = option(200, "most steps")
    largest_turn: float = option(
        0.5, "of a joint of a tree in one step [rad]; poses are far from those given after such a turn, or a move by "
        "such a part of what is drawn")
    least_turned: float = option(
        0.1, "least moments of inertia, of the largest of their body: thin ones would spin instead of moving")
    nonlinear: float = option(
        0.5, "of a step, at most, that its end asks for besides what is linear: longer ones may leave the branch")
    floor: float = option(1e-12, "added to matrices of unit diagonal, for redundant constraints: they stay definite")


OPTIONS = ConsistentOptions()


def states_by_body(system, q, p):
    """Dict body -> `CanonicalState`; of helpers as they follow from the others."""
    found = {body: CanonicalState(q[system.coordinates(body)], p[system.coordinates(body)]) for body in system.bodies}
    return with_followers({body: value for body, value in found.items() if not body.helper}, system)


def carried_momenta(system, given, t, q, fix):
    """Momenta at assembled coordinates by the velocities that were given at approximate ones; of `fix` as they are."""
    q_given, p = (np.concatenate(x) for x in zip(*((s.q, s.p) for _, s in given.values()), strict=True))
    rates, mobility = inverse_mass(system, t, q_given) @ p, inverse_mass(system, t, q)
    for body, (value, start) in given.items():
        part = system.coordinates(body)
        if body in fix:
            continue
        if body.has_orientation:
            p[part] = _momenta(body, q[part], value, start)
        elif not body.helper:
            p[part] = np.linalg.solve(dense(mobility[part, part]), rates[part])
    return p


def factor_spd(matrix, backend=None):
    """The function `b -> matrix^-1 b` of a sparse symmetric positive definite matrix.

    Parameters
    ----------
    matrix : sparse array, shape (n, n)
    backend : {"cholmod", "superlu"}, optional
        Default: CHOLMOD when scikit-sparse is installed and finds the matrix positive definite to working precision.
    """
    matrix = matrix.tocsc()
    if backend != "superlu":
        try:
            from sksparse.cholmod import CholmodError, cholesky

            try:
                return cholesky(matrix)
            except CholmodError:
                if backend:
                    raise
        except ImportError:
            if backend:
                raise

    return sparse_lu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1,
                                    options={"SymmetricMode": True}).solve


def assembled(system, t, q, moves):
    """Coordinates near `q` that hold the constraints.

    Raises
    ------
    InputError
        When there are none.
    """
    if not system.n_constraints:
        return q
    q, phi, gradient, size = descended(system, t, q, moves)
    worst = np.argmax(np.abs(phi) / size)
    if abs(phi[worst]) <= OPTIONS.tolerance * size[worst]:
        return q
    if not abs(gradient[[worst]]).sum():
        raise InputError(f"the mechanism cannot be assembled from these poses: the constraint "
                         f"'{system.constraint_names[worst]}' has no direction where its points coincide; set them "
                         f"apart")
    raise InputError(f"the mechanism cannot be assembled from these poses: the constraint "
                     f"'{system.constraint_names[worst]}' stays violated by {abs(phi[worst]):.3g}; give poses that "
                     f"are closer, fix fewer bodies, or check that its parts can meet at all (lengths, axes)")


def descended(system, t, q, moves, rows=slice(None), left=None, steps=OPTIONS.iterations):
    """Coordinates near `q` that hold constraints, or as near to it as the search comes.

    Parameters
    ----------
    system : System
    t : float
    q, moves : ndarray, shape (n_q,)
        Where it starts; one for coordinates that may change, zero for others.
    rows : ndarray, optional
        Constraints that count, those of bodies among them. Default: all.
    left : callable, optional
        What is left to do of their values, (n_rows,) -> (n_rows,). Default: these.
    steps : int
        At most so many.

    Returns
    -------
    q, phi, gradient, size : ndarray
        What is off, its gradient, and the size of the terms in it.
    """
    m, n = system.n_constraints, system.n_q
    joints = np.concatenate([np.full(len(p.constraint_names), not p.has_orientation) for p in system.parts])[rows]
    angles = angles_of_trees(system)

    def evaluate(q):
        z = np.concatenate([q, np.zeros(n)])
        theta, jacobian, _ = constraints_at(system, t, z)
        gradient = jacobian[:m, :n][rows]
        phi = theta[:m][rows]
        return q, phi if left is None else left(phi), gradient

    def sized(point):
        z = np.concatenate([point[0], np.zeros(n)])
        return *point, constraint_sizes(system, t, z)[:m][rows]

    def rigid(q):
        """Bring bodies back to what their own constraints allow, so that steps turn them instead of stretching them."""
        point = evaluate(q)
        for _ in range(20):
            q, phi, gradient = point
            if not np.any(np.abs(phi[~joints]) > 1e-15):
                break
            free = gradient[~joints] * moves
            mobility = inverse_mass(system, t, q, OPTIONS.least_turned)
            gram, scale = _unit_diagonal(free @ mobility @ free.T)
            point = evaluate(q - mobility @ (free.T @ _solver(gram, scale, OPTIONS.floor)(phi[~joints])))
        return sized(point)

    q, phi, gradient, size = rigid(q) if steps else sized(evaluate(q))
    damping, accepted = 1e-2, True
    for _ in range(steps):
        relative = np.max(np.abs(phi) / size)
        if relative <= 1e-16:
            break
        if accepted:
            free = gradient * moves
            mobility = inverse_mass(system, t, q, OPTIONS.least_turned)
            gram, scale = _unit_diagonal(free @ mobility @ free.T)
        shift = np.where(joints, max(OPTIONS.floor, damping * min(1.0, relative)**2), OPTIONS.floor)
        solve, most = _solver(gram, scale, shift), OPTIONS.largest_turn
        impulse = solve(phi)
        step = mobility @ (free.T @ impulse)
        share = min(1.0, most / np.max(np.abs(step[angles]), initial=most))
        trial = rigid(q - share * step)
        besides = solve(trial[1] - phi + share * (free @ step))
        accepted = (np.linalg.norm(scale * trial[1]) < np.linalg.norm(scale * phi)
                    and _length(gram, scale, besides) <= OPTIONS.nonlinear * share * _length(gram, scale, impulse))
        # which refuses NaN, too
        if accepted:
            q, phi, gradient, size = trial
            damping /= 4
        elif relative <= OPTIONS.tolerance or damping > 1e12:
            break  # rounding, or no way down
        else:
            damping *= 10
    return q, phi, gradient, size


def dense(matrix):
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def angles_of_trees(system):
    """Coordinates that are angles of joints of trees: no quaternion keeps them from going round and round."""
    places = [np.arange(system.n_q)[system.coordinates(tree)][body.places] for tree in system.bodies
              for body in getattr(tree, "moving", ()) if body.joint.kind == "revolute"]
    return np.unique(np.concatenate(places)) if places else np.zeros(0, int)


def reach_in_trees(system):
    """Size that coordinates of joints of trees have at least, shape (n_q,): angles a radian, displacements the largest
    length in their tree, so that one of rounding counts as none."""
    least = np.zeros(system.n_q)
    for tree in system.bodies:
        for body in (moving := getattr(tree, "moving", ())):
            if body.joint.kind == "prismatic":
                lengths = [np.hypot(np.linalg.norm(b.place), np.sqrt(np.trace(b.inertia) / b.mass if b.mass else 0.0))
                           for b in moving]
                least[np.arange(system.n_q)[system.coordinates(tree)][body.places]] = max(lengths)
    least[angles_of_trees(system)] = 1.0
    return least


def _momenta(body, q, value, start):
    """Momenta of a rigid body at the assembled coordinates, with velocities that were given at approximate ones."""
    if not isinstance(value, Pose):
        value = Pose(velocity=body.velocity(start.q, start.p), angular_velocity=body.angular_velocity(start.q, start.p))
    # a quaternion as it is: that of the rotation matrix may have the other sign
    return body.state(Pose(q[:3], body.orientation(q), value.velocity, value.angular_velocity, value.frame))[1]


def projected(system, t, q, p, moves, rows=None, fits=0.0):
    """Momenta whose velocities hold the constraints: the impulses of the constraints, `dp = -G^T mu`, see to it.

    Parameters
    ----------
    rows : ndarray, optional
        Those of the holonomic constraints that count. Default: all.
    fits : float
        How far velocities may be off, relative to their size: of rates that a user gave, rounded, more than free ones.

    Raises
    ------
    InputError
        When there are none.
    """
    m, n = system.n_constraints, system.n_q
    names = system.constraint_names + system.nonholonomic_names
    if not names:
        return p
    rows = np.arange(m) if rows is None else rows
    names = [*(names[i] for i in rows), *names[m:]]
    z = np.concatenate([q, p])
    _, jacobian, rate = constraints_at(system, t, z)
    gradient, rate, mobility = jacobian[:m, :n][rows], rate[:m][rows], inverse_mass(system, t, q)
    if system.n_nonholonomic:
        matrix, _, drift, _ = nonholonomic_derivatives(system, t, z)
        gradient, rate = scipy.sparse.vstack([gradient, matrix], format="csr"), np.concatenate([rate, drift])
    free = gradient * moves
    scale, impulse = _impulses(free, mobility)
    start, best, previous = p, p, np.inf
    for _ in range(OPTIONS.iterations):
        velocity = mobility @ p
        violation = gradient @ velocity + rate
        error = np.linalg.norm(scale * violation)
        if not error < previous:
            break  # rounding; redundant constraints take a few steps to it
        best, previous = p, error
        p = p - free.T @ impulse(violation)
    velocity = mobility @ best
    violation = np.abs(gradient @ velocity + rate)
    size = abs(gradient) @ np.abs(velocity) + np.abs(rate)
    # of thin bodies' momenta, of those that the impulses took away, and of others beside which these are none
    most, light = np.maximum(np.abs(start), np.abs(best)), system.state_scale[:n]
    rounding = abs(gradient) @ (abs(mobility) @ most + (most * light).max() * light) + np.abs(rate)
    allowed = np.maximum(np.maximum(OPTIONS.tolerance * rounding, fits * size), TINY)
    worst = np.argmax(violation / allowed)
    if not violation[worst] <= allowed[worst]:
        raise InputError(f"no velocities satisfy the constraint '{names[worst]}': it stays violated "
                         f"by {violation[worst]:.3g}; fix fewer bodies, or check the motion that is prescribed")
    best = best.copy()
    for body in system.bodies:  # of plates in directors spins alone count: impulses leave momenta that none has
        if body.has_orientation and not body.has_inverse_mass:
            part = system.coordinates(body)
            best[part] = _momenta(body, q[part], None, CanonicalState(q[part], best[part]))
    return best


def _impulses(free, mobility):
    """Sizes of the rows of G `free`, and the function `b -> mu` with `G M^-1 G^T mu = b`.

    By least squares with rows of G M^-1/2 where these are dense: products have half the digits where a body is thin.
    """
    gram, scale = _unit_diagonal(free @ mobility @ free.T)
    if not isinstance(gram, np.ndarray):
        return scale, _solver(gram, scale, OPTIONS.floor)
    if not np.isfinite(mobility).all():
        raise InputError("no velocities satisfy the constraints: the mass matrix is not finite at these coordinates")
    w, v = np.linalg.eigh(mobility)
    u, s, _ = np.linalg.svd(scale[:, None] * (free @ (v * np.sqrt(np.maximum(w, 0.0)))), full_matrices=False)
    u, s = u[:, s > OPTIONS.floor * s.max(initial=0.0)], s[s > OPTIONS.floor * s.max(initial=0.0)]
    return scale, lambda b: scale * (u @ ((u.T @ (scale * b)) / s**2))


def inverse_mass(system, t, q, least=0.0):
    """Inverse mass matrix at `q`, (n_q, n_q), one block per body: velocities are linear in momenta.

    Sparse unless the system is small. Moments of inertia of a rigid body count as this part of its largest at least.
    """
    places = [system.coordinates(b) for b in system.bodies if not b.helper]  # momenta of helpers would move others
    z = np.zeros((max(b.n_q for b in system.bodies), system.n_z))
    z[:, :system.n_q] = q
    for i in range(len(z)):
        z[i, [system.n_q + s.start + i for s in places if s.start + i < s.stop]] = 1.0
    columns = system.velocity(t, z)
    blocks = [np.diag(1 / b.mass_scale) if b.helper else columns[:b.n_q, system.coordinates(b)].T
              for b in system.bodies]
    for body, block in zip(system.bodies, blocks, strict=True):
        if not (least and body.has_orientation and np.isfinite(block).all()):  # steps that lead nowhere are refused
            continue
        if not body.has_inverse_mass:  # directors of plates are brought back to unit length, too
            own = system.coordinates(body)
            w, v = np.linalg.eigh(system.mass_matrix(t, z[0])[own, own].toarray()[3:, 3:])
            block[3:, 3:] = (v / np.maximum(w, least * w[-1])) @ v.T
            continue
        w, v = np.linalg.eigh(block[3:, 3:])
        if w[0] > 0:
            block[3:, 3:] = (v * np.minimum(w, w[0] / least)) @ v.T
    if not is_small(system):
        return scipy.sparse.block_diag(blocks, format="csr")
    out = np.zeros((system.n_q, system.n_q))
    for body, block in zip(system.bodies, blocks, strict=True):
        out[system.coordinates(body), system.coordinates(body)] = block
    return out


def _unit_diagonal(gram):
    """The matrix scaled to a diagonal of ones, and the scale; rows that are zero, or rounding, stay so."""
    diagonal = gram.diagonal()
    least = np.finfo(float).eps ** 2 * diagonal.max(initial=0.0)
    scale = 1 / np.sqrt(np.where(diagonal > least, diagonal, max(diagonal.max(initial=0.0), 1e-300)))
    if isinstance(gram, np.ndarray):
        return scale[:, None] * gram * scale, scale
    return scipy.sparse.diags_array(scale) @ gram @ scipy.sparse.diags_array(scale), scale


def _solver(gram, scale, shift):
    """The function `b -> x` with `(gram + shift) x = b`, in rows and unknowns without their scale."""
    shift = np.broadcast_to(shift, len(scale))
    if not isinstance(gram, np.ndarray):
        solve = factor_spd(gram + scipy.sparse.diags_array(shift))
        return lambda b: scale * solve(scale * b)
    matrix = gram + np.diag(shift)

    def dense(b):
        try:
            return scale * np.linalg.solve(matrix, scale * b)
        except np.linalg.LinAlgError:  # far from where anything is known
            return np.full(len(b), np.nan)  # which no search accepts

    return dense


def _length(gram, scale, impulse):
    """How far impulses of constraints move, in the metric of the mass."""
    impulse = impulse / scale
    return np.sqrt(np.maximum(impulse @ (gram @ impulse), 0.0))
