"""Derivatives of an optimum: its conditions of optimality, linearised there with the limits that are active."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ActiveSetChange, InputError, NamedArguments, SolveError, warn
from ..problems.optimal.transcription.nonlinear_program import OptimalProgram
from ..problems.optimal.transcription.sequence_program import Closing, SequenceProgram
from ..problems.phases.problem import PhasedSolution
from ..records import frozen
from ..solvers.interior_point.algorithm import InteriorPoint
from ..solving.receding import SOLVED, Resumed
from ..validate.options import Options, documented, option
from .functionals import EndValue, Objective
from .optimum_changes import InPhase, changes_of, phase_number, phases_of
from .optimum_phase import OptimumPhase, PhaseChange, problem_of
from .parameters import Family, differentiated

if TYPE_CHECKING:
    from ..solution.solution import Solution
    from .functionals import Functional, UnknownNumber
    from .optimum_changes import Change


@documented
@frozen
class OptimumOptions(Options):
    """Thresholds of `OptimumLinearization`."""

    tolerance: float = option(1e-10, "of the conditions of optimality, scaled")
    same: float = option(1e-6, "relative difference of costs of one optimum")
    holds: float = option(1e10, "curvature of a limit that is active, beside those of order one")
    leaves: float = option(1e-10, "that of one that is not")
    weak: float = option(1e-3, "the smaller one of slack and multiplier over the larger one from which on neither "
                               "tells whether a limit is active")
    levels: int = option(3, "of extrapolation of differences of the conditions of optimality")
    first_step: float = option(5e-3, "the largest step of these, relative")
    refinements: int = option(6, "of each solve")
    least_added: float = option(1e-9, "curvature, scaled, that is added for the factors")
    growth: float = option(100.0, "factor by which it grows until the factors are those of a minimum")
    most_added: float = option(1e-5, "curvature downwards that is none")
    exact: float = option(1e-8, "what a solve leaves of its right-hand side at most")


DEFAULTS = OptimumOptions()


class Conditions(NamedTuple):
    """What the conditions of optimality of a problem are at variables and multipliers, and what else it changes."""

    gradient: np.ndarray  # of the Lagrangian
    rows: np.ndarray
    lower: np.ndarray  # bounds of the variables, then of the rows
    upper: np.ndarray
    objective: np.ndarray
    start: np.ndarray  # of all phases one behind the other, as of `PhaseChange`
    numbers: np.ndarray
    span: np.ndarray


class OptimumLinearization(NamedArguments):
    """The conditions of optimality of an optimal control problem, linearised at its solution with one factorisation.

    With variables w, multipliers y and the limits that are active, `F(w, y, p) = 0` are the conditions of Karush, Kuhn
    and Tucker. Their matrix K is symmetric: a gradient takes one solve `K s = dG/dw`, and is `dG/dp - s . dF/dp`,
    however many numbers p there are; that of the cost takes none, for it is the derivative of the Lagrangian (A. V.
    Fiacco: Introduction to Sensitivity and Stability Analysis in Nonlinear Programming. Academic Press, 1983). How F
    depends on p is found by differences of its residual at the same w and y: no problem is solved again.

    Parameters
    ----------
    solution : OptimalSolution or PhasedSolution
        Of one problem, or of `Phases`.
    options : OptimumOptions
        All its thresholds, or a dict of some.

    Attributes
    ----------
    weakly_active : list of str
        Limits that are reached without a multiplier: derivatives, other than that of the cost, are those of one side
        only, and `ActiveSetChange` is warned of when they are asked for.

    Raises
    ------
    InputError
        For solutions that failed, with contacts, and copies that know no problem.
    SolveError
        When derivatives of states and controls are asked for that do not exist, as the optimum is not a strict one.
    """

    def __init__(self, solution: Solution | PhasedSolution, *,
                 options: OptimumOptions | dict[str, Any] = DEFAULTS) -> None:
        self.options = OptimumOptions.of(options)
        self.solution, self.problem = solution, _problem_of(solution)
        self._phases = [OptimumPhase(one) for one in getattr(solution, "phases", [solution])]
        size = sum(phase.size_of_objective for phase in self._phases)
        x = [phase.begin(size) for phase in self._phases]
        program, own = self._program_of(self.problem, [phase.equations for phase in self._phases], x, warm=True)
        self._size = self._phases[0].equations.objective_size
        self._at = at = Resumed(InteriorPoint(tolerance=self.options.tolerance), program)
        self._barrier, self._direction, self._scaled = at._solve.barrier, at._solve.direction, at._solve.scaled
        outcome = at.step()
        if outcome not in SOLVED:
            raise SolveError("the solution does not satisfy its conditions of optimality: they are missed by "
                             f"{at.error:.1e}")
        cost = self._scaled.program.objective(at.v) * self._size
        if abs(cost - solution.objective) > self.options.same * (1 + abs(solution.objective)):
            raise SolveError(f"near the solution, with the cost {solution.objective:.9g}, is a better one with "
                             f"{cost:.9g}; solve to a smaller tolerance first")
        first = np.cumsum([[0, 0], *([one.n, one.n_rows] for one in own)], axis=0)
        for phase, one, (i, j) in zip(self._phases, own, first, strict=False):
            phase.take(one, one.place(at.v[i:i + one.n], at.multipliers[j:j + one.n_equations]), i)
        self._row_sizes, self._variable_sizes = program.row_sizes, program.variable_sizes
        self._active_set(program)
        self._changes: dict[str, Conditions] = {}
        self._base = self._conditions(self.problem)

    # ---- what users ask for

    def value(self, functional: Functional | Objective | UnknownNumber) -> np.ndarray:
        """Values of a functional, shape (m,)."""
        if isinstance(functional, Objective):
            return np.array([self.solution.objective])
        phase, own = self._in_phase(functional)
        return phase.value(own)

    def gradient(self, functional: Functional | Objective | UnknownNumber, parameters: Any) -> np.ndarray:
        """Gradient of a scalar functional; see `timefem.gradient`.

        Parameters
        ----------
        functional, parameters
            As for `timefem.gradient`.

        Returns
        -------
        ndarray, shape (n,)
            One entry per parameter.

        Raises
        ------
        InputError
            For functionals with several values, and unknown parameters.
        """
        changes = self._changed_by(parameters)
        if isinstance(functional, Objective):
            return np.array([self._of_cost(change) for change in changes])
        if len(self.value(functional)) != 1:
            raise InputError(f"a gradient needs a functional with one value, not {len(self.value(functional))}; use "
                             "sensitivities, or one component")
        phase, own = self._in_phase(functional)
        base = self._of_phase(phase, self._base)
        by_x, by_numbers = phase.backward(own, len(base.numbers))
        steps = self._solved(phase.by_variables(by_x, len(self._at.it.w)), np.zeros(self._barrier.m))
        found = []
        for change in changes:
            there = self._of_phase(phase, change)
            explicit = by_x[:len(there.start)] @ there.start + phase.by_span(own, there, base.span[1])[0]
            explicit += 0.0 if by_numbers is None else by_numbers @ there.numbers
            found.append(explicit - sum(
                step @ of for step, of in zip(steps, self._of_conditions(change), strict=True)))
        return np.array(found)

    def sensitivities(self, functional: Any, parameters: Any) -> np.ndarray:
        """Derivatives of all values, by one solve for each parameter; see `timefem.sensitivities`.

        Parameters
        ----------
        functional, parameters
            As for `timefem.sensitivities`.

        Returns
        -------
        ndarray, shape (m, n)
            Row i: derivatives of value i by all parameters.

        Raises
        ------
        InputError
            For unknown parameters.
        """
        changes = self._changed_by(parameters)
        functionals = functional if type(functional) in (list, tuple) else [functional]
        moved = [self._solved(*(-one for one in self._of_conditions(change)))[0] for change in changes]
        return np.concatenate([np.array([self._forward(f, *one) for one in zip(changes, moved, strict=True)]).T
                               for f in functionals])

    def _forward(self, functional, change, dw):
        if isinstance(functional, Objective):
            return np.array([self._of_cost(change)])
        phase, own = self._in_phase(functional)
        there, length = self._of_phase(phase, change), self._of_phase(phase, self._base).span[1]
        return phase.forward(own, there, dw) + phase.by_span(own, there, length)

    def labels(self, parameters: Any) -> list[str]:
        """Names of the parameters, one per entry, list of str."""
        return [change.label for change in changes_of(self.problem, parameters)]

    # ---- the active set

    def _active_set(self, program):
        it, bounds = self._at.it, self._barrier.bounds
        active = it.z > it.slack
        small, large = np.minimum(it.z, it.slack), np.maximum(it.z, it.slack)
        self.weakly_active = self._names(program, np.flatnonzero(small > self.options.weak * large))
        low = np.arange(len(active)) < bounds.n_low
        self._holds = [np.zeros(len(it.w), bool) for _ in range(2)]
        for out, which in zip(self._holds, (low, ~low), strict=True):
            out[bounds.at[which & active]] = True
        self._multipliers = [np.zeros(len(it.w)) for _ in range(2)]
        for out, which in zip(self._multipliers, (low, ~low), strict=True):
            out[bounds.at[which]] = it.z[which]
        self._sigma = np.where(self._holds[0] | self._holds[1], self.options.holds, 0.0)
        slacks = self._sigma[self._barrier.n:]
        slacks[slacks == 0] = self.options.leaves

    @cached_property
    def _flat(self):
        """What was added to the curvatures for the factors, shape (n,): directions that nothing depends on, such as
        that of a thrust of zero, have none of their own. Refinement takes it away again.

        Raises
        ------
        SolveError
            Where the cost falls in some direction.
        """
        if self.weakly_active:
            first, *others = self.weakly_active
            more = f" and {len(others)} more" * bool(others)
            warn(f"the set of active limits changes here: {first}{more} is just reached, without a "
                 "multiplier; derivatives are those of one side", ActiveSetChange)
        self._direction.look(self._at.it)
        delta = self.options.least_added
        while delta <= self.options.most_added:
            if self._direction._factor(self._sigma, delta) and self._direction.matrix.excess == 0:
                return delta * self._direction._damped
            delta *= self.options.growth
        raise SolveError("the optimum is not a minimum to second order, and its states and controls have no "
                         "derivatives: with the limits that are active the cost still falls in some direction")

    def _names(self, program, places):
        n, found = self._barrier.n, []
        for place in self._barrier.bounds.at[places]:
            row = program.describe_variable(int(place)) if place < n else program.describe(
                int(self._barrier.auxiliary.row[place - n]))
            found.append(f"{row.name} at t = {row.time:.6g}")
        return list(dict.fromkeys(found))

    # ---- conditions of optimality of changed problems

    def _program_of(self, problem, equations, x, warm=False):
        """The program, and those of the motions of its phases."""
        own = [OptimalProgram(*one, warm=warm) for one in zip(equations, x, strict=True)]
        problems, couplings = [one.problem for one in equations], problem.couplings
        if len(own) == 1 and not couplings:
            return own[0], own
        ends = problems[0].symbols_at(0), problems[-1].symbols_at(1)
        return SequenceProgram(own, getattr(problem, "links", ()), Closing(couplings, ends), names=getattr(
            problem, "names", ())), own

    def _conditions(self, problem):
        """Those of a changed problem at the same variables and multipliers, and how many numbers each phase has."""
        changed = [phase.changed(own) for phase, own in zip(self._phases, phases_of(problem), strict=True)]
        equations, x, others = zip(*changed, strict=True)
        program, own = self._program_of(problem, equations, x)
        if (program.n, program.n_rows) != (self._barrier.n, self._barrier.m):
            raise InputError("a parameter changes the formulas of the problem, which then has other limits or "
                             "conditions; it has no derivative")
        units = self._variable_sizes / program.variable_sizes  # in those of the solution everywhere
        v, sizes = units * self._at.v, program.row_sizes / self._row_sizes
        for phase, one in zip(self._phases, own, strict=True):
            v[phase.first:phase.first + one.n_chain] = 0.0
        over = np.concatenate([1 / units, sizes])
        lower, upper = (over * _finite(np.concatenate(pair)) for pair in zip(program.bounds, program.row_bounds,
                                                                             strict=True))
        parts = list(zip(*others, strict=True))
        self._stops = [np.cumsum([len(one) for one in part])[:-1] for part in parts]
        return Conditions(units * program.gradient_of_lagrangian(v, 1.0, sizes * self._at.multipliers),
                          sizes * program.rows(v), lower, upper,
                          np.array([program.objective(v) * self._size]), *map(np.concatenate, parts))

    def _changed_by(self, parameters):
        """`Conditions` of each parameter, which functionals see among the numbers of parts."""
        changes, given = changes_of(self.problem, parameters), parameters
        given = given if type(given) in (list, tuple) else [given]
        if any([phase.sees([_alone(one, k) for one in given]) for k, phase in enumerate(self._phases)]):
            self._changes, self._base = {}, self._conditions(self.problem)
        return [self._change(change) for change in changes]

    def _change(self, change: Change) -> Conditions:
        """Derivatives of the conditions by one number."""
        known = None if change.made_anew else self._changes.get(change.label)
        if known is None:
            if change.made_anew:
                self._check_same(change)
            levels = (1,) if change.affine else (self.options.levels, self.options.first_step)
            flat = differentiated(lambda x: np.concatenate(self._conditions(change.problem(x))), change.at, *levels)
            stops = np.cumsum([len(one) for one in self._base])
            known = self._changes[change.label] = Conditions(*np.split(flat, stops[:-1]))
        return known

    def _check_same(self, change):
        for one, other in zip(self._conditions(change.problem(change.at)), self._base, strict=True):
            if one.shape != other.shape or not np.allclose(
                    one, other, rtol=1e-7, atol=1e-7 * np.abs(other).max(initial=0.0)):
                raise InputError(f"{change.label}: the solution is not that of the problem with its present value")

    def _bounds_moved(self, change):
        """Of lower and upper bounds of variables and slacks, scaled."""
        n, rows = self._barrier.n, self._barrier.auxiliary.row
        return [np.concatenate([moved[:n], self._scaled.row_scale[rows] * moved[n + rows]])
                for moved in (change.lower, change.upper)]

    def _of_cost(self, change):
        """Derivative of the Lagrangian, which is that of the cost."""
        n, size = self._barrier.n, self._size
        y, factor = self._at.multipliers, self._scaled.objective_scale
        equations = np.where(self._scaled.equation, change.lower[n:], 0.0)
        total = change.objective[0] / size + y @ (change.rows - equations)
        low, high = self._bounds_moved(change)
        return size * (total + (self._multipliers[0] @ low - self._multipliers[1] @ high) / factor)

    def _of_conditions(self, change):
        """Derivatives of the scaled conditions: of the gradient, by variables and slacks, and of the rows."""
        n, scaled = self._barrier.n, self._scaled
        of_w = np.concatenate([scaled.objective_scale * change.gradient, np.zeros(self._barrier.auxiliary.n)])
        for moved, holds in zip(self._bounds_moved(change), self._holds, strict=True):
            of_w -= np.where(holds, self._sigma * moved, 0.0)
        equations = np.where(scaled.equation, change.lower[n:], 0.0)
        return of_w, scaled.row_scale * (change.rows - equations)

    def _solved(self, of_w, of_rows):
        """Variables, slacks and multipliers `K^-1 b`."""
        direction, added = self._direction, self._flat
        found = np.zeros(len(of_w)), np.zeros(len(of_rows))
        left, size = (-of_w, -of_rows), max(np.abs(of_w).max(initial=0.0), np.abs(of_rows).max(initial=0.0))
        for _ in range(self.options.refinements):
            found = tuple(a + b for a, b in zip(found, direction._solve(*left), strict=True))
            left = direction._left(-of_w, -of_rows, *found)
            left[0][:] -= added * found[0]
        if max(np.abs(one).max(initial=0.0) for one in left) > self.options.exact * size:
            raise SolveError("the optimum is not a strict one, and what is prescribed depends on a direction in which "
                             "the cost does not grow: it has no derivative")
        return found

    # ---- functionals

    def _in_phase(self, functional):
        """The phase that a functional is of, and the functional there."""
        if isinstance(functional, InPhase):
            k = phase_number(self.problem, functional)
            if isinstance(functional.of, Objective):
                raise InputError("InPhase: the least cost is that of all phases together; give Objective() alone")
            return self._phases[k], functional.of
        if len(self._phases) > 1 and not isinstance(functional, EndValue):
            raise InputError(f"{type(functional).__name__}: of which phase? Give InPhase(phase, ...)")
        return self._phases[-1], functional

    def _of_phase(self, phase, change):
        """What a change changes of a phase."""
        k = self._phases.index(phase)
        return PhaseChange(*(one[k] for one in self._split(change)))

    def _split(self, change):
        """Starts, numbers and spans of all phases."""
        return [np.split(own, stops) for own, stops in zip(change[-3:], self._stops, strict=True)]


def _alone(parameter, k):
    """A parameter as one of a phase alone."""
    if isinstance(parameter, Family):
        return parameter._replace(build=lambda x: phases_of(parameter.build(x))[k])
    return getattr(parameter, "of", parameter) if isinstance(parameter, InPhase) else parameter


def _finite(bounds):
    return np.where(np.isfinite(bounds), bounds, 0.0)


def _problem_of(solution):
    """The problem of a solution, in one phase or several."""
    if not isinstance(solution, PhasedSolution):
        return problem_of(solution)[0]
    if not solution.success:
        raise InputError(f"the solution failed, and has no sensitivities: {solution.status.message}")
    if solution._problem is None:
        raise InputError("this solution does not know its problem; give solution.of_problem(problem)")
    return solution._problem
