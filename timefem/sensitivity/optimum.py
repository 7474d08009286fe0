"""Derivatives of an optimum: its conditions of optimality, linearised there with the limits that are active."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..argument_names import NamedArguments, known_names
from ..assembly import TimeMesh
from ..elements.augmented.part_numbers import NumberPlaces
from ..elements.evaluation.plan import ElementPlan
from ..elements.forms.base import velocities
from ..errors import ActiveSetChange, InputError, SolveError, warn
from ..problems.common.kept import Kept
from ..problems.optimal.guesses.guess import from_solution, stretched
from ..problems.optimal.solve import enters_parts, system_with_values
from ..problems.optimal.strategies.mesh_sequence import optimality_element, optimality_plan
from ..problems.optimal.transcription.equations import OptimalityEquations
from ..problems.optimal.transcription.nonlinear_program import OptimalProgram
from ..problems.optimal.transcription.sequence_program import Closing, SequenceProgram
from ..problems.optimal.transcription.sizes import has_contacts, scaling_of, with_objective
from ..problems.simulated.solution import OptimalSolution
from ..solvers.interior_point.algorithm import InteriorPoint
from ..solvers.nonlinear.program import gradient_of_lagrangian
from ..solving.receding.resumed import SOLVED, Resumed
from ..validate.records import Options, documented, option
from .differences import differentiated
from .functionals import Evaluated, Objective, UnknownNumber
from .optimum_changes import changes_of

if TYPE_CHECKING:
    from ..solution.solution import Solution
    from .functionals import Functional
    from .optimum_changes import Change


@documented
@dataclass(frozen=True)
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
    start: np.ndarray  # dofs of the first node
    numbers: np.ndarray  # of all parts
    span: np.ndarray  # start and length of the time span


class OptimumLinearization(NamedArguments):
    """The conditions of optimality of an optimal control problem, linearised at its solution with one factorisation.

    With variables w, multipliers y and the limits that are active, `F(w, y, p) = 0` are the conditions of Karush, Kuhn
    and Tucker. Their matrix K is symmetric: a gradient takes one solve `K s = dG/dw`, and is `dG/dp - s . dF/dp`,
    however many numbers p there are; that of the cost takes none, for it is the derivative of the Lagrangian (A. V.
    Fiacco: Introduction to Sensitivity and Stability Analysis in Nonlinear Programming. Academic Press, 1983). How F
    depends on p is found by differences of its residual at the same w and y: no problem is solved again.

    Parameters
    ----------
    solution : OptimalSolution
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
        For solutions that failed, of phases, with contacts, and copies that know no problem.
    SolveError
        When derivatives of states and controls are asked for that do not exist, as the optimum is not a strict one.
    """

    def __init__(self, solution: Solution, *, options: OptimumOptions | dict[str, Any] = DEFAULTS) -> None:
        self.options = OptimumOptions.of(options)
        self.problem, self._element = _problem_of(solution)
        problem, self.solution = self.problem, solution
        self._plan = plan = optimality_plan(problem, self._element)
        self._nodes = stretched(solution.t, problem.t_span)
        self._kept, mesh = Kept(once=False), TimeMesh(self._nodes)
        scale = scaling_of("full", problem, plan, mesh.nodes[0])
        x = from_solution(problem, plan, mesh, solution)
        equations = OptimalityEquations(problem, plan, mesh, scale, "chain")
        self._scale = with_objective(scale, equations.size_of_objective(x))
        self._equations = equations = OptimalityEquations(problem, plan, mesh, self._scale, "chain")
        program, own = self._program_of(equations, equations.with_end_costates(x), warm=True)
        self._at = at = Resumed(InteriorPoint(tolerance=self.options.tolerance), program)
        self._barrier, self._direction, self._scaled = at._solve.barrier, at._solve.direction, at._solve.scaled
        outcome = at.step()
        if outcome not in SOLVED:
            raise SolveError("the solution does not satisfy its conditions of optimality: they are missed by "
                             f"{at.error:.1e}")
        cost = self._scaled.program.objective(at.v) * equations.objective_size
        if abs(cost - solution.objective) > self.options.same * (1 + abs(solution.objective)):
            raise SolveError(f"near the solution, with the cost {solution.objective:.9g}, is a better one with "
                             f"{cost:.9g}; solve to a smaller tolerance first")
        self.x = own.place(at.v[:own.n], at.multipliers[:own.n_equations])
        self._numbers_found = equations.numbers(self.x)
        self._own, self._row_sizes, self._variable_sizes = own, program.row_sizes, program.variable_sizes
        self._active_set(program)
        self._changes: dict[str, Conditions] = {}
        self._evaluated: dict[Any, Evaluated] = {}
        self._base = self._conditions(problem)

    # ---- what users ask for

    def value(self, functional: Functional | Objective | UnknownNumber) -> np.ndarray:
        """Values of a functional, shape (m,)."""
        if isinstance(functional, Objective):
            return np.array([self.solution.objective])
        if isinstance(functional, UnknownNumber):
            return self._numbers_found[[self._number(functional)]]
        return self._of(functional).values

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
        changes = [self._change(change) for change in changes_of(self.problem, parameters)]
        if isinstance(functional, Objective):
            return np.array([self._of_cost(change) for change in changes])
        if len(self.value(functional)) != 1:
            raise InputError(f"a gradient needs a functional with one value, not {len(self.value(functional))}; use "
                             "sensitivities, or one component")
        by_x, by_numbers = self._backward(functional)
        steps = self._solved(self._by_variables(by_x), np.zeros(self._barrier.m))
        return np.array([self._explicit(by_x, by_numbers, change) + self._by_span(functional, change)[0] - sum(
            step @ of for step, of in zip(steps, self._of_conditions(change), strict=True)) for change in changes])

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
        changes = [self._change(change) for change in changes_of(self.problem, parameters)]
        functionals = functional if isinstance(functional, list | tuple) else [functional]
        moved = [self._moved(change) for change in changes]
        return np.concatenate([np.array([self._forward(f, *one) for one in zip(changes, moved, strict=True)]).T
                               for f in functionals])

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

    def _program_of(self, equations, x, warm=False):
        """The program, and that of the motion alone."""
        own = OptimalProgram(equations, x, warm=warm)
        couplings = equations.problem.couplings
        if not couplings:
            return own, own
        ends = equations.problem.symbols_at(0), equations.problem.symbols_at(1)
        return SequenceProgram([own], (), Closing(couplings, ends)), own

    def _conditions(self, problem):
        problem = self._with_same_combinations(problem)
        element, system = optimality_element(problem, self._element)
        plan = self._kept.plan(system, element)
        mesh = TimeMesh(stretched(self._nodes, problem.t_span))
        equations = self._kept.thing("equations", plan, lambda: OptimalityEquations(
            problem, plan, mesh, self._scale, "chain"), lambda known: known.renew_for(problem, mesh, self._scale))
        x = self.x.copy()
        node = x[:plan.columns.n_node]
        if not problem.free_start:
            fields = dict(zip(element.trial, plan.columns.fields, strict=True))
            node[fields["state"][0]] = problem.z0
            if "velocity" in fields:
                node[fields["velocity"][0]] = velocities(problem.system, mesh.nodes[0], problem.z0)
        program, own = self._program_of(equations, x)
        if (program.n, program.n_rows) != (self._barrier.n, self._barrier.m):
            raise InputError("a parameter changes the formulas of the problem, which then has other limits or "
                             "conditions; it has no derivative")
        units = self._variable_sizes / program.variable_sizes  # in those of the solution everywhere
        v, sizes = units * self._at.v, program.row_sizes / self._row_sizes
        v[:own.n_chain] = 0.0
        over = np.concatenate([1 / units, sizes])
        numbers = NumberPlaces(self._system_of(problem, system, element)).values
        lower, upper = (over * _finite(np.concatenate(pair)) for pair in zip(program.bounds, program.row_bounds,
                                                                             strict=True))
        size = equations.objective_size
        return Conditions(units * gradient_of_lagrangian(program, v, 1.0, sizes * self._at.multipliers),
                          sizes * program.rows(v), lower, upper,
                          np.array([program.objective(v) * size]), node.copy(), numbers,
                          np.array([problem.t_span[0], problem.t_span[1] - problem.t_span[0]]))

    def _with_same_combinations(self, problem):
        """The problem with the combinations of conditions at its ends that the solution has."""
        own, found = self.problem, copy(problem)
        found.held = own.held
        for name in ("conditions", "start_conditions"):
            base, here = getattr(own, name), getattr(problem, name)
            if base is None or here is None or here is base:
                continue
            if len(base.names) != len(here.names):
                raise InputError("a parameter changes what is prescribed at the ends; it has no derivative")
            here = copy(here)
            here.combinations = base.combinations
            setattr(found, name, here)
        return found

    def _system_of(self, problem, system, element, numbers=None):
        if not enters_parts(problem):
            return system
        values = self._numbers_found if numbers is None else numbers
        return system_with_values(problem, element, dict(zip(problem.unknown_names, values.tolist(), strict=True)))

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
            if one.shape != other.shape or not np.allclose(one, other, rtol=1e-7, atol=1e-7):
                raise InputError(f"{change.label}: the solution is not that of the problem with its present value")

    def _bounds_moved(self, change):
        """Of lower and upper bounds of variables and slacks, scaled."""
        n, rows = self._barrier.n, self._barrier.auxiliary.row
        return [np.concatenate([moved[:n], self._scaled.row_scale[rows] * moved[n + rows]])
                for moved in (change.lower, change.upper)]

    def _of_cost(self, change):
        """Derivative of the Lagrangian, which is that of the cost."""
        n, size = self._barrier.n, self._equations.objective_size
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

    def _of(self, functional):
        if functional not in self._evaluated:
            element, system = optimality_element(self.problem, self._element)
            system = self._system_of(self.problem, system, element)
            plan, mesh = ElementPlan(system, element), TimeMesh(self.solution.t)
            self._evaluated[functional] = Evaluated(functional, plan, mesh, self._dofs, NumberPlaces(system))
        return self._evaluated[functional]

    @property
    def _dofs(self):
        return self._equations.dofs(self.x)

    def _number(self, functional):
        names = self.problem.unknown_names
        if functional.name not in names:
            raise InputError(f"UnknownNumber: {functional.name!r} is not an unknown number of the problem"
                             f"{known_names(functional.name, names, 'there are')}")
        return names.index(functional.name)

    def _by_unknown_numbers(self, functional, of_numbers):
        """Gradient by the unknown numbers themselves; `of_numbers` is that by all numbers of the parts."""
        problem, found = self.problem, np.zeros(len(self._numbers_found))
        element, system = optimality_element(problem, self._element)
        if problem.free_time:
            at = self._of(functional)
            found[0] += at.by_length(self._dofs, self.solution.t[0])[0] / self._numbers_found[0]
        for i in range(problem.free_time, len(found)) if enters_parts(problem) and of_numbers.any() else ():
            found[i] += of_numbers @ differentiated(lambda x, i=i: NumberPlaces(self._system_of(
                problem, system, element, np.where(np.arange(len(found)) == i, x, self._numbers_found))).values,
                self._numbers_found[i])
        return found

    def _backward(self, functional):
        """Gradients by all dofs and by the numbers of the parts."""
        by_x = np.zeros(len(self._dofs))
        if isinstance(functional, UnknownNumber):
            of_unknown, by_numbers = np.eye(len(self._numbers_found))[self._number(functional)], None
        else:
            own, by_numbers = self._of(functional).backward(np.ones(1), len(by_x), len(self._base.numbers))
            by_x += own
            of_unknown = self._by_unknown_numbers(functional, by_numbers)
        if len(of_unknown):
            columns = self._plan.columns
            constants = columns.fields[list(self._plan.element.trial).index("constants")][0]
            by_x[len(by_x) - columns.n_node + constants] += of_unknown * self.problem.units
        return by_x, by_numbers

    def _by_variables(self, by_x):
        """The gradient by scaled variables and slacks."""
        out, own = np.zeros(len(self._at.it.w)), self._own
        (places, sizes), _ = own._moves
        out[:len(places)] = by_x[places] * sizes
        return out

    def _explicit(self, by_x, by_numbers, change):
        """What does not come by the variables: the start, where it is given, and numbers of the parts."""
        found = 0.0 if by_numbers is None else by_numbers @ change.numbers
        return found + by_x[:len(change.start)] @ change.start

    def _by_span(self, functional, change):
        """What comes by a mesh that is longer; where the time is free its length is a dof."""
        start, length = change.span
        if abs(start) > 0 and not isinstance(functional, UnknownNumber):
            raise InputError("a parameter moves the start of the time span; differentiate by its length alone")
        if self.problem.free_time or not length:
            return np.zeros(len(self.value(functional)))
        return self._of(functional).by_length(self._dofs, self.solution.t[0]) * length / self._base.span[1]

    def _moved(self, change):
        """Changes of all dofs."""
        dw, _ = self._solved(*(-one for one in self._of_conditions(change)))
        dx = np.zeros(len(self._dofs))
        dx[:len(change.start)] = change.start
        (places, sizes), _ = self._own._moves
        dx[places] += dw[:len(places)] * sizes
        return dx

    def _forward(self, functional, change, dx):
        if isinstance(functional, Objective):
            return np.array([self._of_cost(change)])
        columns, unknown = self._plan.columns, np.zeros(0)
        if len(self._numbers_found):
            constants = columns.fields[list(self._plan.element.trial).index("constants")][0]
            unknown = dx[len(dx) - columns.n_node + constants] * self.problem.units
        if isinstance(functional, UnknownNumber):
            return unknown[[self._number(functional)]]
        at, numbers, problem = self._of(functional), change.numbers.copy(), self.problem
        element, system = optimality_element(problem, self._element)
        if enters_parts(problem) and len(problem.numbers):
            numbers += differentiated(lambda s: NumberPlaces(self._system_of(
                problem, system, element, self._numbers_found + s * unknown)).values, 0.0)
        found = at.forward(dx[:, None], numbers[:, None])[:, 0]
        if problem.free_time:
            found = found + at.by_length(self._dofs, self.solution.t[0]) * unknown[0] / self._numbers_found[0]
        return found + self._by_span(functional, change)


def _finite(bounds):
    return np.where(np.isfinite(bounds), bounds, 0.0)


def _problem_of(solution):
    """The problem of a solution, and its element."""
    if not isinstance(solution, OptimalSolution):
        raise InputError("derivatives of an optimum are those of a Solution of one OptimalControl problem; phases have "
                         "none")
    if not solution.success:
        raise InputError(f"the solution failed, and has no sensitivities: {solution.status.message}")
    problem = solution._problem
    if problem is None:
        raise InputError("this solution does not know its problem; give solution.of_problem(problem)")
    if has_contacts(problem):
        raise InputError("the forces of contacts are smoothed; derivatives of such an optimum would be those of the "
                         "smoothing")
    element = solution.element
    while hasattr(element, "element"):
        element = element.element
    return problem, element
