"""The equations of statics: `dV/dq - Q(q, t) + G(q, t)^T gamma = 0`, `Phi(q, t) = 0`, and their tangent."""

from itertools import pairwise

import casadi as ca
import numpy as np
import scipy

from ...mechanics.bodies.generalized_body import general_position
from ...mechanics.contacts.rigid import refuse_events
from ...mechanics.parts import body_of
from ...mechanics.states.consistent import reach_in_trees
from ...mechanics.symbols import Symbols, first_order, n_reactions
from ...mechanics.values.conserved import neutral_motions
from ...mechanics.values.evaluate import evaluate
from ...mechanics.values.measures import blocks_of
from ...mechanics.values.of_parts import coordinate_at
from ...mechanics.values.quantities import sees_velocities
from ...memory import Recent
from ...records import frozen
from ...sparse import sparse_lu
from ...validate.options import Options, documented, option


@documented
@frozen
class StaticOptions(Options):
    """Thresholds of equilibria and paths of them."""

    # ---- equilibrium
    iterations: int = option(40, "iterations of Newton's method at a load")
    tolerance: float = option(1e-11, "of the residual, relative to the forces that make it up")
    increment: float = option(1e-9, "of the coordinates, relative to them: quadratic convergence makes it round-off")
    furthest: float = option(1e12, "of the coordinates, that a step may go: it diverges")
    least_step: float = option(1e-6, "step of the load, of all its way, at least")
    least_share: float = option(1e-2, "the same of what a guess leaves unbalanced: what falls without end has none")
    singular: float = option(2e-15, "resistance against the largest that is none; thin beams of 40 elements have 8e-15")
    unbalanced: float = option(10.0, "resistance against the largest, over the error, that what is unbalanced may make")
    shared: float = option(1e-12, "resistance of constraints that repeat each other, against that of the masses")
    apart: float = option(0.1, "of what its terms are, by which a guess violates a constraint that a failure names")
    coincide: float = option(1e-3, "of sizes, by which points that coincide are set apart; springs find back from any")
    pivots: float = option(1e-3, "error of a solve by pivots on the diagonal, up to which their signs are counted")
    neutral: float = option(1e-8, "way in a rigid motion, against the size of the system, that is none")
    added_inertia: float = option(1e-4, "size of the mass that is added to singular tangents")
    most_singular: int = option(3, "singular tangents in a row to which inertia is added, at most")

    driven: float = option(0.01, "square of the rate of a drive, over that of the slowest vibration, to report")

    # ---- path
    path_iterations: int = option(12, "iterations of Newton's method at a step along a path")
    path_distance: float = option(
        0.3, "of the corrected point from the tangent, relative to the step: further away is another branch")
    path_steps: int = option(2000, "steps of a path unless more are asked for")
    path_beyond: float = option(1e-3, "of the change of load, how far ahead of a corner loads are looked at")
    path_bisections: int = option(60, "halvings of a step at a critical point")


OPTIONS = StaticOptions()


_FUNCTIONS = Recent()


def _functions(part):
    """Residual, its derivatives by (q, gamma) and by t of one kind of part, at rest."""
    if part.kind not in _FUNCTIONS:
        s = Symbols(part)
        q, p = ca.vertcat(*s.q), ca.vertcat(*s.p)
        if sees_velocities(part):
            s.velocity = [b.effort(q, c) if b.is_port else ca.SX.zeros(b.n_q)
                          for b, q, c in zip(part.bodies, s.q, s.bodies, strict=True)]
        m = len(part.constraint_names)
        gamma = ca.SX.sym("gamma", m + n_reactions(part))  # then those of other parts that it sees
        phi, further = part.constraints(s), part.multiplier_force(s, gamma)
        potential = ca.gradient(ca.SX(part.energy(s)), q) * (1 - first_order(part))
        residual = potential - part.force(s) + part.constraint_force(s, gamma[:m, 0])
        residual = residual if further is None else residual - further
        residual = ca.vertcat(residual, phi, ca.SX.zeros(n_reactions(part)))
        residual = ca.substitute(residual, p, ca.SX.zeros(p.numel()))
        x = ca.vertcat(q, gamma)
        values = [residual, ca.jacobian(residual, x), ca.jacobian(residual, s.t)]
        _FUNCTIONS[part.kind] = ca.Function("static", [x, s.t, s.parameters],
                                            [ca.cse(ca.vertcat(*(ca.vec(ca.densify(v)) for v in values)))])
    return _FUNCTIONS[part.kind]


class StaticEquations:
    """Residual and tangent of a system at rest, in the unknowns x = (q, gamma), gamma the configuration multipliers.

    Parameters
    ----------
    system : System

    Attributes
    ----------
    counters : dict
        Place of a coordinate -> the `TurnCounter` whose it is.
    root : ndarray, shape (n_q,)
        Of the mass, by which changes are measured alike in any units; zero of what counts turns, which has none.
    lengths : list of ndarray
        Places of quaternions of trees, whose lengths no constraint holds, and nothing depends on.
    reach : ndarray, shape (n_q,)
        As `reach_in_trees`.
    neutral : (casadi.Function, ndarray)
        Of `neutral_motions`.
    """

    def __init__(self, system):
        refuse_events(system, "an equilibrium")
        self.system, self.n_q, self.m = system, system.n_q, system.n_constraints
        self.n, self.reach = self.n_q + self.m, reach_in_trees(system)
        self._groups = []
        for group in system.groups:
            q = group.state_index[:, :group.state_index.shape[1] // 2]
            gamma = np.hstack([group.multiplier_index[:, :group.multiplier_index.shape[1] // 2], group.reaction_index])
            self._groups.append((_functions(group.part), np.hstack([q, gamma + self.n_q]), group.parameters))
        self.counters = {system.coordinates(b).start: b for b in system.bodies if b.is_counter}
        self.root = np.sqrt(system.mass_scale)
        self.root[list(self.counters)] = 0.0
        self.lengths = [np.arange(system.n_q)[system.coordinates(b)][list(places)] for b in system.bodies
                        for places in b.quaternions]
        self.neutral = neutral_motions(system)
        self._bodies = np.repeat(np.arange(len(system.bodies)), [body.n_q for body in system.bodies])

    def evaluate(self, x, t):
        """Residual (n,), tangent (n, n) as CSC, and derivative of the residual by t (n,)."""
        residual, by_time = np.zeros(self.n), np.zeros(self.n)
        held = np.array(list(self.counters), int)  # counts of turns are none of the unknowns, see `counted`
        entries = [(np.ones(len(held)), held, held)]
        for function, index, parameters in self._groups:
            k = index.shape[1]
            values = evaluate(function, x[index][None], np.array([t]), parameters)[0]
            np.add.at(residual, index, values[:, :k])
            np.add.at(by_time, index, values[:, k + k * k:])
            rows, columns = np.broadcast_arrays(index[:, None, :], index[:, :, None])  # column by column
            entries.append((values[:, k:k + k * k].ravel(), rows.ravel(), columns.ravel()))
        data, rows, columns = map(np.concatenate, zip(*entries, strict=True))
        tangent = scipy.sparse.csc_array((data, (rows, columns)), shape=(self.n, self.n))
        if self.lengths:
            tangent = tangent + self._resistance_of_lengths(tangent, x)
        return residual, tangent, by_time

    def _resistance_of_lengths(self, tangent, x):
        """What keeps steps at right angles to quaternions, as large as what the system resists to their turns."""
        held = [(places, (abs(tangent[places]).max() or 1.0) * np.outer(x[places], x[places]) / (x[places] @ x[places]))
                for places in self.lengths]
        rows, columns = (np.concatenate([np.broadcast_to(p[index], (len(p), len(p))).ravel() for p, _ in held])
                         for index in ((slice(None), None), slice(None)))
        return scipy.sparse.csc_array((np.concatenate([v.ravel() for _, v in held]), (rows, columns)),
                                      shape=tangent.shape)

    def held(self, tangent, x):
        """The tangent with what keeps steps at right angles to rigid motions that nothing resists, by the mass."""
        rates, turns = self.neutral
        if not len(turns):
            return tangent
        root, q = np.sqrt(self.system.mass_scale), x[:self.n_q]
        ways = root[:, None] * np.array(rates(q))
        ways /= np.where(turns, np.linalg.norm(root * self.sizes(q)), np.linalg.norm(ways, axis=0))
        ways, moved, _ = np.linalg.svd(ways, full_matrices=False)
        ways = ways[:, moved > OPTIONS.neutral]  # what stands on an axis does not turn about it
        size = np.abs((tangent[:self.n_q, :self.n_q] / root).T / root).max()
        ways = scipy.sparse.csc_array(np.vstack([root[:, None] * ways, np.zeros((self.m, ways.shape[1]))]))
        return scipy.sparse.csc_array(tangent + (size or 1.0) * (ways @ ways.T))

    def n_free(self, tangent, error):
        """How many motions the tangent resists no more than rounding does, or the forces that an error leaves."""
        least = max(OPTIONS.singular, OPTIONS.unbalanced * error)
        scale = self.scales(tangent)
        scaled = scipy.sparse.csc_array(scipy.sparse.diags_array(scale) @ tangent @ scipy.sparse.diags_array(scale))
        try:
            lu, way = sparse_lu(scaled), general_position(self.n) - 0.5
            for _ in range(3):  # inverse iteration, which finds the least of the resistances
                way = lu.solve(lu.solve(way / np.linalg.norm(way)), "T")
            if np.linalg.norm(way)**-0.5 > least * abs(scaled).sum(axis=0).max():
                return 0
        except RuntimeError:
            pass
        values = np.linalg.svd(scaled.toarray(), compute_uv=False)
        return np.count_nonzero(values < least * values[0])

    def with_free_held(self, n_free, tangent, residual, x, t, start):
        """Tangent, the one whose signs count, and residual of the equilibrium nearest to a start, of a family of them.

        Along the motions that the tangent resists least, changes from the start are at right angles to these by the
        kinetic energy, in any axes and units; multipliers that nothing determines stay where they are.
        """
        n, scale = self.n_q, self.scales(tangent)
        left, values, right = np.linalg.svd((tangent.toarray() * scale).T * scale)
        left, ways = left[:, -n_free:] / scale[:, None], scale[:, None] * right[-n_free:].T
        momenta = self.mass(x, t) @ ways[:n]
        energies, mixed = np.linalg.eigh(ways[:n].T @ momenta)
        moves = energies > OPTIONS.neutral * energies[-1]
        rows = ((ways / scale[:, None]**2) @ mixed).T
        rows[moves] = np.pad((momenta @ mixed[:, moves] / energies[moves]).T, ((0, 0), (0, self.m)))
        left, ways = values[0] * left @ mixed, ways / scale[:, None]**2
        residual = residual + left @ np.where(moves, rows @ (x - start), 0.0)
        return *map(scipy.sparse.csc_array, (tangent + left @ rows, tangent + values[0] * ways @ ways.T)), residual

    def mass(self, x, t):
        """The mass matrix at unknowns x, sparse (n_q, n_q)."""
        return self.system.mass_matrix(t, np.append(x[:self.n_q], np.zeros(self.n_q)))

    def with_multipliers(self, x, t):
        """The unknowns with the multipliers of a fall from rest: `M a + G^T gamma = -R`, `G a = 0`.

        Without them nothing but springs would resist where Newton's method starts: what hangs by joints resists by
        the forces of its joints. What is tiny beside `G M^-1 G^T` shares among constraints that repeat each other.
        """
        if not self.m:
            return x
        n, x = self.n_q, x.copy()
        residual, tangent, _ = self.evaluate(x, t)
        if np.isfinite(residual).all() and np.isfinite(tangent.data).all():
            gradient = tangent[n:, :n]
            shared = OPTIONS.shared * (gradient.multiply(gradient) @ (1 / self.system.mass_scale))
            shared[shared == 0] = 1.0
            whole = scipy.sparse.block_array([[self.mass(x, t), tangent[:n, n:]],
                                              [gradient, scipy.sparse.diags_array(-shared)]], format="csc")
            x[n:] -= solve(self, whole, np.append(residual[:n], np.zeros(self.m)))[n:]
        return x

    def counted(self, x):
        """The unknowns with what counts the turns of angles where these are now, less than half a turn further, and
        quaternions of trees of length one."""
        x = x.copy()
        for places in self.lengths:
            x[places] /= np.linalg.norm(x[places])
        if not self.counters:
            return x
        x, state = x.copy(), np.append(x[:self.n_q], np.zeros(self.n_q))
        for place, counter in self.counters.items():
            angle = coordinate_at(self.system, counter.bound, state)[0]
            x[place] = angle + 2 * np.pi * np.floor((x[place] - angle) / (2 * np.pi) + 0.5)
        return x

    def scales(self, tangent):
        """Scaling of rows and columns that balances a tangent, shape (n,): first of units, by the mass.

        What resists no more than rounding does beside the rest of its body, such as a spin about the vertical of what
        stands on a floor, is not made as large as this.
        """
        n, root = self.n_q, scipy.sparse.diags_array(self.system.mass_scale**-0.5)
        stiffness, gradient = abs(root @ tangent[:n, :n] @ root).max(), tangent[n:, :n] @ root
        size = np.sqrt(gradient.multiply(gradient).sum(axis=1))
        scale = np.append(root.diagonal(), (stiffness or 1.0) / np.where(size > 0, size, 1.0))
        weights = scipy.sparse.diags_array(scale)
        size = abs(weights @ tangent @ weights).max(axis=1).toarray().ravel()
        largest = np.zeros(len(self.system.bodies))
        np.maximum.at(largest, self._bodies, size[:n])
        size[:n] = np.where(size[:n] > OPTIONS.singular * largest[self._bodies], size[:n], largest[self._bodies])
        return scale / np.sqrt(np.where(size > 0, size, 1.0))

    def n_unstable(self, tangent):
        """Negative eigenvalues of the second variation of the energy on the constraints.

        The symmetric matrix [K G^T; G 0] has as many negative eigenvalues as constraints more. Forces without a
        potential make it unsymmetric: its symmetric part counts then.
        """
        return n_negative(self._balanced(tangent)[0], self.n_q) - self.m

    def symmetric_part(self, tangent):
        """Of the balanced tangent, dense (n, n), and the scaling (n,) that balances it."""
        matrix, scale = self._balanced(tangent)
        return matrix.toarray(), scale

    def _balanced(self, tangent):
        scale = self.scales(tangent)
        weights = scipy.sparse.diags_array(scale)
        matrix = weights @ tangent @ weights
        return scipy.sparse.csc_array((matrix + matrix.T) / 2), scale

    def error(self, residual, tangent, x):
        """Residual relative to the forces that make it up, and of constraints to what their terms are.

        By the square root of the mass forces and moments are measured alike, in any units.
        """
        n = self.n_q
        light = np.divide(1.0, self.root, out=np.zeros(n), where=self.root > 0)
        forces = max(1e-300, ((abs(tangent) @ np.abs(x))[:n] * light).max())
        return float(max((np.abs(residual[:n]) * light).max() / forces, self.gaps(residual, tangent, x).max(initial=0)))

    def gaps(self, residual, tangent, x):
        """By how much constraints are violated, against what their terms are, shape (m,)."""
        n = self.n_q
        return np.abs(residual[n:]) / np.maximum(1e-300, abs(tangent[n:, :n]) @ self.sizes(x[:n]))

    def change(self, x, step):
        """Of the coordinates by a step, relative to them, both by the root of the mass: alike in any units."""
        moved, there = (np.abs(self.root * way[:self.n_q]).max() for way in (step, x - step))
        return moved / max(1e-300, there)

    def ways(self, residual, tangent):
        """How far each coordinate would go to be at rest alone, shape (n_q,); 0 where nothing resists."""
        fall, stiff = np.abs(residual[:self.n_q]), np.abs(tangent.diagonal()[:self.n_q])
        return np.divide(fall, stiff, out=np.zeros(self.n_q), where=stiff > 0)

    def sizes(self, q):
        """Sizes of coordinates: the largest of a block of them, of places of all; or by radii of gyration."""
        (blocks, kinds), mass = blocks_of(self.system), self.system.mass_scale
        places, largest = kinds[blocks] == 0, np.zeros(len(kinds))
        np.maximum.at(largest, blocks, np.abs(q))
        size = np.where(largest > 0, largest, 1.0)[blocks]
        if places.any() and (~places).any():
            size[places] = max(np.abs(q[places]).max(), np.sqrt(mass[~places].max() / mass[places].max()))
        elif places.any():
            size[places] = np.abs(q[places]).max() or 1.0
        return np.maximum(size, self.reach)


def n_negative(matrix, n):
    """Number of negative eigenvalues of a sparse symmetric [K G^T; G 0], K of shape (n, n): of pivots on the diagonal
    (Sylvester).

    G^T G added to K is a congruence, and lets K alone be singular. A row of G comes after the coordinates in it, so
    that its pivot is none of the zeros. Where pivots on the diagonal do not solve accurately eigenvalues are counted.
    """
    k, g = matrix[:n, :n], scipy.sparse.csr_array(matrix[n:, :n])
    k = scipy.sparse.csr_array(k + g.T @ g)
    place = np.empty(n)
    place[scipy.sparse.csgraph.reverse_cuthill_mckee(k, symmetric_mode=True)] = np.arange(n)
    g.eliminate_zeros()
    last = [place[g.indices[a:b]].max(initial=-1) + 0.5 for a, b in pairwise(g.indptr)]
    order = np.argsort(np.concatenate([place, last]), kind="stable")
    whole = scipy.sparse.block_array([[k, g.T], [g, None]], format="csr")[order][:, order].tocsc()
    try:
        lu = scipy.sparse.linalg.splu(whole, permc_spec="NATURAL", diag_pivot_thresh=0.0,
                                      options={"SymmetricMode": True})
    except RuntimeError:
        lu = None
    if lu is not None and np.array_equal(lu.perm_r, lu.perm_c):
        ones = np.ones(len(order))
        if np.abs(lu.solve(whole @ ones) - ones).max() <= OPTIONS.pivots:
            return int((lu.U.diagonal() < 0).sum())
    return int((np.linalg.eigvalsh(matrix.toarray()) < 0).sum())


class FromGuess(StaticEquations):
    """The equations at one time, less a part of what a guess leaves unbalanced: in place of the time stands the share
    of it that is let go. The guess solves them with none; with all of it they are the equations.

    Parameters
    ----------
    equations : StaticEquations
    x : ndarray, shape (n,)
        The guess.
    t : float
    """

    def __init__(self, equations, x, t):
        vars(self).update(vars(equations))
        self.t, self.left = t, equations.evaluate(x, t)[0]

    def evaluate(self, x, share):
        """As those of the equations, with the derivative by the share."""
        residual, tangent, _ = super().evaluate(x, self.t)
        return residual - (1 - share) * self.left, tangent, self.left


def solve(equations, tangent, b):
    """Solution for b, (n,) or (n, k), by the balanced tangent; RuntimeError where it is singular."""
    scale = equations.scales(tangent)
    scaled = scipy.sparse.csc_array(scipy.sparse.diags_array(scale) @ tangent @ scipy.sparse.diags_array(scale))
    with np.errstate(over="ignore", invalid="ignore"):  # of singular ones, which are refused
        x = (scale * sparse_lu(scaled).solve((scale * b.T).T).T).T
    if not np.isfinite(x).all():
        raise RuntimeError("singular")
    return x


def bordered(equations, tangent, column, row, b):
    """Solution for b (n + 1,) by the balanced tangent with one more column (n,) and row (n + 1,); RuntimeError where
    that is singular."""
    scale = equations.scales(tangent)
    column, row = scale * column, row * np.append(scale, 1.0)
    tau = 1 / (np.abs(column).max() or 1.0)
    rho = 1 / (max(np.abs(row[:-1]).max(), np.abs(row[-1]) * tau) or 1.0)
    weights = scipy.sparse.diags_array(scale)
    matrix = scipy.sparse.block_array([[weights @ tangent @ weights, (tau * column)[:, None]],
                                       [rho * row[None, :-1], np.array([[rho * tau * row[-1]]])]], format="csc")
    x = np.append(scale, tau) * sparse_lu(matrix).solve(np.append(scale, rho) * b)
    if not np.isfinite(x).all():
        raise RuntimeError("singular")
    return x


def with_inertia(equations, tangent, x, t):
    """The tangent of a long implicit step in time from rest: with a small multiple of the mass matrix."""
    n = equations.n_q
    mass = equations.mass(x, t)
    root = scipy.sparse.diags_array(equations.system.mass_scale**-0.5)
    mass = mass * (OPTIONS.added_inertia * abs(root @ tangent[:n, :n] @ root).max() / abs(root @ mass @ root).max())
    none = scipy.sparse.csc_array((tangent.shape[0] - n,) * 2)
    return scipy.sparse.csc_array(tangent + scipy.sparse.block_diag([mass, none]))


def furthest_of(equations, changes):
    """The largest of changes of coordinates, shape (n_q,), by the root of the mass: of the place of a body, or of what
    else it has, so that axes of space do not decide."""
    starts = np.concatenate([first + np.array([0, 3] if body.n_q > 3 and body.has_position else [0])
                             for body in equations.system.bodies
                             for first in [equations.system.coordinates(body).start]])
    return np.sqrt(np.add.reduceat((equations.root * changes)**2, starts).max())


def or_where_rounding(sizes, ways):
    """Sizes by a guess, or where that is rounding the ways that forces lead to."""
    return np.where(sizes > np.finfo(float).eps * ways, sizes, ways)


def worst_gap(equations, residual, tangent, x):
    """Which constraint is violated most, in words; none where all hold."""
    gaps = equations.gaps(residual, tangent, x)
    if not gaps.max(initial=0.0) > OPTIONS.apart:
        return ""
    worst = int(gaps.argmax())
    return f"where it starts '{equations.system.constraint_names[worst]}' is violated by " \
           f"{abs(residual[equations.n_q + worst]):.3g}: give a guess that holds it, or a joint that fits the guess " \
           "(orientation, axes, points)"


def most_free(equations, tangent, below=np.inf):
    """The body, or the beam that its nodes make, that moves most along what the tangent resists least; None where the
    resistance, against the largest, is not `below`."""
    matrix, scale = equations.symmetric_part(tangent)
    values, vectors = np.linalg.eigh(matrix)
    least = int(np.abs(values).argmin())
    if below < np.inf and not abs(values[least]) < below * np.abs(values).max():
        return None
    return moved_most(equations, (scale * vectors[:, least])[:equations.n_q])


def moved_most(equations, way):
    """The body, or the beam, that moves most along changes of the coordinates (n_q,), by the mass in any units."""
    body = body_of(equations.system, int(np.abs(way * np.sqrt(equations.system.mass_scale)).argmax()))
    return body.owner if len(getattr(body.owner, "pieces", ())) == 1 else body
