"""Conditions at both ends of a time span: collected, counted, and reduced to what the constraints leave open."""

from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from ...display import counted
from ...errors import InputError
from ...kernels.compile import Buffered
from ...kernels.loops import compiled
from ...mechanics.formulas.formula import call_vector, check_symbols
from ...mechanics.states.given import names_joints
from ...mechanics.symbols import first_order_places
from ..end import INDEPENDENT, TOLERANCE, End, lengths_of_rows, null_space, reduced, search, unit_rows
from ..parameters import of_bodies
from ..prescribed import expressions, prescribed


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def relative_to_terms(values, jacobian, wanted, y, size, out):
    """How far the last rows are from what is wanted, relative to the size of their terms, into `out` (n,).

    Parameters
    ----------
    values, jacobian : array, shapes (n_rows,), (n_rows * n_y,)
        Of constraints and conditions at `y`.
    wanted : array, shape (n,)
    y, size : array, shape (n_y,)
        Unknowns and their sizes.
    """
    n_y, first = y.shape[0], values.shape[0] - wanted.shape[0]
    for i in range(wanted.shape[0]):
        terms, square = 0.0, 0.0
        for j in range(n_y):
            entry = jacobian[(first + i) * n_y + j]
            terms += abs(entry * y[j])
            square += (entry * size[j]) ** 2
        largest = max(terms, np.sqrt(square)) if terms + square >= 0.0 else np.nan
        out[i] = abs(values[first + i] - wanted[i]) / (largest if largest != 0.0 else 1.0)


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def step_of_known_rank(values, jacobian, wanted, size, kept, step):
    """A step of Newton's method by the pseudoinverse P of what rows keep of a Jacobian nearby.

    With what they keep of the Jacobian J here it is P (J P)^-1 times their values. Into `step` (n_y,), unless it fails.

    Parameters
    ----------
    values, jacobian, wanted, size
        As of `relative_to_terms`.
    kept : (keep, inverse, rows, matrix), shapes (k, n_rows), (n_y, k), (n_rows, k), (k, k + 1)
        Combinations of rows; P, of unknowns over their sizes; memory.

    Returns
    -------
    change, violation : float
        Square of the Frobenius norm of J P - 1, below 1 where ranks are full; largest value relative to the length of
        its gradient.
    """
    keep, inverse, rows, matrix = kept
    n_rows, n_y, k, violation, change = values.shape[0], size.shape[0], keep.shape[0], 0.0, 0.0
    first = n_rows - wanted.shape[0]
    for r in range(n_rows):
        for b in range(k):
            rows[r, b] = 0.0
        square = 0.0
        for j in range(n_y):
            entry = jacobian[r * n_y + j] * size[j]
            square += entry * entry
            if entry != 0.0:
                for b in range(k):
                    rows[r, b] += entry * inverse[j, b]
        relative = abs(values[r] - (wanted[r - first] if r >= first else 0.0)) / max(np.sqrt(square), 1e-300)
        if not relative <= violation:
            violation = relative
    for a in range(k):
        for b in range(k + 1):
            matrix[a, b] = 0.0
        for r in range(n_rows):
            by = keep[a, r]
            if by != 0.0:
                for b in range(k):
                    matrix[a, b] += by * rows[r, b]
                matrix[a, k] += by * (values[r] - (wanted[r - first] if r >= first else 0.0))
        for b in range(k):
            change += (matrix[a, b] - (1.0 if a == b else 0.0)) ** 2
    if not change < 1.0:
        return change, violation
    for c in range(k):  # the matrix is so near to one that no rows have to change places
        by = 1.0 / matrix[c, c]
        for a in range(k):
            factor = matrix[a, c] * by
            if a != c and factor != 0.0:
                for b in range(c, k + 1):
                    matrix[a, b] -= factor * matrix[c, b]
    for j in range(n_y):
        total = 0.0
        for b in range(k):
            total += inverse[j, b] * matrix[b, k] / matrix[b, b]
        step[j] = size[j] * total
    return change, violation


ENDS = ("start", "end")
NO_MOMENTA = "momenta of states of first order at the start"
LENGTHS = "lengths of quaternions of trees at the start"
UNSAID = NO_MOMENTA, LENGTHS  # what nobody has to say
FEW, NEAR = 3, 0.5  # steps, and change of a Jacobian, up to which reductions are taken over
STIFF = 1e-3  # how readily masses change, relative to states, where the search looks for momenta that fit velocities


class Reduction(NamedTuple):
    """Combinations `matrix @ (rows - wanted)` of conditions, by their numbers."""

    rows: np.ndarray
    matrix: np.ndarray
    wanted: np.ndarray


class BoundaryFormulas:
    """The conditions in symbols, before what they ask for is taken off; the same for all that differ in that only.

    Parameters
    ----------
    problem : BoundaryValueProblem
    asked : list of (str, Prescribed)
        With the end.
    n_numbers : int

    Attributes
    ----------
    symbols : (SX, SX, SX)
        z at the start, z at the end, unknown numbers (with free time the duration first).
    ends : list of End
    names : list of str
        What each condition asks for.
    rows : SX
        What the conditions are about; `rows - wanted` is zero.
    constraints : SX
        Of the system at the start, on both levels.
    function : Buffered
        `function(y)` -> constraints at both ends and rows, and their Jacobian by rows, at `y = (z0, z1, c)`.
    depends : list of ndarray
        Which rows depend on the state at the start, and at the end.
    """

    def __init__(self, problem, asked, n_numbers):
        system, n = problem.system, problem.system.n_z
        self.symbols = ca.SX.sym("start", n), ca.SX.sym("end", n), ca.SX.sym("c", n_numbers)
        unknowns = dict(zip(problem.unknown_names, ca.vertsplit(self.symbols[2]) if n_numbers else [], strict=True))
        t0, t1 = problem.t_span
        times = t0, t0 + unknowns["duration"] if problem.free_time else t1
        numbers = problem.numbers.at([unknowns[name] for name in problem.numbers])
        self.ends = [End(system, t, z, numbers) for t, z in zip(times, self.symbols, strict=False)]
        self.names, rows = [], []
        for which, one in asked:
            rows.append(expressions(self.ends[ENDS.index(which)], one))
            self.names += [f"{one.what} of {system.label(one.body)} at the {which}"] * len(one.given)
        for body in (body for body in system.bodies if body.is_counter):
            start = self.ends[0]
            rows.append(body.conditions_at_start(start.q(body), start.p(body), start.q))
            self.names += [f"{system.label(body)} at the start"] * 2
        places = first_order_places(system)
        rows.append(self.symbols[0][[system.n_q + i for i in places]])  # no momenta
        self.names += [NO_MOMENTA] * len(places)
        if problem.periodic:
            rows.append(self.symbols[1] - self.symbols[0])
            self.names += ["periodicity"] * n
        if problem.conditions is not None:
            values = call_vector("conditions", problem.conditions, *self.ends, unknowns)
            check_symbols("conditions", values, *self.symbols)
            rows.append(values)
            self.names += [f"conditions[{i}]" for i in range(values.numel())]
        rows, lengths = self._of_unit_length(system, ca.vertcat(ca.SX(0, 1), *rows))
        self.rows = ca.densify(ca.vertcat(rows, lengths))
        self.names += [LENGTHS] * lengths.numel()
        for name in problem.numbers:
            if not problem.numbers.of(name) and not ca.depends_on(self.rows, unknowns[name]):
                raise InputError(f"parameters: nothing depends on {name}, so that it cannot be found; use it in a "
                                 "condition, or leave it out")
        self.constraints = self.ends[0].constraints()
        every = ca.vertcat(self.constraints, self.ends[1].constraints(), self.rows)
        y = ca.vertcat(*self.symbols)
        self.function = Buffered(ca.Function("conditions", [y], [ca.densify(every),
                                                                 ca.densify(ca.jacobian(every, y).T)]))
        self.depends = [np.array(ca.DM(ca.jacobian(self.rows, z).sparsity(), 1)).reshape(len(self.names), n).any(
            axis=1) for z in self.symbols[:2]]

    def _of_unit_length(self, system, rows):
        """Conditions at quaternions of trees over their lengths, on which nothing depends; and that these, which no
        constraint holds, are one and rest at the start."""
        places = [np.arange(system.n_q)[system.coordinates(body)][list(own)].tolist() for body in system.bodies
                  for own in body.quaternions]
        unit, lengths = [ca.SX(z) for z in self.symbols[:2]], []
        for own in places:
            momenta = [system.n_q + i for i in own]
            for z, at in zip(self.symbols, unit, strict=False):
                q, p = z[own], z[momenta]
                at[own] = q / ca.norm_2(q)
                at[momenta] = ca.norm_2(q) * (p - q * ca.dot(q, p) / ca.sumsqr(q))
            q, p = self.symbols[0][own], self.symbols[0][momenta]
            lengths += [(ca.sumsqr(q) - 1) / 2, ca.dot(q, p)]
        if places:
            rows = ca.substitute(rows, ca.vertcat(*self.symbols[:2]), ca.vertcat(*unit))
        return rows, ca.vertcat(ca.SX(0, 1), *lengths)


class BoundaryConditions:
    """Conditions b(z(t0), z(t1), c) = 0 with unknown numbers c, reduced to what the constraints leave open.

    Conditions on redundant coordinates repeat others along the motions that the constraints allow. With a basis T of
    these directions at states that satisfy conditions and constraints, the combinations are kept that are left
    singular vectors of db T: first those of the conditions at one end, then those of conditions that couple the ends.

    Parameters
    ----------
    problem : BoundaryValueProblem
    q, c : (ndarray, ndarray), ndarray
        Configurations at both ends, and numbers, where the search for such states starts from.
    like : BoundaryConditions, optional
        Whose formulas are taken, where they are the same.

    Attributes
    ----------
    formulas : BoundaryFormulas
    wanted : ndarray
    reductions : list of Reduction
        Conditions that are kept, by what they depend on: of the start, of the end, of both.
    z0, z1, c : ndarray
        The states and numbers found.

    Raises
    ------
    InputError
        When conditions contradict each other or the constraints, or their number does not fit.
    """

    def __init__(self, problem, q, c, like=None):
        self.problem, n = problem, problem.system.n_z
        known = {} if like is None else like._asked  # by target, which stays as it is
        self._asked = {(which, body, target): known.get((which, body, target)) or prescribed(body, target)
                       for which, targets in zip(ENDS, (problem.start, problem.end), strict=True)
                       for body, target in targets.items()}
        asked = [(which, one) for (which, *_), found in self._asked.items() for one in found]
        asked += [(which, one) for which in ENDS for one in problem.rates[which]]
        self._form = problem.form, tuple((which, one.form) for which, one in asked)
        alike = like is not None and like.problem.system is problem.system and like._form == self._form
        self.formulas = like.formulas if alike else BoundaryFormulas(problem, asked, len(c))
        wanted = [one.values for _, one in asked]
        self.wanted = np.concatenate([*wanted, np.zeros(len(self.formulas.names) - sum(map(len, wanted)))])
        self._size = like._size if alike and not len(c) else self._sizes(c)
        found = self._near(like, q, c) if alike else None
        new = found is None
        if new:
            found, self._jacobian = self._search(np.concatenate([*problem.states(q), c]))
        self.z0, self.z1, self.c = found[:n], found[n:2 * n], found[2 * n:]
        if new:
            self._reduce(self._jacobian)

    def _sizes(self, c):
        """Of the states at both ends, and of the numbers."""
        size, numbers, scale = np.where(c == 0, 1.0, np.abs(c)), self.problem.numbers, self.problem.system.state_scale
        size[len(c) - len(numbers):][of_bodies(numbers)] *= STIFF
        return np.concatenate([scale, scale, size])

    # ---- states that satisfy conditions and constraints

    def _values(self, y):
        values, jacobian = self.formulas.function(y)
        values = values.copy()
        values[len(values) - len(self.wanted):] -= self.wanted
        return values, jacobian.reshape(-1, len(y)) * self._size

    def residual(self, z0, z1, c):
        """Values of all conditions, before reduction, relative to the size of their terms; shape (n_conditions,)."""
        y, out = np.concatenate([z0, z1, c]), np.empty(len(self.formulas.names))
        relative_to_terms(*self.formulas.function(y), self.wanted, y, self._size, out)
        return out

    def _search(self, y):
        """States and numbers that satisfy all, and the Jacobian there."""
        y, violated, (_, jacobian) = search(self._values, y, self._size,
                                            lambda y: 0.3 * max(1.0, np.abs(y / self._size).max()))
        if violated is None:
            return y, jacobian
        names = [f"the constraint '{name}' at the {end}" for end in ENDS for name in self._constraint_names()]
        names += self.formulas.names
        raise InputError(f"no states satisfy all conditions and constraints: {names[violated[0]]} stays violated by "
                         f"{violated[1]:.3g}; leave out what contradicts the rest")

    def _constraint_names(self):
        system = self.problem.system
        return [*system.constraint_names, *system.constraint_names, *system.nonholonomic_names]

    def _near(self, like, q, c):
        """States and numbers that satisfy all, where reductions of conditions that ask for other values do; or None.

        With the Jacobian J of the rows that these keep, of full rank, and its pseudoinverse P there: the rank here is
        full as long as |J P - 1| < 1, and P (J P)^-1 gives the steps of Newton's method.
        """
        y, step = np.concatenate([q[0], like.z0[len(q[0]):], q[1], like.z1[len(q[1]):], c]), np.empty(len(self._size))
        for _ in range(FEW):
            values = self.formulas.function(y)
            change, violation = step_of_known_rank(*values, self.wanted, self._size, like._kept, step)
            if not change < NEAR**2:
                return None
            if violation <= TOLERANCE:
                self.reductions = [Reduction(rows, matrix, self.wanted[rows]) for rows, matrix, _ in like.reductions]
                self._kept = like._kept
                return y
            y = y - step
        return None

    @cached_property
    def _kept(self):
        """Constraints and conditions as they are kept, as combinations of all rows, the pseudoinverse of their
        Jacobian, and memory for `step_of_known_rank`."""
        m = 2 * len(self._constraint_names())
        keep = np.zeros((m + sum(len(r.matrix) for r in self.reductions), len(self._jacobian)))
        keep[:m, :m] = np.diag(1 / np.maximum(lengths_of_rows(self._jacobian[:m]), 1e-300))
        row = m
        for rows, matrix, _ in self.reductions:
            keep[row:row + len(matrix), m + rows] = matrix
            row += len(matrix)
        inverse = np.ascontiguousarray(np.linalg.pinv(keep @ self._jacobian, INDEPENDENT))
        return keep, inverse, np.empty((len(self._jacobian), row)), np.empty((row, row + 1))

    # ---- counts

    def _reduce(self, jacobian):
        m, n = len(self._constraint_names()), self.problem.system.n_z
        at_start, at_end = self.formulas.depends
        groups = [np.flatnonzero(~at_end), np.flatnonzero(at_end & ~at_start), np.flatnonzero(at_start & at_end)]
        tangents = [null_space(unit_rows(jacobian[i * m:(i + 1) * m, i * n:(i + 1) * n])) for i in (0, 1)]
        found, free = reduced(jacobian[2 * m:], jacobian[:2 * m], tangents, groups)
        self.reductions = [Reduction(rows, matrix, self.wanted[rows])
                           for rows, matrix in zip(groups, found, strict=True)]
        ranks = [len(matrix) for matrix in found]
        self._check_count(groups, free, ranks)

    def coupled(self):
        """Conditions that are kept which couple the ends, SX."""
        rows, matrix, wanted = self.reductions[2]
        return ca.sparsify(ca.DM(matrix)) @ (self.formulas.rows[rows.tolist()] - wanted) if len(matrix) else ca.SX(0, 1)

    def coupling(self):
        """Components of the state at the start that these see, increasing."""
        if not len(self.reductions[2].rows):
            return []
        return sorted(set(ca.jacobian(self.coupled(), self.formulas.symbols[0]).sparsity().get_triplet()[1]))

    def _check_count(self, groups, free, ranks):
        problem, system = self.problem, self.problem.system
        freedom = system.n_z - len(self._constraint_names())
        needed, rank = freedom + len(self.c), sum(ranks)
        if len(free) and (len(self.c) or len(groups[2])):  # else the conditions at both ends have nothing in common
            rank = np.linalg.matrix_rank(free, INDEPENDENT)
        if sum(ranks) == rank == needed:
            return
        unsaid = sum(name in UNSAID for name in self.formulas.names)
        freedom -= unsaid
        count = f"{needed - unsaid} independent conditions are needed, {freedom} for the "
        count += (f"{freedom} free components of the state" if system.n_nonholonomic or first_order_places(system)
                  else counted(freedom // 2, "degree of freedom", "degrees of freedom"))
        if len(self.c):
            count += f" and {len(self.c)} for {', '.join(problem.unknown_names)}"
        counts = self._counts(free).items()
        given = ", ".join(f"{name} ({n})" for name, n in counts if n and name not in UNSAID) or "none"
        remedy = (f"add {needed - rank}" if rank < needed else
                  f"leave out {rank - needed}, or name as many unknown parameters" if rank > needed else
                  "conditions at the start repeat those at the end; leave these out")
        if rank > needed and any(names_joints(system, problem._given[end]) for end in ("start", "end")):
            remedy += ("; joints that are not named are at zero, conditions=\"end.joint('NAME') - VALUE\" asks for one "
                       "alone")
        raise InputError(f"{count}, but {rank - unsaid} are given: {given}; {remedy}")

    def _counts(self, free):
        """How many independent conditions each name adds to those before it."""
        counts, total = {}, 0
        for name in dict.fromkeys(self.formulas.names):
            counts[name] = 0
        done = []
        for name in counts:
            done += [i for i, other in enumerate(self.formulas.names) if other == name]
            rank = np.linalg.matrix_rank(free[done], INDEPENDENT)
            counts[name], total = rank - total, rank
        return counts
