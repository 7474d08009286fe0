"""The discrete equations of a solution, linearised there: one factorisation for all gradients."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from ..assembly import TimeMesh
from ..elements.evaluation.plan import ElementPlan
from ..elements.part_numbers import NumberPlaces
from ..errors import InputError, NamedArguments, SolveError, named_arguments
from ..mechanics.symbols import Symbols
from ..problems.boundary.conditions import Reduction
from ..problems.boundary.equations import BoundaryForm, node_places
from ..problems.boundary.solver import BoundarySolver
from ..problems.initial.global_driver import Global
from ..problems.optimal.guesses.guess import stretched
from ..problems.task import Kept
from ..solution.contact_solution import ContactSolution
from ..solution.solution import Solution
from .derivatives import Derivatives, check_solution
from .functionals import Evaluated, UnknownNumber, Values
from .initial_state import Start
from .optimum import DEFAULTS
from .optimum_changes import Bound, InPhase, changes_of, number_of_unknown
from .parameters import Directions, differentiated, numbers_of_formulas, with_numbers_of_formulas
from .through_events import Stretch, ThroughEvents

if TYPE_CHECKING:
    from ..mechanics.forces.controllers import SampledController
    from ..problems.boundary.problem import BoundaryValueProblem
    from ..solvers.linear.base import LinearOptions
    from .functionals import Functional
    from .optimum_changes import Change


class Linearization(Stretch, Derivatives):
    """The equations `R(x, c) = 0` of an initial-value problem at its solution: factors of `A = dR/dx`.

    Assembled and factored once, all elements together, however the solution was found: a march solves the same
    equations one element after the other. Then a gradient costs one transposed solve with A, and one evaluation of
    the elements, however many parameters there are; a forward sensitivity costs one solve per parameter.

    Of a march with rigid contacts the elements between two events are such equations each; times of events are
    unknowns, and impacts are differentiated with their statuses (see `timefem.sensitivity.through_events`).

    Parameters
    ----------
    solution : Solution
    linear : LinearOptions or str, optional
        The linear solver, or its shorthand; default: the time-chain LU. Under mpirun one that is distributed shares A
        and its factors among the ranks; every rank calls everything, and has all values and gradients.

    Raises
    ------
    InputError
        For a solution that failed, or is not one of an initial-value problem in one piece, and for a linear solver
        without transposed solves, which gradients need, when one is asked for.
    """

    @named_arguments
    def __new__(cls, solution: Solution, linear: LinearOptions | str | None = None) -> Any:
        if hasattr(getattr(solution, "_problem", None), "conditions_at_ends"):
            return BoundaryLinearization(solution, linear)
        return ThroughEvents(solution, linear) if isinstance(solution, ContactSolution) else super().__new__(cls)

    def __init__(self, solution: Solution, linear: LinearOptions | str | None = None) -> None:
        check_solution(solution)
        self._solution, self._linear = solution, linear
        plan, mesh = ElementPlan(solution.system, solution.element), TimeMesh(solution.t)
        super().__init__(plan, mesh, plan.columns.pack(*_nodal_values(plan, solution)), linear)
        self.start = Start(self.plan, mesh.nodes[0], solution.z[0])
        self._values = {}
        held = [part for part in self.system.parts if part.period is not None and part.n_held > 1]
        self._feedback = SampledFeedback(self, held) if held else None

    def end_tangents(self, given: Directions) -> np.ndarray:
        columns = self.plan.columns
        return self.tangents(given)[(self.mesh.n_elements - 1) * columns.step + columns.first[-1]]

    def gradient(self, functional: Functional, parameters: Any) -> np.ndarray:
        """Gradient of a scalar functional by one transposed solve; see `timefem.gradient`.

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
        given, at = self._directions(parameters), self._of_one_value(functional)
        by_x, by_numbers = at.backward(np.ones(1), len(self.x), self.places.size)
        if self._feedback is not None:
            by_x, by_numbers = self._feedback.back(by_x, by_numbers)
        costates = self.transposed_solve(by_x)
        wanted = np.unique(given.numbers.indices)
        by_numbers -= self.residual_by_numbers(costates, wanted)
        first = by_x[:self.plan.columns.n_node] - self.residual_by_first_node(costates)
        return given.numbers.T @ by_numbers + self._start_changes(first[None], given)[0]

    def sensitivities(self, functional: Functional | Sequence[Functional], parameters: Any) -> np.ndarray:
        """Derivatives of all values of a functional by one solve per parameter; see `timefem.sensitivities`.

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
        given = self._directions(parameters)
        functionals = functional if isinstance(functional, list | tuple) else [functional]
        every, numbers = [self._evaluated(f) for f in functionals], given.numbers.toarray()
        tangents = self.motion_of_equations(given)
        if self._feedback is not None:
            tangents, numbers = self._feedback.follow(tangents, numbers)
        return np.concatenate([at.forward(tangents, numbers) for at in every])

    # ---- the equations

    def tangents(self, given: Directions) -> np.ndarray:
        """Changes of all dofs with parameters, given as `Directions`, shape (n_dofs, n_parameters)."""
        tangents = self.motion_of_equations(given)
        return tangents if self._feedback is None else self._feedback.follow(tangents, given.numbers.toarray())[0]

    def motion_of_equations(self, given: Directions) -> np.ndarray:
        """The same where sampled controllers go on holding what they held."""
        first = self._start_changes(np.eye(self.plan.columns.n_node), given)
        return self.motion(first, self.change_of_residual(given.numbers))

    def _evaluated(self, functional):
        if functional not in self._values:
            self._values[functional] = Evaluated(functional, self.plan, self.mesh, self.x, self.places)
        return self._values[functional]


class BoundaryChange(NamedTuple):
    """What one number changes of a boundary-value problem at its solution."""

    rows: np.ndarray  # of all equations, scaled
    first: np.ndarray  # dofs of the first node, as far as they are prescribed
    numbers: np.ndarray  # of all parts
    span: np.ndarray  # start and length of the time span


class BoundaryLinearization(NamedArguments):
    """The equations `R(x, p) = 0` of a boundary-value problem at its solution: factors of `A = dR/dx`.

    With the conditions at both ends, and what is unknown there. A gradient takes one solve with A transposed, a forward
    sensitivity one solve for each parameter. How R depends on numbers p is found by differences of R at the same x, of
    problems that differ in these: none is solved again.

    Parameters
    ----------
    solution : Solution
    linear : LinearOptions or str, optional
        As for a `Linearization`, on one process.

    Raises
    ------
    InputError
        For solutions that failed.
    SolveError
        Where the conditions do not determine the motion.
    """

    def __init__(self, solution: Solution, linear: LinearOptions | str | None = None) -> None:
        if not solution.success:
            raise InputError(f"the solution failed, and has no sensitivities: {solution.status.message}")
        self.solution, self.problem, self._kept = solution, solution._problem, Kept(once=False)
        self._driver = Global(linear="chain" if linear is None else linear)
        if self._driver.distributed:
            raise InputError("linear: derivatives of boundary-value problems are those of one process; take one "
                             "that is not distributed")
        solver = BoundarySolver(self.problem, solution.element, self._driver)
        self.form, self._nodes = solver.form, stretched(solution.t, self.problem.t_span)
        self.x, status, _ = solver.newton(mesh := TimeMesh(self._nodes), solver.from_solution(solution, mesh), False)
        if not status.success:
            raise SolveError(f"the solution does not satisfy its equations: {status.message}")
        self.equations = self.form.equations(mesh, self.x, linear=self._driver.linear)
        self.equations.evaluate(self.x)
        self.equations.factor()
        self._found = np.array(list(self.form.numbers(self.x).values()))
        self._free, self._values, self._changes = {}, {}, {}
        self.system = self._system_of(self.form, self._found)

    # ---- what users ask for

    def value(self, functional: Functional | UnknownNumber) -> np.ndarray:
        """Values of a functional, shape (m,)."""
        if isinstance(functional, UnknownNumber):
            return self._found[[number_of_unknown(self.problem, functional)]]
        return self._evaluated(functional).values

    def labels(self, parameters: Any) -> list[str]:
        """Names of the parameters, one per entry, list of str."""
        return [change.label for change in self._changes_of(parameters)]

    def gradient(self, functional: Functional | UnknownNumber, parameters: Any) -> np.ndarray:
        """Gradient of a scalar functional by one transposed solve; see `timefem.gradient`.

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
            For functionals with several values, and for parameters that the problem does not have, or with other values
            of which it has no solution.
        """
        changes = self._changed_by(parameters)
        if len(self.value(functional)) != 1:
            raise InputError(f"a gradient needs a functional with one value, not {len(self.value(functional))}; use "
                             "sensitivities, or one component")
        by_x, by_numbers = np.zeros_like(self.x), np.zeros(NumberPlaces(self.system).size)
        dofs = self.form.dofs(by_x)
        if isinstance(functional, UnknownNumber):
            by_unknown = np.eye(len(self._found))[number_of_unknown(self.problem, functional)]
        else:
            own, by_numbers = self._evaluated(functional).backward(np.ones(1), len(dofs), len(by_numbers))
            dofs += own
            by_unknown = by_numbers @ self._numbers_by_unknown
            if self.problem.free_time:
                by_unknown[0] += self._by_length(functional)[0] / self._found[0]
        dofs[self._constants] += by_unknown * self._units
        (first, inner, last), index = self.equations.split(by_x), self.equations.assembler.pattern.column_index
        costates = self.equations.solve_whole(
            np.concatenate([first, inner[index], last]) * self.equations.sizes, transposed=True)
        return np.array([dofs[:len(one.first)] @ one.first + by_numbers @ one.numbers - costates @ one.rows
                         + self._by_span(functional, one)[0] for one in changes])

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
            As `gradient`.
        """
        changes = self._changed_by(parameters)
        functionals = functional if isinstance(functional, list | tuple) else [functional]
        moved = [self._moved(change) for change in changes]
        return np.concatenate([np.array([self._forward(one, *of) for of in zip(changes, moved, strict=True)]).T
                               for one in functionals])

    # ---- functionals

    def _evaluated(self, functional):
        if functional not in self._values:
            plan = SimpleNamespace(system=self.system, element=self.form.full_element, columns=self.form.plan.columns)
            self._values[functional] = Evaluated(functional, plan, TimeMesh(self.solution.t), self.form.dofs(self.x),
                                                 NumberPlaces(self.system))
        return self._values[functional]

    def _system_of(self, form, unknown):
        """The system of the functionals of a problem, with the numbers found, and those that are asked for as numbers.
        """
        system = form.solved_system(dict(zip(form.problem.unknown_names, unknown.tolist(), strict=True)))
        return with_numbers_of_formulas(system, self._free)

    @property
    def _constants(self):
        """Places of the unknown numbers in the dofs of the last node."""
        columns, dofs = self.form.plan.columns, self.form.dofs(self.x)
        return np.array(node_places(self.form, "constants"), int)[:len(self._found)] + len(dofs) - columns.n_node

    @property
    def _units(self):
        """What their dofs are multiplied with."""
        units = np.ones(len(self._found))
        units[:int(self.problem.free_time)] = self.form.span
        return units

    @cached_property
    def _numbers_by_unknown(self):
        """Of the numbers of all parts by those found, shape (n_numbers, n_unknown)."""
        n = len(self._found)
        found = [differentiated(lambda x, i=i: NumberPlaces(self._system_of(self.form, np.where(
            np.arange(n) == i, x, self._found))).values, self._found[i]) for i in range(n)]
        return np.array(found).T if n else np.zeros((NumberPlaces(self.system).size, 0))

    def _by_length(self, functional):
        return self._evaluated(functional).by_length(self.form.dofs(self.x), self.solution.t[0])

    def _by_span(self, functional, change):
        """What comes by a mesh that is longer; where the time is free its length is a dof."""
        start, longer = change.span
        if start and not isinstance(functional, UnknownNumber):
            raise InputError("a parameter moves the start of the time span; differentiate by its length alone")
        if self.problem.free_time or not longer or isinstance(functional, UnknownNumber):
            return np.zeros(len(self.value(functional)))
        return self._by_length(functional) * longer / self.form.span

    def _forward(self, functional, change, dx):
        unknown = self.form.dofs(dx)[self._constants] * self._units
        if isinstance(functional, UnknownNumber):
            return unknown[[number_of_unknown(self.problem, functional)]]
        numbers = change.numbers + self._numbers_by_unknown @ unknown
        found = self._evaluated(functional).forward(self.form.dofs(dx)[:, None], numbers[:, None])[:, 0]
        if self.problem.free_time:
            found = found + self._by_length(functional) * unknown[0] / self._found[0]
        return found + self._by_span(functional, change)

    def _moved(self, change):
        """Changes of all unknowns."""
        dx = self.equations.moved(np.zeros_like(self.x), self.equations.solve_whole(-change.rows), 1.0)
        self.form.dofs(dx)[:len(change.first)] += change.first
        return dx

    # ---- changed problems

    def _changes_of(self, parameters):
        given = parameters if type(parameters) in (list, tuple) else [parameters]
        for one in given:
            if isinstance(one, Bound | InPhase):
                raise InputError(f"{type(one).__name__}: a boundary-value problem has none; parameters are Parameter, "
                                 "Initial, Final or Family")
        return changes_of(self.problem, parameters)

    def _changed_by(self, parameters):
        """The `BoundaryChange` of each parameter, which functionals see among the numbers of parts."""
        changes = self._changes_of(parameters)
        free = numbers_of_formulas(self.problem.system, parameters)
        if free != self._free:
            self._free, self._values, self._changes = free, {}, {}
            self.system = self._system_of(self.form, self._found)
            vars(self).pop("_numbers_by_unknown", None)
        return [self._change(change) for change in changes]

    def _change(self, change: Change) -> BoundaryChange:
        """Derivatives of the equations by one number."""
        known = None if change.made_anew else self._changes.get(change.label)
        if known is None:
            base = self._at(self.problem)
            if change.made_anew and not np.allclose(self._at(change.problem(change.at)).rows, base.rows, rtol=0,
                                                    atol=DEFAULTS.same):
                raise InputError(f"{change.label}: the solution is not that of the problem with its present value")
            flat = differentiated(lambda x: np.concatenate(self._at(change.problem(x))), change.at,
                                  DEFAULTS.levels, DEFAULTS.first_step)
            stops = np.cumsum([len(one) for one in base])
            known = self._changes[change.label] = BoundaryChange(*np.split(flat, stops[:-1]))
        return known

    def _at(self, problem: BoundaryValueProblem) -> BoundaryChange:
        """Equations of a changed problem, and what else differs, at the unknowns that were found."""
        base, conditions = self.problem.conditions_at_ends, copy(problem.conditions_at_ends)
        if conditions.formulas.names != base.formulas.names:
            raise InputError("a parameter changes what is prescribed at the ends; it has no derivative")
        exact = self.solution.element.can_march  # whose nodes hold the constraints: any combinations say the same
        conditions.reductions = [_alike(one, here, conditions.wanted, exact) for one, here in zip(
            base.reductions, conditions.reductions, strict=True)]
        form = BoundaryForm(conditions, self.solution.element, kept=self._kept, like=self.form)
        mesh, x = TimeMesh(stretched(self._nodes, problem.t_span)), self.x.copy()
        form.prescribe(form.dofs(x))
        rows = form.equations(mesh, x, linear=self._driver.linear).evaluate(x).copy()
        return BoundaryChange(rows, form.dofs(x)[:form.plan.columns.n_node].copy(),
                              NumberPlaces(self._system_of(form, self._found)).values,
                              np.array([problem.t_span[0], problem.t_span[1] - problem.t_span[0]]))


def _alike(base, here, wanted, exact):
    """Combinations of conditions that are as near to others as those of the same span are, of which any may be taken;
    elements that hold constraints in the mean leave it to the combinations what is kept exactly."""
    if base.matrix.shape != here.matrix.shape:
        raise InputError("a parameter changes how many conditions at the ends are independent; it has no derivative")
    if exact:
        return Reduction(base.rows, base.matrix, wanted[base.rows])
    matrix = base.matrix @ np.linalg.pinv(here.matrix) @ here.matrix
    matrix = np.where((base.matrix != 0) & (matrix != 0), matrix, base.matrix)  # zeros tell what couples the ends
    return Reduction(base.rows, matrix, here.wanted)


def _nodal_values(plan, solution):
    """Nodal values of all trial fields, in their order."""
    kept = plan.element.kept_multipliers(plan.system)
    given = {"state": solution.nodal.state, "multipliers": solution.nodal.multipliers[..., kept], **solution.fields}
    n = len(solution.nodal.state)
    return [given.get(name, np.zeros((n, *field.shape)))
            for name, field in zip(plan.element.trial, plan.columns.fields, strict=True)]


class Told(Values):
    """What the law of a controller says at the times at which it is reported, as far as it is held later."""

    def __init__(self, controller: SampledController, start: float) -> None:
        self.part = controller
        super().__init__(self._law, start + controller.period * np.arange(controller.n_held - 1), controller.bodies)

    def _law(self, views, t, own):
        s = Symbols(self.part)
        at = s.at([view.q for view in views], s.p, [view.v for view in views], t)
        at.own = own
        return self.part.told_in(at)


class SampledFeedback:
    """The held forces of all sampled controllers at a solution.

    Parameters
    ----------
    linearization : Linearization
    controllers : list of SampledController
    """

    def __init__(self, linearization: Linearization, controllers: list[SampledController]) -> None:
        lin = linearization
        self._told = [Evaluated(Told(c, lin.mesh.nodes[0]), lin.plan, lin.mesh, lin.x, lin.places)
                      for c in controllers]
        self._held = np.concatenate([lin.places.start[c] + c.places_of_held() for c in controllers])
        self._n = len(lin.x), lin.places.size
        n, system = len(self._held), lin.system
        entries = np.ones(n), (self._held, np.arange(n))
        units = scipy.sparse.csc_array(entries, shape=(lin.places.size, n))
        rest = [scipy.sparse.csc_array((rows, n)) for rows in (lin.places.size, system.n_q, system.n_q, system.n_z)]
        self._motion = lin.motion_of_equations(Directions(units, *rest, [""] * n))
        self._matrix = np.eye(n) - self._forward(self._motion, np.zeros((lin.places.size, n)))

    def _forward(self, dx, dc):
        return np.concatenate([told.forward(dx, dc) for told in self._told])

    def follow(self, dx: np.ndarray, dc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Changes of dofs and numbers, shapes (n_dofs, n), (n_numbers, n), from those with the held forces kept."""
        change = np.linalg.solve(self._matrix, self._forward(dx, dc))
        dc = dc.copy()
        dc[self._held] += change
        return dx + self._motion @ change, dc

    def back(self, by_x: np.ndarray, by_c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients by dofs and numbers with the held forces kept, from those of what follows, shapes (n_dofs,), ..."""
        by_told = np.linalg.solve(self._matrix.T, by_c[self._held] + self._motion.T @ by_x)
        by_x, by_c, first = by_x.copy(), by_c.copy(), 0
        by_c[self._held] = 0.0
        for told in self._told:
            x, c = told.backward(by_told[first:first + len(told.values)], *self._n)
            first += len(told.values)
            by_x += x
            by_c += c
        return by_x, by_c
