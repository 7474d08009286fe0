"""The discrete equations of a solution, linearised there: one factorisation for all gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..assembly import TimeMesh
from ..elements.evaluation.plan import ElementPlan
from ..errors import named_arguments
from ..mechanics.symbols import Symbols
from ..solution.contact_solution import ContactSolution
from ..solution.solution import Solution
from .derivatives import Derivatives, check_solution
from .functionals import Evaluated, Values
from .initial_state import Start
from .parameters import Directions
from .through_events import Stretch, ThroughEvents

if TYPE_CHECKING:
    from ..mechanics.forces.controllers import SampledController
    from ..solvers.linear.base import LinearOptions
    from .functionals import Functional
    from .parameters import Directions


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


def _nodal_values(plan, solution):
    """Nodal values of all trial fields, in their order."""
    kept = plan.element.kept_multipliers(plan.system)
    given = {"state": solution.nodal_state, "multipliers": solution.nodal_multipliers[..., kept], **solution.fields}
    n = len(solution.nodal_state)
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
