"""The nonlinear program on a chain in time: what a method for inequalities sees, and how it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ... import sparse
from ...errors import InputError
from ...parallel import OverRanks, swap
from ...status import Reason, Status
from ...validate.options import METHODS
from .options import OPTIONS

CARRIER, MOTION, CONDITION, LIMIT = range(4)  # roles of rows


class Row(NamedTuple):
    """What a row asks for, and where: a name, the element and the time [s]."""

    name: str
    element: int
    time: float


class NonlinearProgram(ABC):
    """Minimise `f(v)` over `lower <= v <= upper`, subject to `row_lower <= r(v) <= row_upper`.

    Variables and rows come in blocks, in time order: an entry of the Jacobian of r, or of the Hessian of the Lagrangian
    `factor f + y . r`, joins a block with itself or with a neighbour. The program is written in scaled variables, for
    which sizes and changes of order one are natural. Derivatives are given as entries at places that do not change.

    Attributes
    ----------
    n, n_rows : int
    bounds : (ndarray, ndarray), shape (n,) each
        Of the variables, infinite where there are none.
    row_bounds : (ndarray, ndarray), shape (n_rows,) each
        Equal where the row is an equation.
    variable_blocks, row_blocks : ndarray of int, shapes (n,), (n_rows,)
        From 0 on.
    jacobian_places : (ndarray of int, ndarray of int), shape (n_entries,) each
        Row and column of each entry of the Jacobian; no place comes twice.
    hessian_places : (ndarray of int, ndarray of int)
        The same of the upper triangle of the Hessian of the Lagrangian.
    start : ndarray, shape (n,)
    start_multipliers : ndarray, shape (n_rows,), or None
        Where the start is close to a solution: multipliers there, zero where they are not known.
    loose : sequence of int
        Variables whose curvature may come from later blocks alone, such as a state at the start that is free.
    comm : mpi4py communicator or None
        Of the ranks that share the program, see `SlabProgram`.
    joined : ndarray of int or None
        For each block the one of the factors that it is part of, rising from 0, where those are the neighbours that
        entries join; None where these are the blocks themselves.
    first_block : int
        Number of its block 0 in the whole program.
    roles : ndarray of int, shape (n_rows,)
        What each row is to who reads a report: `LIMIT` or `CONDITION`, which somebody asked for and may loosen,
        `MOTION` for equations of the motion, or `CARRIER` for those that only pass a number on, which are not named.
    """

    start_multipliers, loose, comm, joined, first_block = None, (), None, None, 0
    kept_matrix = None  # of the last solve by the interior-point method: its pattern and memory serve the next one

    @abstractmethod
    def objective(self, v: np.ndarray) -> float:
        """f at v; over ranks the part of this rank, whose sum it is."""

    @abstractmethod
    def rows(self, v: np.ndarray) -> np.ndarray:
        """r at v, shape (n_rows,)."""

    @abstractmethod
    def gradient(self, v: np.ndarray) -> np.ndarray:
        """Gradient of f, shape (n,)."""

    @abstractmethod
    def jacobian(self, v: np.ndarray) -> np.ndarray:
        """Entries of the Jacobian of r at `jacobian_places`."""

    @abstractmethod
    def hessian(self, v: np.ndarray, factor: float, multipliers: np.ndarray) -> np.ndarray:
        """Entries of the Hessian of `factor f + multipliers . r` at `hessian_places`."""

    def gradient_of_lagrangian(self, v: np.ndarray, factor: float, multipliers: np.ndarray) -> np.ndarray:
        """Gradient of `factor f + multipliers . r`, shape (n,)."""
        rows, columns = self.jacobian_places
        out = np.zeros(len(self.variable_blocks))
        sparse.add_product(columns, rows, self.jacobian(v), self.rows_with_neighbours(multipliers), 1.0, out)
        return out[:self.n] + factor * self.gradient(v) if factor else out[:self.n]

    def divisors(self, v: np.ndarray) -> list[np.ndarray]:
        """What formulas divide by or take roots of, at all points where they do, (n_points,) each: no step leads across
        zero."""
        return []

    def beyond_poles(self, v: np.ndarray) -> str:
        """Which of them changes its sign at v, and when, in words; empty if none does, or nothing is known of them."""
        return ""

    def reserve(self, n: int) -> None:
        """Asked for room for n numbers behind entries of the Hessian and of the Jacobian, all in one array."""
        return

    @property
    def roles(self) -> np.ndarray:
        lower, upper = self.row_bounds
        return np.where(lower < upper, LIMIT, CONDITION)

    @abstractmethod
    def describe(self, i: int) -> Row:
        """The `Row` number i, for reports."""

    def describe_variable(self, i: int) -> Row:
        """The bounds of variable i as a `Row`, for reports."""
        return Row(f"the bound of variable {i}", int(self.variable_blocks[i]), 0.0)

    def describe_objective(self) -> Row:
        """Where the objective, asked for last, is not finite, as a `Row`."""
        return Row("the objective", 0, 0.0)

    def expect(self, v: np.ndarray, factor: float, multipliers: np.ndarray) -> None:
        """Told that values at v are wanted next, and perhaps derivatives with this factor and these multipliers."""
        return

    def with_neighbours(self, v: np.ndarray) -> np.ndarray:
        """Variables, or changes of them, and behind them those of other ranks that own rows and derivatives touch."""
        return v

    def rows_with_neighbours(self, y: np.ndarray) -> np.ndarray:
        """The same of numbers for each row."""
        return y

    def on_iteration(self, residual: float | None = None) -> None:
        """Called once in each iteration, with the error that is to fall."""
        return

    def has_linear_rows(self) -> bool:
        """Whether formulas tell that all rows are linear: then where one infeasible solve ends, all do."""
        return False

    def violation(self, rows: np.ndarray) -> np.ndarray:
        """By how much rows with these values miss their bounds, shape (n_rows,)."""
        lower, upper = self.row_bounds
        return np.maximum(np.maximum(lower - rows, rows - upper), 0.0)


@dataclass
class Answer:
    """What a method found for a program.

    Attributes
    ----------
    v, multipliers : ndarray, shapes (n,), (n_rows,)
        Variables, and multipliers y with `grad f + J^T y = bound_multipliers`.
    bound_multipliers : ndarray, shape (n,)
        Positive at lower bounds, negative at upper bounds.
    status : Status
    iterations : int
    """

    v: np.ndarray
    multipliers: np.ndarray
    bound_multipliers: np.ndarray
    status: Status
    iterations: int


def optimality_error(program, v, factor, multipliers):
    """How far v is from optimal, by multipliers of rows alone, for methods that do not tell theirs of bounds.

    The largest violation of a row, of `grad L = 0`, and of `y (bound - r) = 0` for multipliers y of rows; where a bound
    is near, slopes count times the way to it: at the point of a barrier that is the barrier's parameter.
    """
    rows, gradient = program.rows(v), program.gradient_of_lagrangian(v, factor, multipliers)
    missing = [program.violation(rows)]
    for slope, x, (lower, upper) in ((-gradient, v, program.bounds), (multipliers, rows, program.row_bounds)):
        room = np.where(slope > 0, upper - x, x - lower)
        missing.append(np.abs(slope) * np.clip(room, 0.0, 1.0))
    return float(max(m.max(initial=0.0) for m in missing))


REMEDIES = {Reason.NOT_CONVERGED: "give another guess, more elements, more iterations, or another method",
            Reason.NOT_FINITE: "write formulas so that they and their derivatives are finite along the first guess, or "
                               "give another guess"}
CONTRADICTION = "loosen bounds and conditions, if they contradict each other, or "


def signs_of(divisors, over):
    """1 or -1 for each of `NonlinearProgram.divisors` that has this sign at all points of all ranks, 0 for others."""
    ends, n = over.combined((), [d.max(initial=-np.inf) for d in divisors],
                            [d.min(initial=np.inf) for d in divisors]), len(divisors)
    return [float(low > 0) - float(high < 0) for high, low in zip(ends[:n], ends[n:], strict=True)]


def not_finite(program, v):
    """The row, or the objective, that is not finite at v, or whose derivative is not; None where all are."""
    def steep(describe, name=None):
        def described(i):
            row = describe(i)
            return row._replace(name=f"the derivative of {name or row.name}")
        return described

    finite, (rows, _) = np.isfinite(program.jacobian(v)), program.jacobian_places
    of_rows = np.bincount(rows[~finite], minlength=program.n_rows)[:program.n_rows] == 0
    kinds = [(np.isfinite(program.rows(v)), program.describe), (of_rows, steep(program.describe)),
             (np.isfinite([program.objective(v)]), lambda _: program.describe_objective()),
             (np.isfinite(program.gradient(v)), steep(program.describe_variable, "the cost"))]
    first = next((k for k, (fine, _) in enumerate(kinds) if not fine.all()), len(kinds))
    return OverRanks(program.comm).first_of_largest(
        len(kinds) - first, lambda: kinds[first][1](int(np.argmin(kinds[first][0]))) if first < len(kinds) else None)[1]


def failed(program, v, reason, history, detail, multipliers=None):
    """The status of a solve that ended at v: which row stays violated, by how much, and when; or is not finite.

    That is the one, of those that somebody asked for, that stays violated most, else an equation of the motion. With
    the multipliers of rows where the violation is least: also the limit, or bound, that stands against it most, which
    is another one than the violated one.
    """
    over, row = OverRanks(program.comm), not_finite(program, v)
    if row is not None and reason != Reason.STOPPED:
        detail += f"; {row.name} is not finite at t = {row.time:.6g}"
        detail += "".join(f"; {text}" for text in [program.beyond_poles(v)] if text)
        return Status.failure(Reason.NOT_FINITE, row.element, row.time, [], detail, remedy=REMEDIES[Reason.NOT_FINITE])

    def largest(sizes, describe=program.describe, but=None):
        """The largest size, and its row, among those that are not named `but`."""
        told = ((float(sizes[i]), describe(int(i))) for i in np.argsort(-sizes, kind="stable"))
        size, row = next(((size, row) for size, row in told if row.name != but), (0.0, None))
        return over.first_of_largest(size, lambda: row)

    missing, roles = program.violation(program.rows(v)), program.roles
    most, place = largest(missing)
    asked, motion = (largest(np.where(which, missing, 0.0)) for which in (roles >= CONDITION, roles == MOTION))
    by_asked = asked[0] > max(OPTIONS.missed, OPTIONS.motion_share * motion[0])
    violated, row = asked if by_asked else motion
    remedy = REMEDIES.get(reason)
    if most > OPTIONS.missed and reason == Reason.NOT_CONVERGED:
        remedy = f"{CONTRADICTION}{remedy}"
    if violated > OPTIONS.missed:
        detail += f"; {row.name} at t = {row.time:.6g} stays violated by {violated:.3g} of its size"
        place = row
    if most > OPTIONS.missed and reason == Reason.INFEASIBLE and not by_asked:
        detail += "; the prescribed conditions hold, but not the motion with these bounds"
    if multipliers is not None:
        of_rows = largest(np.where(roles == LIMIT, np.abs(multipliers), 0.0), but=place.name)
        of_bounds = largest(_at_bounds(program, v, multipliers), program.describe_variable)
        size, limit = max(of_rows, of_bounds, key=lambda pair: pair[0])
        if size > OPTIONS.opposed * over.largest(np.abs(multipliers).max(initial=0.0)):
            detail += f"; the limit most in its way is {limit.name}, at t = {limit.time:.6g}"
    if reason == Reason.INFEASIBLE and not program.has_linear_rows():  # a least violation near by proves nothing
        reason = Reason.NOT_FOUND
    return Status.failure(reason, place.element, place.time, history, detail, remedy=remedy)


def _at_bounds(program, v, multipliers):
    """Sizes of the multipliers of bounds that are near, by those of rows."""
    rows, columns = program.jacobian_places
    slopes = np.bincount(columns, program.jacobian(v) * program.rows_with_neighbours(multipliers)[rows], len(v))
    near = np.min([np.abs(bound - v) for bound in program.bounds], axis=0) <= OPTIONS.near_bound
    return np.where(near, np.abs(slopes[:len(v)]), 0.0)


def placed(blocks, starts):
    """Places one after the other in each block, from where it starts."""
    order = np.argsort(blocks, kind="stable")
    sizes = np.bincount(blocks, minlength=len(starts))
    before = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    out = np.empty(len(blocks), int)
    out[order] = np.arange(len(blocks)) - before[blocks[order]] + starts[blocks[order]]
    return out


def next_ones(groups):
    """Of things one group behind the other, whose blocks rise, that at the same place of the next block, or itself."""
    found, first = [], 0
    for blocks in groups:
        at = np.arange(first, first + len(blocks))
        n = np.bincount(blocks) if len(blocks) and blocks[0] >= 0 else np.zeros(0, int)
        if len(n) > 1 and (n == n[0]).all():
            order = at[np.argsort(blocks, kind="stable")].reshape(len(n), -1)
            at[order[:-1].ravel() - first] = order[1:].ravel()
        found.append(at)
        first += len(blocks)
    return np.concatenate([np.zeros(0, int), *found])


DEFAULT = "interior-point"


def is_for_inequalities(method):
    """Whether a name, or an object, is a method for inequalities."""
    name = method if isinstance(method, str) else getattr(method, "name", None)
    return isinstance(name, str) and name in METHODS and (name is method or isinstance(method, METHODS[name]))


def method_for_inequalities(method=None):
    """The method that is meant by an object or a name; the default for None.

    Raises
    ------
    InputError
        Lists the names.
    """
    if method is None:
        method = DEFAULT
    if is_for_inequalities(method):
        return METHODS[method]() if isinstance(method, str) else method
    names = ", ".join(f"{name!r} or {cls.__name__}(...)" for name, cls in METHODS.items())
    raise InputError(f"method={method!r} is not a method for inequalities; take {names}")


def after(method, iterations):
    """The method with what these iterations leave of its own."""
    return replace(method, max_iterations=max(1, method.max_iterations - iterations))


class SlabProgram(NonlinearProgram):
    """The share of one rank in a program over the ranks of a communicator.

    It has the variables and rows of this rank, and behind them, in the places of derivatives and in the blocks, those
    of neighbours that they touch: block -1 to the left, `n_blocks` to the right. Arguments and values are those of
    this rank; every rank calls every method.

    Parameters
    ----------
    program : NonlinearProgram
        Of the blocks of this rank and at least one block of each neighbour, which states the objective of this rank's
        blocks, but all other derivatives.
    own : (int, int)
        The blocks of the program that this rank has: first, and the one after the last.
    outside : ndarray of bool, shape (program.n,)
        Variables of the neighbours' neighbours.
    first_block : int
        Number of the first own block in the whole program.
    comm : mpi4py communicator
    """

    def __init__(self, program, own, outside, first_block, comm):
        self.program, self.comm, self.first_block, self._before = program, comm, first_block, own[0]
        (rows, columns), (first, second) = program.jacobian_places, program.hessian_places
        of_v, of_r = program.variable_blocks - own[0], program.row_blocks - own[0]
        n_blocks, seen = own[1] - own[0], ~outside[columns]
        touches = np.zeros((2, len(of_r)), bool)  # the block before, the block after
        for to, step in zip(touches, (-1, 1), strict=True):
            to[rows[seen & (of_v[columns] - of_r[rows] == step)]] = True
        self._columns = [np.flatnonzero(kept) for kept in (
            (of_v >= 0) & (of_v < n_blocks), (of_v == -1) & ~outside, of_v == n_blocks)]
        self._rows = [np.flatnonzero(kept) for kept in (
            (of_r >= 0) & (of_r < n_blocks), (of_r == -1) & touches[1], (of_r == n_blocks) & touches[0])]
        (self._v, self.n, self._sent_v), (self._r, self.n_rows, self._sent_r) = (
            (np.concatenate(kinds), len(kinds[0]), (np.flatnonzero((of[kinds[0]] == 0) & left),
                                                    np.flatnonzero((of[kinds[0]] == n_blocks - 1) & right)))
            for kinds, of, left, right in ((self._columns, of_v, True, True),
                                           (self._rows, of_r, touches[0][self._rows[0]], touches[1][self._rows[0]])))
        self.variable_blocks, self.row_blocks = of_v[self._v], of_r[self._r]
        if program.joined is not None:
            self.joined = program.joined[own[0]:own[1]] - program.joined[own[0]]
        at_v, at_r = np.full(program.n, -1), np.full(program.n_rows, -1)
        at_v[self._v], at_r[self._r] = np.arange(len(self._v)), np.arange(len(self._r))
        rows, columns = at_r[rows], at_v[columns]
        self._of_jacobian = np.flatnonzero((np.minimum(rows, columns) >= 0)
                                           & ((rows < self.n_rows) | (columns < self.n)))
        self.jacobian_places = rows[self._of_jacobian], columns[self._of_jacobian]
        first, second = at_v[first], at_v[second]
        lower = np.minimum(first, second)
        self._of_hessian = np.flatnonzero((lower >= 0) & (lower < self.n))
        self.hessian_places = first[self._of_hessian], second[self._of_hessian]
        own_v, own_r = self._v[:self.n], self._r[:self.n_rows]
        self.start, self.bounds = program.start[own_v], tuple(bound[own_v] for bound in program.bounds)
        if program.start_multipliers is not None:
            self.start_multipliers = program.start_multipliers[own_r]
        loose = at_v[np.asarray(program.loose, int)]
        self.loose, self._known = loose[(loose >= 0) & (loose < self.n)], {}

    @property
    def row_bounds(self):
        return tuple(bound[self._r[:self.n_rows]] for bound in self.program.row_bounds)

    @property
    def roles(self):
        return self.program.roles[self._r[:self.n_rows]]

    def soften(self, eps, attempt=0):
        self.program.soften(eps, attempt)

    def relax(self):
        return OverRanks(self.comm).total(int(self.program.relax())) > 0

    def state(self):
        self.program.state()

    def has_linear_rows(self):
        return OverRanks(self.comm).least(int(self.program.has_linear_rows())) > 0

    # ---- neighbours

    def with_neighbours(self, v):
        return self._exchanged(v)[0]

    def rows_with_neighbours(self, y):
        return self._exchanged(None, y)[1]

    def _exchanged(self, v=None, y=None):
        """Variables, rows, or both, with those of neighbours; asked again about the same memory it does not talk.

        All ranks run the same lines, so that it is the same memory on all of them or on none, as equal numbers, which
        one slab may have and another not, would not be.
        """
        given = {"v": (v, self._sent_v), "y": (y, self._sent_r)}
        new = [name for name, (x, _) in given.items() if x is not None and not self._knows(name, x)]
        if new:
            pieces = swap(self.comm, *([given[name][0][given[name][1][side]] for name in new] for side in (0, 1)))
            for i, name in enumerate(new):
                x = given[name][0]
                self._known[name] = x, np.concatenate([x, *(piece[i] for piece in pieces if piece is not None)])
        return [None if x is None else self._known[name][1] for name, (x, _) in given.items()]

    def _knows(self, name, x):
        known = self._known.get(name)  # kept, so that nothing else takes its place in memory
        return known is not None and known[0].ctypes.data == x.ctypes.data and len(known[0]) == len(x)

    def held_by_the_next(self, variables, rows):
        """Own variables, and rows behind them, that the next rank is coupled to.

        Given are those that this rank is coupled to, of the ones before it, as it counts what it gets from there.
        """
        _, wanted = swap(self.comm, (variables, rows), None)
        if wanted is None:
            return np.zeros(0, int)
        return np.concatenate([self._sent_v[1][wanted[0]], self.n + self._sent_r[1][wanted[1]]])

    # ---- values and derivatives

    def _all(self, v):
        return self.placed(v, None)[0]

    def placed(self, v, multipliers):
        """Variables and multipliers of the program, neighbours included."""
        return [None if x is None else _spread(x, at, n) for x, at, n in zip(
            self._exchanged(v, multipliers), (self._v, self._r), (self.program.n, self.program.n_rows), strict=True)]

    def objective(self, v):
        return self.program.objective(self._all(v))

    def rows(self, v):
        return self.program.rows(self._all(v))[self._r[:self.n_rows]]

    def divisors(self, v):
        return self.program.divisors(self._all(v))

    def gradient(self, v):
        return self.program.gradient(self._all(v))[self._v[:self.n]]

    def jacobian(self, v):
        return self.program.jacobian(self._all(v))[self._of_jacobian]

    def hessian(self, v, factor, multipliers):
        v, multipliers = self.placed(v, multipliers)
        return self.program.hessian(v, factor, multipliers)[self._of_hessian]

    def expect(self, v, factor, multipliers):
        v, multipliers = self.placed(v, multipliers)
        self.program.expect(v, factor, multipliers)

    def on_iteration(self, residual=None):
        self.program.on_iteration(residual)

    def describe_variable(self, i):
        return self._shifted(self.program.describe_variable(int(self._v[i])))

    def describe(self, i):
        return self._shifted(self.program.describe(int(self._r[i])))

    def describe_objective(self):
        return self._shifted(self.program.describe_objective())

    def _shifted(self, row):
        return row._replace(element=row.element + self.first_block - self._before)


def _spread(values, places, n):
    out = np.zeros(n)
    out[places] = values
    return out
