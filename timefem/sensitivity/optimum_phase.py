"""One phase of an optimum, or all of it: its equations, and how functionals depend on its unknowns."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..assembly import TimeMesh
from ..elements.evaluation.plan import ElementPlan
from ..elements.form import velocities
from ..elements.part_numbers import NumberPlaces
from ..errors import InputError
from ..problems.controls_marched import OptimalSolution
from ..problems.optimal.guesses.guess import from_solution, stretched
from ..problems.optimal.kind import enters_parts, system_with_values
from ..problems.optimal.strategies.mesh_sequence import optimality_element, optimality_plan
from ..problems.optimal.transcription.equations import OptimalityEquations
from ..problems.optimal.transcription.sizes import has_contacts, scaling_of, with_objective
from ..problems.task import Kept
from .functionals import Evaluated, UnknownNumber
from .optimum_changes import number_of_unknown
from .parameters import differentiated, numbers_of_formulas, with_numbers_of_formulas

if TYPE_CHECKING:
    from ..problems.optimal.problem import OptimalControl
    from ..solution.solution import Solution


class PhaseChange(NamedTuple):
    """What one number changes of a phase besides the program."""

    start: np.ndarray  # dofs of the first node
    numbers: np.ndarray  # of all parts
    span: np.ndarray  # start and length of the time span


class OptimumPhase:
    """The optimality equations of one phase at its solution.

    Attributes
    ----------
    problem : OptimalControl
    equations : OptimalityEquations
    x : ndarray
        All unknowns.
    numbers_found : ndarray
        Unknown numbers of the problem.
    first : int
        Place of its first variable in the program.
    """

    def __init__(self, solution: Solution) -> None:
        self.solution, (self.problem, self._element) = solution, problem_of(solution)
        problem, self.first = self.problem, 0
        self.plan = optimality_plan(problem, self._element)
        self._nodes = stretched(solution.t, problem.t_span)
        self._mesh, self._kept = TimeMesh(self._nodes), Kept(once=False)
        self._scale = scaling_of("full", problem, self.plan, self._mesh.nodes[0])
        self._guess = from_solution(problem, self.plan, self._mesh, solution)
        self.equations = self._equations()
        self.size_of_objective = self.equations.size_of_objective(self._guess)
        self._evaluated: dict[Any, Evaluated] = {}
        self._free: dict[str, list[tuple]] = {}

    def sees(self, parameters: list[Any]) -> bool:
        """Let functionals see all numbers that are asked for; whether they have not before."""
        free = numbers_of_formulas(self.problem.system, parameters)
        if free == self._free:
            return False
        self._free, self._evaluated = free, {}
        return True

    def _equations(self):
        return OptimalityEquations(self.problem, self.plan, self._mesh, self._scale, "chain")

    def begin(self, size: float) -> np.ndarray:
        """All unknowns to begin with, the objective being taken over its size."""
        self._scale = with_objective(self._scale, size)
        self.equations = self._equations()
        return self.equations.with_end_costates(self._guess)

    def take(self, program: Any, x: np.ndarray, first: int) -> None:
        """Take all unknowns, and the place of its program in that of all phases."""
        self._own, self.x, self.first = program, x, first
        self.numbers_found = self.equations.numbers(x)

    def changed(self, problem: OptimalControl) -> tuple[OptimalityEquations, np.ndarray, PhaseChange]:
        """Equations of a changed problem, all unknowns for them, and what else differs."""
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
        numbers = NumberPlaces(self._system_of(problem, system, element)).values
        return equations, x, PhaseChange(node.copy(), numbers, np.array([
            problem.t_span[0], problem.t_span[1] - problem.t_span[0]]))

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
        if enters_parts(problem):
            values = self.numbers_found if numbers is None else numbers
            found = dict(zip(problem.unknown_names, values.tolist(), strict=True))
            system = system_with_values(problem, element, found)
        return with_numbers_of_formulas(system, self._free)

    # ---- functionals

    def value(self, functional: Any) -> np.ndarray:
        """Values of a functional, shape (m,)."""
        if isinstance(functional, UnknownNumber):
            return self.numbers_found[[number_of_unknown(self.problem, functional)]]
        return self._of(functional).values

    def _of(self, functional):
        if functional not in self._evaluated:
            element, system = optimality_element(self.problem, self._element)
            system = self._system_of(self.problem, system, element)
            plan, mesh = ElementPlan(system, element), TimeMesh(self.solution.t)
            self._evaluated[functional] = Evaluated(functional, plan, mesh, self._dofs, NumberPlaces(system))
        return self._evaluated[functional]

    @property
    def _dofs(self):
        return self.equations.dofs(self.x)

    @property
    def _constants(self):
        """Places of the unknown numbers in the dofs of the last node, where they are known."""
        columns = self.plan.columns
        of_node = columns.fields[list(self.plan.element.trial).index("constants")][0]
        return len(self._dofs) - columns.n_node + of_node

    def _by_unknown_numbers(self, functional, of_numbers):
        """Gradient by the unknown numbers themselves; `of_numbers` is that by all numbers of the parts."""
        problem, found = self.problem, np.zeros(len(self.numbers_found))
        element, system = optimality_element(problem, self._element)
        if problem.free_time:
            at = self._of(functional)
            found[0] += at.by_length(self._dofs, self.solution.t[0])[0] / self.numbers_found[0]
            if problem.begins is not None:
                found[problem.begins_with] += at.by_start(self._dofs)[0]
        for i in range(problem.free_time, len(found)) if enters_parts(problem) and of_numbers.any() else ():
            found[i] += of_numbers @ differentiated(lambda x, i=i: NumberPlaces(self._system_of(
                problem, system, element, np.where(np.arange(len(found)) == i, x, self.numbers_found))).values,
                self.numbers_found[i])
        return found

    def backward(self, functional: Any, n_numbers: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Gradients by all dofs and by the numbers of the parts."""
        by_x = np.zeros(len(self._dofs))
        if isinstance(functional, UnknownNumber):
            of_unknown, by_numbers = np.eye(len(self.numbers_found))[number_of_unknown(self.problem, functional)], None
        else:
            own, by_numbers = self._of(functional).backward(np.ones(1), len(by_x), n_numbers)
            by_x += own
            of_unknown = self._by_unknown_numbers(functional, by_numbers)
        if len(of_unknown):
            by_x[self._constants] += of_unknown * self.problem.units
        return by_x, by_numbers

    def by_variables(self, by_x: np.ndarray, n: int) -> np.ndarray:
        """The gradient by the n scaled variables and slacks of the program."""
        out = np.zeros(n)
        (places, sizes), _ = self._own._moves
        out[self.first:self.first + len(places)] = by_x[places] * sizes
        return out

    def by_span(self, functional: Any, change: PhaseChange, length: float) -> np.ndarray:
        """What comes by a mesh that is longer than `length`; where the time is free its length is a dof."""
        start, longer = change.span
        if abs(start) > 0 and not isinstance(functional, UnknownNumber):
            raise InputError("a parameter moves the start of the time span; differentiate by its length alone")
        if self.problem.free_time or not longer:
            return np.zeros(len(self.value(functional)))
        return self._of(functional).by_length(self._dofs, self.solution.t[0]) * longer / length

    def forward(self, functional: Any, change: PhaseChange, dw: np.ndarray) -> np.ndarray:
        """What changes of the scaled variables of the program change, besides `by_span`."""
        dx = np.zeros(len(self._dofs))
        dx[:len(change.start)] = change.start
        (places, sizes), _ = self._own._moves
        dx[places] += dw[self.first:self.first + len(places)] * sizes
        problem, unknown = self.problem, np.zeros(0)
        if len(self.numbers_found):
            unknown = dx[self._constants] * problem.units
        if isinstance(functional, UnknownNumber):
            return unknown[[number_of_unknown(problem, functional)]]
        at, numbers = self._of(functional), change.numbers.copy()
        element, system = optimality_element(problem, self._element)
        if enters_parts(problem) and len(problem.numbers):
            numbers += differentiated(lambda s: NumberPlaces(self._system_of(
                problem, system, element, self.numbers_found + s * unknown)).values, 0.0)
        found = at.forward(dx[:, None], numbers[:, None])[:, 0]
        if problem.free_time:
            found = found + at.by_length(self._dofs, self.solution.t[0]) * unknown[0] / self.numbers_found[0]
            if problem.begins is not None:
                found = found + at.by_start(self._dofs) * unknown[problem.begins_with]
        return found


def problem_of(solution: Solution) -> tuple[OptimalControl, Any]:
    """The problem of a solution, and its element.

    Raises
    ------
    InputError
        For solutions of other problems, without one, and with contacts.
    """
    if not isinstance(solution, OptimalSolution):
        raise InputError(f"derivatives of an optimum are those of a solution of OptimalControl or Phases, not "
                         f"{solution!r}")
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
