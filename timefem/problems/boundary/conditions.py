"""Conditions at both ends of a time span: collected, counted, and reduced to what the constraints leave open."""

from functools import cached_property
from math import isfinite
from typing import NamedTuple

import casadi as ca
import numpy as np

from ...display import counted
from ...errors import InputError
from ...kernels.buffered import Buffered
from ...mechanics.formulas.formula import call_vector, check_symbols
from ...mechanics.symbols import first_order_places
from ..common.conditions import (
    directions_left,
    independent_combinations,
    least_norm_search,
    lengths_of_rows,
    rows_of,
)
from ..common.end import End
from ..common.end_state import INDEPENDENT, TOLERANCE
from ..common.frame_targets import asked_of, expressions
from ..common.parameters import of_bodies
from .conditions_loop import relative_to_terms, step_of_known_rank

ENDS = ("start", "end")
NO_MOMENTA = "momenta of states of first order at the start"
FORMULAS = "structure", "symbols", "ends", "names", "rows", "constraints", "_function", "_depends"
FEW, NEAR = 3, 0.5  # steps, and change of a Jacobian, up to which reductions are taken over
STIFF = 1e-3  # how readily masses change, relative to states, where the search looks for momenta that fit velocities


class Reduction(NamedTuple):
    """Combinations `matrix @ (rows - wanted)` of conditions, by their numbers."""

    rows: np.ndarray
    matrix: np.ndarray
    wanted: np.ndarray


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
    symbols : (SX, SX, SX)
        z at the start, z at the end, unknown numbers (with free time the duration first).
    names : list of str
        What each condition asks for.
    constraints : SX
        Of the system at the start, on both levels.
    rows : SX
        What the conditions are about; `rows - wanted` is zero.
    wanted : ndarray
    reductions : list of Reduction
        Conditions that are kept, by what they depend on: of the start, of the end, of both.
    structure : object
        The same of conditions that share their formulas.
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
        self._asked = {(which, body, target): known.get((which, body, target)) or _asked(which, body, target)
                       for which, targets in zip(ENDS, (problem.start, problem.end), strict=True)
                       for body, target in targets.items()}
        asked = [one for found in self._asked.values() for one in found]
        self._form = problem.form, tuple(key for *key, _ in asked)
        wanted = [values for *_, values in asked]
        alike = like is not None and like.problem.system is problem.system and like._form == self._form
        if alike:
            self.__dict__.update({name: like.__dict__[name] for name in FORMULAS})
        else:
            self.structure = object()
            self._state(asked, len(c))
        self.wanted = np.concatenate([*wanted, np.zeros(len(self.names) - sum(map(len, wanted)))])
        self._size = like._size if alike and not len(c) else self._sizes(c)
        found = self._near(like, q, c) if alike else None
        new = found is None
        if new:
            found, self._jacobian = self._search(np.concatenate([*problem.states(q), c]))
        self.z0, self.z1, self.c = found[:n], found[n:2 * n], found[2 * n:]
        if new:
            self._reduce(self._jacobian)

    def _state(self, asked, n_numbers):
        """The conditions in symbols, before what they ask for is taken off."""
        problem, system, n = self.problem, self.problem.system, self.problem.system.n_z
        self.symbols = ca.SX.sym("start", n), ca.SX.sym("end", n), ca.SX.sym("c", n_numbers)
        unknowns = dict(zip(problem.unknown_names, ca.vertsplit(self.symbols[2]) if n_numbers else [], strict=True))
        t0, t1 = problem.t_span
        times = t0, t0 + unknowns["duration"] if problem.free_time else t1
        numbers = problem.numbers.at([unknowns[name] for name in problem.numbers])
        self.ends = [End(system, t, z, numbers) for t, z in zip(times, self.symbols, strict=False)]
        self.names, rows = [], []
        for which, body, what, frame, given, _ in asked:
            rows.append(expressions(self.ends[ENDS.index(which)], body, what, frame, given))
            self.names += [f"{what} of {system.label(body)} at the {which}"] * len(given)
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
        self.rows = ca.densify(ca.vertcat(ca.SX(0, 1), *rows))
        for name in problem.numbers:
            if not problem.numbers.of(name) and not ca.depends_on(self.rows, unknowns[name]):
                raise InputError(f"parameters: nothing depends on {name}, so that it cannot be found; use it in a "
                                 "condition, or leave it out")
        self.constraints = self.ends[0].constraints()
        every = ca.vertcat(self.constraints, self.ends[1].constraints(), self.rows)
        y = ca.vertcat(*self.symbols)
        self._function = Buffered(ca.Function("conditions", [y], [ca.densify(every),
                                                                  ca.densify(ca.jacobian(every, y).T)]))
        self._depends = [np.array(ca.DM(ca.jacobian(self.rows, z).sparsity(), 1)).reshape(len(self.names), n).any(
            axis=1) for z in self.symbols[:2]]

    def _sizes(self, c):
        """Of the states at both ends, and of the numbers."""
        size, numbers, scale = np.where(c == 0, 1.0, np.abs(c)), self.problem.numbers, self.problem.system.state_scale
        size[len(c) - len(numbers):][of_bodies(numbers)] *= STIFF
        return np.concatenate([scale, scale, size])

    # ---- states that satisfy conditions and constraints

    def _values(self, y):
        values, jacobian = self._function(y)
        values = values.copy()
        values[len(values) - len(self.wanted):] -= self.wanted
        return values, jacobian.reshape(-1, len(y)) * self._size

    def residual(self, z0, z1, c):
        """Values of all conditions, before reduction, relative to the size of their terms; shape (n_conditions,)."""
        y, out = np.concatenate([z0, z1, c]), np.empty(len(self.names))
        relative_to_terms(*self._function(y), self.wanted, y, self._size, out)
        return out

    def _search(self, y):
        """States and numbers that satisfy all, and the Jacobian there."""
        y, violated, (_, jacobian) = least_norm_search(self._values, y, self._size,
                                                       lambda y: 0.3 * max(1.0, np.abs(y / self._size).max()))
        if violated is None:
            return y, jacobian
        names = [f"the constraint '{name}' at the {end}" for end in ENDS for name in self._constraint_names()]
        raise InputError(f"no states satisfy all conditions and constraints: {[*names, *self.names][violated[0]]} "
                         f"stays violated by {violated[1]:.3g}; leave out what contradicts the rest")

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
            change, violation = step_of_known_rank(*self._function(y), self.wanted, self._size, like._kept, step)
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
        m = len(self._constraint_names())
        own = jacobian[2 * m:]
        lengths = np.maximum(lengths_of_rows(own), 1e-300)
        own = own / lengths[:, None]
        free = self._along_constraints(own, jacobian[:2 * m])
        at_start, at_end = self._depends
        groups = [np.flatnonzero(~at_end), np.flatnonzero(at_end & ~at_start), np.flatnonzero(at_start & at_end)]
        self.reductions, ranks = [], []
        for i, rows in enumerate(groups):
            block = free[rows]
            if i == 2 and len(rows):  # what the conditions at one end do not settle already
                basis = rows_of(free[np.concatenate(groups[:2])])
                block = block - (block @ basis.T) @ basis
            chosen = independent_combinations(block) if len(rows) else block
            ranks.append(len(chosen))
            chosen = chosen * (1 / lengths[rows]) if len(rows) else np.zeros((0, 0))
            self.reductions.append(Reduction(rows, chosen, self.wanted[rows]))
        self._check_count(groups, free, ranks)

    def coupled(self):
        """Conditions that are kept which couple the ends, SX."""
        rows, matrix, wanted = self.reductions[2]
        return ca.sparsify(ca.DM(matrix)) @ (self.rows[rows.tolist()] - wanted) if len(matrix) else ca.SX(0, 1)

    def coupling(self):
        """Components of the state at the start that these see, increasing."""
        if not len(self.reductions[2].rows):
            return []
        return sorted(set(ca.jacobian(self.coupled(), self.symbols[0]).sparsity().get_triplet()[1]))

    def _along_constraints(self, gradients, jacobian):
        """Gradients in the directions that the constraints at both ends allow: of z(t0), z(t1), c."""
        n, m = self.problem.system.n_z, len(jacobian) // 2
        jacobian = jacobian / np.maximum(lengths_of_rows(jacobian), 1e-300)[:, None]
        if np.any(jacobian[:, 2 * n:]):
            return gradients @ directions_left(jacobian)
        at_start, at_end, rest = gradients[:, :n], gradients[:, n:2 * n], gradients[:, 2 * n:]
        return np.hstack([at_start @ directions_left(jacobian[:m, :n]),
                          at_end @ directions_left(jacobian[m:, n:2 * n]), rest])

    def _check_count(self, groups, free, ranks):
        problem, system = self.problem, self.problem.system
        freedom = system.n_z - len(self._constraint_names())
        needed, rank = freedom + len(self.c), sum(ranks)
        if len(free) and (len(self.c) or len(groups[2])):  # else the conditions at both ends have nothing in common
            rank = np.linalg.matrix_rank(free, INDEPENDENT)
        if sum(ranks) == rank == needed:
            return
        flows = len(first_order_places(system))  # whose momenta are none, which nobody has to say
        freedom -= flows
        count = f"{needed - flows} independent conditions are needed, {freedom} for the "
        count += (f"{freedom} free components of the state" if system.n_nonholonomic or flows
                  else counted(freedom // 2, "degree of freedom", "degrees of freedom"))
        if len(self.c):
            count += f" and {len(self.c)} for {', '.join(problem.unknown_names)}"
        counts = self._counts(free).items()
        given = ", ".join(f"{name} ({n})" for name, n in counts if n and name != NO_MOMENTA) or "none"
        remedy = (f"add {needed - rank}" if rank < needed else
                  f"leave out {rank - needed}, or name as many unknown parameters" if rank > needed else
                  "conditions at the start repeat those at the end; leave these out")
        raise InputError(f"{count}, but {rank - flows} are given: {given}; {remedy}")

    def _counts(self, free):
        """How many independent conditions each name adds to those before it."""
        counts, total = {}, 0
        for name in dict.fromkeys(self.names):
            counts[name] = 0
        done = []
        for name in counts:
            done += [i for i, other in enumerate(self.names) if other == name]
            rank = np.linalg.matrix_rank(free[done], INDEPENDENT)
            counts[name], total = rank - total, rank
        return counts


def _asked(which, body, target):
    """What is prescribed for a body: end, body, quantity, frame, components that are given, and their values."""
    found = []
    for what, wanted in asked_of(body, target).items():
        given = tuple([i for i, value in enumerate(wanted.tolist()) if isfinite(value)])
        frame = target.frame if what == "angular velocity" else None
        found.append((which, body, what, frame, given, wanted[list(given)]))
    return found
