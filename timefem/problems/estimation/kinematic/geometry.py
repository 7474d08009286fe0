"""What holds a system together at one time, and how far it moves from one time to the next.

Bodies in space go along the axes of space and turn about their own: `[x_b - x_a; log(R_a^T R_b)]`, with rates
`[v; Omega]`, whatever coordinates turn them; all others by the differences of their coordinates. A motion with constant
rates has just these increments times its duration.
"""

from math import comb

import casadi as ca
import numpy as np

from ....errors import InputError
from ....kernels.compile import cached_kernel, default_backend
from ....mechanics.bodies.rigid import RigidBodyBase
from ....mechanics.inversion.direct import constraints_of, place, quaternions
from ....mechanics.values.evaluate import evaluate
from ..options import DEFAULT
from .frame_loops import null_spaces, spread


class Geometry:
    """Constraints and increments of a system.

    Parameters
    ----------
    system : System
    order : {2, 3}
        Rate of the coordinates that noise is: of velocities, or of accelerations, which are part of the state then.
    parts : PartNumbers, optional
        Unknown numbers that constraints may depend on.

    Attributes
    ----------
    n, levels, n_rows : int
        Coordinates; how many of them, their rates and second rates are the state; constraints.
    touched, apart : ndarray of int
        Coordinates that constraints see or that turn, and all others.
    plain : ndarray of int
        Those of the touched ones whose increments are differences.
    turns : list of (Body or None, ndarray of int)
        What turns, and the places of its coordinates among the touched ones.
    n_increments : int
        Of the touched coordinates: the plain ones, then three of each turn.
    held : Batched or None
        `(q, v, a, t, c)` -> constraints on each level, each followed by its derivatives by coordinates and rates; these
        are by touched ones. Then derivatives of all levels by unknown numbers c of parts.
    means : ndarray, shape (n_numbers,)
        Of the priors of these.
    turning : Batched or None
        Coordinates of two times -> increments of turns, and their derivatives by both.
    spins : Batched or None
        State -> rates of turns on each level, each followed by its derivatives by coordinates and rates.
    """

    def __init__(self, system, order, parts=None):
        if system.n_nonholonomic:
            raise InputError("dynamics='none' does not take nonholonomic constraints, "
                             f"'{system.nonholonomic_names[0]}': its noise leaves rates as free as coordinates; state "
                             "it as a FormulaSensor of a rate that is measured to be zero at all frames, or estimate "
                             "with dynamics")
        self.system, self.n, self.levels = system, system.n_q, order
        symbols = [ca.SX.sym(name, self.n) for name in "qva"[:order]]
        t = ca.SX.sym("t")
        self.lengths = quaternions(system)
        lengths = [(ca.sumsqr(symbols[0][places.tolist()]) - 1) / 2 for places in self.lengths]
        self.counters = [body for body in system.bodies if body.is_counter]
        self.means = np.zeros(0) if parts is None else parts.mean
        c = ca.SX.sym("c", len(self.means))
        numbers = None if parts is None else parts.numbers.at(ca.vertsplit(c))
        rows = ca.vertcat(constraints_of(system, symbols[0], t, numbers), *lengths, *self._counted(symbols[0]))
        self.n_rows = rows.numel()
        self._collect_turns(np.array(ca.jacobian(rows, symbols[0]).sparsity().get_triplet()[1], int))
        self.held = Batched([*symbols, t, c], _levels(rows, symbols, t, self.touched, c)) if self.n_rows else None
        self.turning = self.spins = None
        if self.turns:
            self._state_turns()

    def _counted(self, q):
        """Counters of turns less the angles that they follow."""
        for body in self.counters:
            bound, (own,) = body.bound, place(self.system, body)
            others = [q[place(self.system, self.system.here(other))] for other in bound.bodies]
            yield bound.deviation(others, ca.SX(bound.coordinate.numbers), q[own])

    def _collect_turns(self, held):
        bodies = [(body, np.arange(self.n)[self.system.coordinates(body)]) for body in self.system.bodies]
        turns = [(body, place[3:]) for body, place in bodies if isinstance(body, RigidBodyBase)]
        turns += [(None, places) for places in self.lengths]
        turning = np.concatenate([np.zeros(0, int), *(places for _, places in turns)])
        self.touched = np.union1d(held, turning)
        self.apart = np.setdiff1d(np.arange(self.n), self.touched)
        self.plain = np.searchsorted(self.touched, np.setdiff1d(self.touched, turning))
        self.turns = [(body, np.searchsorted(self.touched, places)) for body, places in turns]
        self.n_increments = len(self.plain) + 3 * len(turns)

    def _state_turns(self):
        ends = [[ca.SX.sym(name + end, self.n) for name in "qva"[:self.levels]] for end in "ab"]
        touched = self.touched.tolist()
        both = [[self._turn(body, self.touched[places], symbols) for body, places in self.turns] for symbols in ends]
        increments = ca.vertcat(*(_logarithm(a[0], b[0]) for a, b in zip(*both, strict=True)))
        slopes = [ca.jacobian(increments, end[0])[:, touched] for end in ends]
        self.turning = Batched([ends[0][0], ends[1][0]], [increments, *slopes])
        found = []
        for level in range(1, self.levels):
            rates = ca.vertcat(*(rates[level - 1] for _, rates in both[0]))
            found += [rates, *(ca.jacobian(rates, x)[:, touched] for x in ends[0][:level + 1])]
        self.spins = Batched(ends[0], found)

    def densities(self, of_coordinates, of_turns):
        """Spectral densities of the increments of touched coordinates, and of the coordinates apart.

        Shapes (n_q,), (n_turns, 3) -> (n_increments,), (n_apart,).
        """
        plain = of_coordinates[self.touched[self.plain]]
        return np.concatenate([plain, np.ravel(of_turns)]), of_coordinates[self.apart]

    @property
    def followers(self):
        """Coordinates of counters, which have no noise of their own."""
        return [i for body in self.counters for i in place(self.system, body)]

    def spread(self, root):
        """Q^-1/2 of increments as weights of touched coordinates: those of turns are about alike there."""
        out = np.empty(len(self.touched))
        out[self.plain] = root[:len(self.plain)]
        for i, (_, places) in enumerate(self.turns):
            own = root[len(self.plain) + 3 * i:][:3]
            out[places] = np.exp(np.log(own).mean()) * (2.0 if len(places) == 4 else 0.5**0.5)
        return out

    def _turn(self, body, places, symbols):
        """Rotation, and rates of it in its own axes, of the turn of a body or of a quaternion."""
        if body is None or body.rotation == "quaternion":
            x = symbols[0][places.tolist()]
            return x, [_spin(x, s[places.tolist()]) for s in symbols[1:]]
        x = [s[np.arange(self.n)[self.system.coordinates(body)].tolist()] for s in symbols]
        own = [ca.SX.sym("x", body.n_q) for _ in symbols]
        rotation = body.frame(own[0])[1]
        rates = [rotation.T @ (body.angular_velocity_map(own[0]) @ own[1])]
        if self.levels > 2:
            rates.append(ca.jtimes(rates[0], own[0], own[1]) + ca.jtimes(rates[0], own[1], own[2]))
        rotation, *rates = ca.Function("turn", own, [rotation, *rates])(*x)
        return rotation, rates

    def angles(self):
        """Coordinates of joints that are the same position after a whole turn, and counters of these."""
        found = self.followers
        for tree in self.system.bodies:
            for body in getattr(tree, "moving", ()):
                if body.joint.mimic is None:
                    places = np.arange(self.n)[self.system.coordinates(tree)][list(body.places)]
                    found += [places[i] for i, (_, unit) in enumerate(body.motion.told) if unit == "rad"]
        return found


def _levels(rows, symbols, t, touched, c):
    """Constraints, their rates, and second rates, each followed by its derivatives by the coordinates and rates; then
    derivatives of all of them by numbers c."""
    columns = touched.tolist()
    found, by_numbers, value = [], [], rows
    for level in range(len(symbols)):
        found += [ca.densify(value), *(ca.jacobian(value, s)[:, columns] for s in symbols[:level + 1])]
        by_numbers.append(ca.jacobian(value, c))
        if level + 1 < len(symbols):
            value = sum((ca.jtimes(value, symbols[k], symbols[k + 1]) for k in range(level + 1)),
                        ca.jacobian(value, t))
    return found + by_numbers


def _spin(x, v):
    """Angular velocity in own axes of a quaternion and its rate."""
    return 2 * (x[0] * v[1:] - v[0] * x[1:] - ca.cross(x[1:], v[1:]))


def _logarithm(a, b):
    """Rotation vector from one rotation to another, both quaternions or matrices, in the axes of the first."""
    if a.numel() == 4:
        cosine, sine = ca.dot(a, b), _spin(a, b) / 2
        return 2 * ca.if_else(cosine < 0, -1, 1) * _over_sine(sine, ca.fabs(cosine)) * sine
    relative = a.T @ b
    sine = ca.vertcat(relative[2, 1] - relative[1, 2], relative[0, 2] - relative[2, 0],
                      relative[1, 0] - relative[0, 1]) / 2
    return _over_sine(sine, (ca.trace(relative) - 1) / 2) * sine


def _over_sine(sine, cosine):
    """Angle over its sine, of a sine as a vector."""
    square = ca.sumsqr(sine)
    small = ca.logic_and(square < 1e-2, cosine > 0)  # there the series of asin(x) / x is exact to rounding
    length = ca.sqrt(ca.if_else(small, 1, square))
    series = 0
    for n in range(7, -1, -1):
        series = comb(2 * n, n) / 4**n / (2 * n + 1) + square * series
    return ca.if_else(small, series, ca.atan2(length, cosine) / length)


class Batched:
    """Formulas of one vector of numbers for each frame.

    Parameters
    ----------
    inputs : list of SX
    outputs : list of SX
        Columns and matrices, of which only what is not zero is evaluated.
    """

    def __init__(self, inputs, outputs):
        outputs = [ca.SX(x) for x in outputs]
        places = [np.ravel_multi_index(np.array(x.sparsity().get_triplet(), int).reshape(2, -1), x.shape)
                  if x.numel() else np.zeros(0, int) for x in outputs]
        ends = np.cumsum([0, *map(len, places)])
        self._places = [np.concatenate([np.full(start, -1), own, np.full(ends[-1] - start - len(own), -1)])
                        for start, own in zip(ends, places, strict=False)]  # of values in an output, -1 in others
        self._shapes = [x.shape for x in outputs]
        self._n_values = ends[-1]
        values = ca.vertcat(*(ca.vec(ca.SX(x.nz[:])) for x in outputs))
        x = ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.SX(i)) for i in inputs))
        self.n_in = x.numel()
        self._packed = ca.Function("values", [x], [ca.densify(values)])
        self._plain = ca.Function("values", [x, ca.SX.sym("t", 0), ca.SX.sym("c", 0)], [ca.densify(values)])
        self._kernel, self._work = None, 0

    def __call__(self, *inputs):
        """Values of frames, inputs of shape (n, ...) -> list of arrays (n, rows, columns)."""
        x = np.concatenate([np.reshape(i, (len(inputs[0]), -1)) for i in inputs], axis=1)
        out = [np.zeros((len(x), *shape)) for shape in self._shapes]
        if self._n_values:
            values = self._values(np.ascontiguousarray(x))
            for place, one in zip(self._places, out, strict=True):
                spread(values, place, one.reshape(len(x), -1))
        return out

    def _values(self, x):
        self._work += len(x) * self._packed.n_instructions()
        short = self._packed.n_instructions() < DEFAULT.longest
        if self._kernel is None and short and default_backend() == "llvm" and self._work > DEFAULT.pays:
            self._kernel = cached_kernel(("frames", self._packed.serialize()), lambda: self._packed)
        if self._kernel is not None:
            return self._kernel.packed(x, lanes=len(x) > 1)
        return evaluate(self._plain, x[:, None], np.zeros((len(x), 0)), np.zeros((1, 0))).reshape(len(x), -1, 1)


class Tangents:
    """At some frames, of the touched coordinates of a geometry.

    Parameters
    ----------
    geometry : Geometry
    root : ndarray, shape (n_increments,)
        Q^-1/2.
    x : ndarray, shape (n, levels, n_q)
        States of the frames.
    t : ndarray, shape (n,)
    n_free : int, optional
        Directions that are open; found unless given.
    positions : bool
        Whether N, U and the gap alone are wanted.
    c : ndarray, shape (n_numbers,), optional
        Unknown numbers of parts; the means of their priors unless given.

    Attributes
    ----------
    basis, vectors : ndarray, shapes (n, n_touched, n_free), (n, n_increments, n_free)
        N and U.
    whole : ndarray, shape (n, levels, levels, n_touched, n_free)
        Derivative of the state, level by level, by the open motions of each level.
    shift : ndarray, shape (n, levels, n_touched)
        Motion that closes constraints to first order.
    numbers : ndarray, shape (n, levels, n_touched, n_numbers)
        The same by unknown numbers of parts.
    gap : ndarray, shape (n, n_touched)
        The shift of positions.
    rates : ndarray, shape (n, levels - 1, n_free)
        `U^T Q^-1/2 rho` of each level.
    """

    def __init__(self, geometry, root, x, t, n_free=None, positions=False, c=None):
        self.geometry, self.root, self.n = geometry, root, len(geometry.touched)
        self.c = geometry.means if c is None else c
        held = geometry.held
        values = held(*x.swapaxes(0, 1), t, np.broadcast_to(self.c, (len(x), len(self.c)))) if geometry.n_rows else None
        jacobian = values[1] if geometry.n_rows else np.zeros((len(x), 0, self.n))
        self._null_space(jacobian, geometry.spread(root), n_free)
        self._turns = geometry.spins(*x.swapaxes(0, 1)) if geometry.turns else None
        self.vectors = self._increments(self.basis)
        if geometry.turns:
            self._make_orthonormal()
        if not positions:
            self._levels(values, x[:, :, geometry.touched])
        else:
            self.gap = np.zeros((len(x), self.n)) if values is None else -self._inverse(values[0])[..., 0]

    def _null_space(self, jacobian, scale, n_free):
        """Sets the basis, and the pseudo-inverse of the Jacobian as a function of right-hand sides (n, rows, m)."""
        own = jacobian / scale
        size = np.linalg.norm(own, axis=2)
        size = np.where(size > 0, size, 1.0)
        own = own / size[:, :, None]
        rank, null, inner = _by_reflections(own.copy()) if n_free in (None, self.n - own.shape[1]) else (None,) * 3
        if rank is None:
            rank, null, inner = _by_singular_values(own, None if n_free is None else self.n - n_free)
        self.n_free, self.basis = self.n - rank, null / scale[:, None]
        self._inverse = lambda b: (inner @ (b / size[:, :, None])) / scale[:, None]

    def _increments(self, motions, level=0):
        """`Q^-1/2` times the change of increments or rates by motions of coordinates, shape (n, n_increments, m)."""
        plain = self.geometry.plain
        out = np.empty((len(motions), self.geometry.n_increments, motions.shape[2]))
        out[:, :len(plain)] = motions[:, plain]
        if self._turns is not None:
            out[:, len(plain):] = self._turns[2] @ motions
        return out * self.root[:, None]

    def _make_orthonormal(self):
        """Once more, where noise about axes of bodies differs."""
        gram = self.vectors.swapaxes(1, 2) @ self.vectors
        if np.abs(gram - np.eye(self.n_free)).max(initial=0.0) > 1e-9:
            change = np.linalg.inv(np.linalg.cholesky(gram)).swapaxes(1, 2)
            self.basis, self.vectors = self.basis @ change, self.vectors @ change

    def _levels(self, values, x):
        geometry, n = self.geometry, len(self.basis)
        p = geometry.levels
        self.whole = np.zeros((n, p, p, self.n, self.n_free))
        k_c = len(self.c)
        self.shift, self.numbers, at = np.zeros((n, p, self.n)), np.zeros((n, p, self.n, k_c)), 0
        rates, plain = np.zeros((n, p - 1, geometry.n_increments)), geometry.plain
        for level in range(p):
            if values is not None:
                rest, slopes = values[at], values[at + 1:at + 2 + level]
                at += 2 + level
                moved = [np.zeros((n, geometry.n_rows, self.n_free)) for _ in range(level)]
                by_numbers = values[len(values) - p + level]
                for k in range(level):
                    rest = rest + slopes[k] @ self.shift[:, k, :, None]
                    by_numbers = by_numbers + slopes[k] @ self.numbers[:, k]
                    for j in range(k + 1):
                        moved[j] = moved[j] + slopes[k] @ self.whole[:, k, j]
                found = self._inverse(np.concatenate([rest, *moved, by_numbers], axis=2))
                self.shift[:, level] = -found[:, :, 0]
                self.numbers[:, level] = -found[:, :, found.shape[2] - k_c:]
                for j in range(level):
                    first = 1 + j * self.n_free
                    self.whole[:, level, j] = -found[:, :, first:first + self.n_free]
            self.whole[:, level, level] = self.basis
            if level:
                rates[:, level - 1, :len(plain)] = x[:, level, plain]
                if self._turns is not None:
                    self._keep_rates(level, rates)
        self.rates = (rates * self.root) @ self.vectors

    def _keep_rates(self, level, rates):
        """Let rates of a level change by its own motion alone: takes out what others do along the tangents.

        Of differences of coordinates nothing is to be taken out: the pseudo-inverse is that in the metric of noise.
        """
        others = [np.concatenate([self.shift[:, j, :, None], *(self.whole[:, j, k] for k in range(level)),
                                  self.numbers[:, j]], axis=2) for j in range(level + 1)]
        changes, first, k = self._increments(others[level]), 3 * (level > 1), len(self.geometry.plain)
        rates[:, level - 1, k:] = self._turns[first][..., 0]
        for j in range(level):
            changes[:, k:] += self.root[k:, None] * (self._turns[first + 1 + j] @ others[j])
        out = self.basis @ (self.vectors.swapaxes(1, 2) @ changes)
        self.shift[:, level] -= out[:, :, 0]
        for k in range(level):
            self.whole[:, level, k] -= out[:, :, 1 + k * self.n_free:1 + (k + 1) * self.n_free]
        self.numbers[:, level] -= out[:, :, 1 + level * self.n_free:]

    def moved(self, x, steps, change):
        """States of touched coordinates of the first m frames after open motions, and changes of numbers of parts.

        Shapes (m, levels, n_touched), (m, levels, n_free), (n_numbers,).
        """
        m = len(x)
        out = x + self.shift[:m] + self.numbers[:m] @ change
        for level in range(x.shape[1]):
            for k in range(level + 1):
                out[:, level] += (self.whole[:m, level, k] @ steps[:, k, :, None])[..., 0]
        return out


def _by_reflections(rows):
    """Rank, null space and pseudo-inverse of rows of unit length that do not depend on each other; else None of each.
    """
    m, n_rows, n = rows.shape
    if n_rows > n:
        return None, None, None
    q, inverse, pivots = np.empty((m, n, n)), np.empty((m, n, n_rows)), np.zeros((m, n_rows))
    null_spaces(rows, q, inverse, pivots, np.empty(n))
    if n_rows and not np.all(pivots.min(axis=1) > DEFAULT.close * pivots.max(axis=1)):
        return None, None, None
    return n_rows, q[:, :, n_rows:], inverse


def _by_singular_values(rows, rank):
    """The same of any rows, of the rank that most of the frames have unless it is given."""
    u, s, v = np.linalg.svd(rows)
    if rank is None:
        rank = int(np.median((s > DEFAULT.dependent * s[:, :1]).sum(axis=1)))
    u, kept, own = u[:, :, :rank], s[:, :rank, None], v[:, :rank].swapaxes(1, 2)
    kept = np.where(kept <= DEFAULT.dependent * s[:, :1, None], np.inf, kept)  # at singular positions
    return rank, v[:, rank:].swapaxes(1, 2), own @ (u.swapaxes(1, 2) / kept)
