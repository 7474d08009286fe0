"""What solves ask of a system at one state, the start: sizes, violations, multipliers, weights of bodies."""

import numpy as np

from ...kernels.loops import compiled
from ...kernels.record import Record
from ..symbols import first_order_places
from .evaluate import evaluator, kept, sees_solved_velocities
from .measures import ALIKE_IN_STEPS, LEAST, OF_LARGEST, OPTIONS, TINY, blocks_of, largest_of, measure
from .of_parts import finite_terms, has_reaction_forces

NAMES = "gradient", "jacobian", "rate", "constraints"
FINITE, VIOLATION, REFERENCE, CONDITION, EMPHASIZED = range(5)  # of `facts`


class Scales(Record):
    """What states of a system are measured by, and memory for what is found; see `AtStart`."""

    state_scale: np.ndarray  # (n_z,)
    roots: np.ndarray  # (n_q,) roots of the masses
    blocks: np.ndarray  # (n_q,) as `blocks_of`
    kinds: np.ndarray
    unit: np.ndarray
    size: np.ndarray
    multipliers: np.ndarray
    emphasis: np.ndarray
    facts: np.ndarray
    matrix: np.ndarray  # scratch
    rows: np.ndarray
    scratch: np.ndarray


class AtStart:
    """A system at one state at a time, in memory that the next state overwrites.

    Parameters
    ----------
    system : System

    Attributes
    ----------
    gradient, jacobian, rate, theta : ndarray, shapes (n_z,), (2 m, n_z), (2 m,), (2 m,)
        As `System.derivatives`, and the constraints on both levels; the Jacobian as an array where the system is small,
        else as a SciPy CSR array.
    unit, size : ndarray, shape (2 m,)
        What brings the rows of the Jacobian to a largest entry of one in scaled states, rates by their momenta, and the
        size of the terms that make up each constraint by the state, as `measures.sizes_of_terms`; `whole_size` counts
        what is none of a state.
    multipliers : ndarray, shape (2 m,)
        As `System.consistent_multipliers`, where the system `solves` for them and `condition` is fine.
    """

    def __init__(self, system):
        self.system, self._last, m, n = None, None, system.n_multipliers, system.n_z
        self.small = is_small(system)
        blocks, kinds = kept(system, blocks_of)
        self.solves = (self.small and m <= OPTIONS.few_multipliers and not system.n_nonholonomic
                       and not has_reaction_forces(system) and not first_order_places(system))
        solved = m if self.solves else 0
        self._scales = scales = Scales(
            np.zeros(n), np.zeros(n // 2), blocks, kinds, np.zeros(m), np.zeros(m), np.zeros(m), np.ones(n // 2),
            np.zeros(5), np.zeros((solved, 3 * solved)), np.zeros((solved, n)), np.zeros(3 * m + len(kinds)))
        self.unit, self.size, self.multipliers = scales.unit, scales.size, scales.multipliers

    def at(self, system, t, z):
        """The same object, with the numbers of a system of the same structure at a time and a state."""
        if system is not self.system:
            self._scales.state_scale[:], self._scales.roots[:] = system.state_scale, system.state_scale[system.n_q:]
            self.system, self._last = system, None
        asked = t, z.tobytes()
        if asked != self._last:
            self._last = None
            self._evaluate(t, z)
            assess(z, self.gradient, *self._compressed, self.rate, self.theta, self._scales)
            self._last = asked
        return self

    def _evaluate(self, t, z):
        system = self.system
        if sees_solved_velocities(system):
            self.gradient, self._sparse, self.rate = system.derivatives(t, z)
            self.theta, jacobian = system.constraints(t, z), self._sparse
            self._compressed = jacobian.data, *(np.asarray(x, np.int64) for x in (jacobian.indices, jacobian.indptr))
            return
        gradient, self._matrix, rate, theta = evaluator(system, *NAMES)(system, np.full(1, t), z[None])
        self.gradient, self.rate, self.theta = gradient[0], rate[0], theta[0]
        self._compressed, self._sparse = (self._matrix.data[0], self._matrix.columns, self._matrix.starts), None

    @property
    def jacobian(self):
        if self.small:
            return self._matrix.dense()[0]
        return self._matrix.sparse() if self._sparse is None else self._sparse.copy()

    def fine(self, tolerance):
        """Whether all is finite, and constraints hold, relative to the size of the terms that make them up."""
        facts = self._scales.facts
        return bool(facts[FINITE] and (facts[VIOLATION] <= tolerance or np.all(self.off(tolerance) <= tolerance)))

    def off(self, tolerance):
        """By how much constraints are off, relative to the sizes of their terms, shape (2 m,): constants count among
        these where some are off by more than a tolerance without, as their sizes take formulas of their own."""
        off = np.abs(self.theta)
        scaled = off / self.size
        return scaled if np.all(scaled <= tolerance) else off / self.whole_size

    @property
    def whole_size(self):
        """Size of the terms that make up each constraint, shape (2 m,), constants and what turns with the state among
        them: all that there is of a body at the origin, or of an axis in a plane that it never leaves."""
        t, z = self._last
        return np.maximum(self.size, finite_terms(self.system, t, np.frombuffer(z), "constraint terms"))

    @property
    def reference(self):
        """Size of the scaled state; 1 of a zero state."""
        return self._scales.facts.item(REFERENCE)

    @property
    def condition(self):
        """Condition number of what the multipliers are solved from."""
        return self._scales.facts.item(CONDITION)

    @property
    def emphasis(self):
        """Factors by which changes of coordinates count, shape (n_q,); None where all count alike."""
        return self._scales.emphasis if self._scales.facts[EMPHASIZED] else None


def at_start(system, t, z):
    """`AtStart` of this thread at a time and a state (n_z,), valid until it is asked again."""
    return kept(system, AtStart).at(system, float(t), np.array(z, float))


def is_small(system):
    """Whether dense arrays are the faster ones; SciPy's sparse ones take 0.05 s to import, too."""
    return system.n_multipliers * system.n_z <= OPTIONS.dense and not sees_solved_velocities(system)


def constraints_at(system, t, z):
    """Constraints on both levels at one state, shape (2 m,), their Jacobian (2 m, n_z) and their partial time
    derivative; the Jacobian is sparse unless the system is small."""
    here = at_start(system, t, z)
    return here.theta.copy(), here.jacobian, here.rate.copy()


def constraint_sizes(system, t, z):
    """Size of the terms that make up each constraint, on both levels, at one state, shape (2 m,)."""
    return at_start(system, t, z).whole_size


def surely_fine(system, t, q, tolerance):
    """Whether all parts are finite at coordinates (n_q,) and rest, and these hold the constraints, relative to the size
    of their terms."""
    return at_start(system, t, np.append(q, np.zeros(len(q)))).fine(tolerance)


def positions_hold(system, t, q, tolerance):
    """Whether coordinates (n_q,) hold the constraints, relative to the size of the terms that make them up."""
    here, m = at_start(system, t, np.append(q, np.zeros(len(q)))), system.n_constraints
    return bool(np.all(np.abs(here.theta[:m]) <= tolerance * here.whole_size[:m]))


# ---- Compiled loops

_largest_of = compiled(interpreted=True, error_model="numpy", _nrt=False)(largest_of)
_measure = compiled(interpreted=True, error_model="numpy", _nrt=False)(measure)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def assess(z, gradient, data, columns, starts, rate, theta, scales):
    """What follows from the derivatives of a system at a state, with the Jacobian in compressed rows; see `AtStart`."""
    facts, state_scale, total, violation = scales.facts, scales.state_scale, 0.0, 0.0
    n, m = z.shape[0] // 2, rate.shape[0] // 2
    way, speed = _largest_of(z, gradient, state_scale)
    for i in range(z.shape[0]):
        total += abs(gradient[i])
    for r in range(rate.shape[0]):
        total += abs(rate[r])
        largest, beside, size = 0.0, 0.0, TINY
        for k in range(starts[r], starts[r + 1]):
            entry, i = abs(data[k]), columns[k]
            total += entry
            least = OF_LARGEST * (way if i < n else speed) * state_scale[i]
            size += entry * (abs(z[i]) + least)
            if r < m or i >= n:
                largest = max(largest, entry * state_scale[i])
            else:  # by how much rates change with coordinates has another unit of time
                beside = max(beside, entry * state_scale[i])
        largest = largest if largest > 0.0 else beside
        scales.unit[r] = 1.0 / largest if largest > 0.0 else 1.0
        scales.size[r] = size
        relative = abs(theta[r]) / scales.size[r]
        if not relative <= violation:
            violation = relative
    reference = 0.0
    for i in range(z.shape[0]):
        reference = max(reference, abs(z[i] / state_scale[i]))
    facts[FINITE], facts[VIOLATION] = 1.0 if np.isfinite(total) else 0.0, violation
    facts[REFERENCE] = reference if reference != 0.0 else 1.0
    facts[EMPHASIZED] = _emphasize(z, scales)
    facts[CONDITION] = _multipliers(gradient, data, columns, starts, rate, scales) if scales.matrix.shape[0] else 0.0


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _emphasize(z, scales):
    """Factors by which changes of coordinates count, from the sizes of motions, weighted by the masses; whether bodies
    count apart.

    What has hardly a motion is taken to move with the part `LEAST` of the largest of its kind, unweighted.
    """
    roots, scratch, n = scales.roots, scales.scratch, scales.roots.shape[0]
    largest_0, largest_1, n_blocks = 0.0, 0.0, scales.kinds.shape[0]
    for b in range(n_blocks):
        scratch[b] = 0.0
    for i in range(n):
        size = max(abs(z[i] / scales.state_scale[i]), abs(z[n + i] / scales.state_scale[n + i]))
        if scales.kinds[scales.blocks[i]]:
            largest_1 = max(largest_1, size / roots[i])
        else:
            largest_0 = max(largest_0, size / roots[i])
    common = 0.0
    for i in range(n):
        b = scales.blocks[i]
        size = max(abs(z[i] / scales.state_scale[i]), abs(z[n + i] / scales.state_scale[n + i]))
        size = max(size, LEAST * roots[i] * (largest_1 if scales.kinds[b] else largest_0))
        scratch[b] = max(scratch[b], size)
        common = max(common, size)
    most = 1.0
    for i in range(n):
        own = scratch[scales.blocks[i]]
        scales.emphasis[i] = common / _measure(own, common, ALIKE_IN_STEPS) if own != 0.0 else 1.0
        most = max(most, scales.emphasis[i])
    return 1.0 if most > 1.0 else 0.0


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _multipliers(gradient, data, columns, starts, rate, scales):
    """Consistent multipliers by the inverse of the scaled `grad Theta J grad Theta^T`, and its condition number.

    Gauss and Jordan's elimination with the largest pivot of a column, and one correction.
    """
    a, jacobian, m, n = scales.matrix, scales.rows, rate.shape[0], scales.roots.shape[0]
    scratch, values, norm = scales.scratch, scales.multipliers, 0.0  # scale, right side, rest of it
    for r in range(m):
        for i in range(2 * n):
            jacobian[r, i] = 0.0
        for k in range(starts[r], starts[r + 1]):
            jacobian[r, columns[k]] = data[k]
        square, right = 0.0, rate[r]
        for i in range(n):
            square += jacobian[r, i] ** 2 + jacobian[r, n + i] ** 2
            right += jacobian[r, i] * gradient[n + i] - jacobian[r, n + i] * gradient[i]
        scratch[r] = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        scratch[m + r] = scratch[2 * m + r] = scratch[r] * right
    for r in range(m):
        for s in range(m):
            entry = 0.0
            for i in range(n):
                entry += jacobian[r, i] * jacobian[s, n + i] - jacobian[r, n + i] * jacobian[s, i]
            a[r, s] = a[r, 2 * m + s] = entry * scratch[r] * scratch[s]
            a[r, m + s] = 1.0 if r == s else 0.0
    for s in range(m):
        column = 0.0
        for r in range(m):
            column += abs(a[r, s])
        norm = max(norm, column)
    for c in range(m):
        pivot = c
        for r in range(c + 1, m):
            if abs(a[r, c]) > abs(a[pivot, c]):
                pivot = r
        if not abs(a[pivot, c]) > 0.0:
            return np.inf
        if pivot != c:
            for s in range(2 * m):
                a[c, s], a[pivot, s] = a[pivot, s], a[c, s]
        by = 1.0 / a[c, c]
        for s in range(2 * m):
            a[c, s] *= by
        for r in range(m):
            factor = a[r, c]
            if r != c and factor != 0.0:
                for s in range(2 * m):
                    a[r, s] -= factor * a[c, s]
    inverse = 0.0
    for s in range(m):
        column, values[s] = 0.0, 0.0
        for r in range(m):
            column += abs(a[r, m + s])
        inverse = max(inverse, column)
    for _ in range(2):
        for r in range(m):
            for s in range(m):
                values[r] -= a[r, m + s] * scratch[2 * m + s]
        for r in range(m):  # what is left of the equations
            scratch[2 * m + r] = scratch[m + r]
            for s in range(m):
                scratch[2 * m + r] += a[r, 2 * m + s] * values[s]
    for r in range(m):
        values[r] *= scratch[r]
    return norm * inverse
