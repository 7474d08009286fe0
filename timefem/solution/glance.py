"""A glance at a motion: usually nothing is wrong with it, and that is seen in microseconds.

Each test is stricter than the one of `audit` that it stands for: what passes here passes there.
"""

from typing import NamedTuple

import casadi as ca
import numpy as np

from ..mechanics.one_state import is_small, kept
from .glance_loop import gather, held, polynomials_held, smooth

PIECE = 256  # nodes whose constraints are evaluated at once
SEVERAL, LONG = 16, 1000  # of them in one formula, and instructions of a long one
MOST_SIZES = 20  # numbers of nodes for which memory is kept


class Limits(NamedTuple):
    """What motions of a system are held against.

    Attributes
    ----------
    floor : ndarray, shape (n_z,)
    factor : float
    difference : ndarray, shape (n_shapes,) or (0,)
    turn : float
        Largest rotation in an element [rad].
    """

    floor: np.ndarray
    factor: float
    difference: np.ndarray
    turn: float


def resolved(system, t, motion, limits):
    """Whether a mesh surely resolves a motion; False where that takes a closer look.

    Parameters
    ----------
    system : System
    t : ndarray, shape (n + 1,)
    motion : (ndarray, ndarray)
        As `NodalValues.chain`.
    limits : Limits
    """
    turning, rates, counts = _turning(system)
    return not counts and smooth(t, *motion, limits.difference, limits.floor, limits.factor, turning, rates,
                                 limits.turn, np.empty(system.n_z))


def constraints_held(system, t, x, step, sizes, most):
    """Whether constraints of configuration surely are at most so many times their sizes (m,), or (2 m,) of both levels.

    At times (n,) and states of which that of time k starts at `x[k * step]`.
    """
    return not system.n_constraints or (is_small(system) and
                                        kept(system, Along).held(t, x, step, sizes, most, system.groups))


def _turning(system):
    """First and last places of rotations, the square of the momentum at which each turns by one rad per second, and
    whether turns are counted."""
    known = system.__dict__.get("_turning")
    if known is None:
        bodies = [body for body in system.bodies if hasattr(body, "angular_velocity")]
        places = [(system.coordinates(b).start + 3, system.coordinates(b).stop) for b in bodies]
        known = system._turning = (np.array(places, np.int64).reshape(-1, 2),
                                   np.array([1 / b.rate_per_momentum**2 for b in bodies]),
                                   any(b.helper and b.counts_turns for b in system.bodies))
    return known


class Along:
    """Constraints of configuration of systems of one structure at many states."""

    def __init__(self, system):
        self._by_size, self._polynomials, self._others = {}, [], []
        for number, (functions, group) in enumerate(zip(system._functions, system.groups, strict=True)):
            if group.multiplier_index.size:
                polynomials = _polynomials(functions)
                if polynomials is None:
                    self._others.append((number, functions, group))
                else:
                    self._polynomials.append((*polynomials, *_places(group)))

    def held(self, t, x, step, sizes, most, groups):
        """As `constraints_held`, of a system with these groups."""
        for polynomials in self._polynomials:
            if not polynomials_held(*polynomials, x, step, len(t), sizes, most):
                return False
        for first in range(0, len(t) if self._others else 0, PIECE):
            last = min(first + PIECE, len(t))
            for number, memory in self._by_size.get(last - first) or self._memory(last - first):
                gather(memory.index, x, step, first, last, memory.states)
                memory.evaluate(t[first:last], groups[number])
                if not held(memory.values, memory.rows, sizes, most):
                    return False
        return True

    def _memory(self, n):
        if len(self._by_size) == MOST_SIZES:
            self._by_size.clear()
        self._by_size[n] = [(number, _Memory(functions, group, n)) for number, functions, group in self._others]
        return self._by_size[n]


def _places(group):
    """Of parts in the state, and of their constraints of configuration among all."""
    half = group.multiplier_index.shape[1] // 2
    indices = group.state_index, group.multiplier_index[:, :half]
    return tuple(np.ascontiguousarray(index, np.int64) for index in indices)


def _polynomials(functions):
    """Constants, ends, factors on the left and right, and their factors, as `polynomials_held` takes them, of
    constraints of second degree without a number, such as unit lengths; None of others."""
    if "polynomials" not in functions:
        functions["polynomials"] = _found_polynomials(functions["positions"])
    return functions["polynomials"]


def _found_polynomials(function):
    state, *others = (ca.SX.sym("x", function.size1_in(i)) for i in range(function.n_in()))
    theta = ca.SX(function(state, *others))
    rows = ca.vertsplit(theta)
    if function.n_instructions() > LONG or ca.depends_on(theta, ca.vertcat(*others)) or not all(
            ca.is_quadratic(row, state) for row in rows):
        return None
    constants, terms, ends = [], [], [0]
    for row in rows:
        quadratic, linear, constant = (ca.sparsify(ca.DM(part)) for part in ca.quadratic_coeff(row, state))
        constants.append(float(constant))
        terms += [(i, -1, float(linear[i])) for i in linear.sparsity().row()]
        terms += [(i, j, float(quadratic[i, j]) / 2) for i, j in zip(*quadratic.sparsity().get_triplet(), strict=True)]
        ends.append(len(terms))
    left, right, factors = np.array(terms).reshape(-1, 3).T
    return np.array(constants), np.array(ends), left.astype(int), right.astype(int), factors.copy()


class _Memory:
    """Arguments and results of the constraints of one kind of part at a number of states."""

    def __init__(self, functions, group, n):
        function, (n_parts, width) = functions["positions"], group.state_index.shape
        if "several positions" not in functions:
            functions["several positions"] = _several(function)
        several, size = functions["several positions"]
        n_calls = -(-n * n_parts // size)
        function, n_points = several.map(n_calls), n_calls * size
        self.index, self.rows = _places(group)
        states, times, numbers, values = (np.zeros(n_points * size) for size in (
            width, 1, group.parameters.shape[1], self.rows.shape[1]))
        self.states, self.values = states, values[:n * group.multiplier_index.size // 2]
        self.times = times[:n * n_parts].reshape(n, n_parts)
        self.numbers = numbers[:n * group.parameters.size].reshape(n, *group.parameters.shape)
        self._buffer, self._run = function.buffer()
        self._group, self._function = None, function
        self._in_time = functions["positions"].jac_sparsity(0, 1).nnz() > 0
        for i, memory in enumerate((states, times, numbers)):
            if memory.size:
                self._buffer.set_arg(i, memoryview(memory))
        self._buffer.set_res(0, memoryview(values))

    def evaluate(self, t, group):
        if self._in_time:
            self.times[:] = t[:, None]
        if group is not self._group:
            self.numbers[:], self._group = group.parameters, group
        self._run()


def _several(function):
    """A function at several points in one, and at how many: calls of CasADi's virtual machine cost more than short
    formulas."""
    n = max(1, min(SEVERAL, LONG // function.n_instructions()))
    arguments = [ca.SX.sym("x", function.size1_in(i), n) for i in range(function.n_in())]
    values = [function(*(argument[:, k] for argument in arguments)) for k in range(n)]
    return ca.Function("several", arguments, [ca.horzcat(*values)]), n
