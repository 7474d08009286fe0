"""Derivatives of solutions by parameters: what those of all kinds of solutions share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..elements.extended import Extended
from ..errors import InputError, NamedArguments, StartFollows, warn
from ..problems.kinds import KINDS
from ..solution.contact_solution import ContactSolution
from ..solution.solution import Solution
from .initial_state import refuse_what_opens
from .parameters import directions, with_parameters_of_formulas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .functionals import Functional
    from .initial_state import Start
    from .parameters import Directions


class Derivatives(NamedArguments, ABC):
    """A solution at which functionals are differentiated.

    Attributes
    ----------
    system : System
    start : Start
    """

    start: Start

    @abstractmethod
    def gradient(self, functional: Functional, parameters: Any) -> np.ndarray:
        """Gradient of a scalar functional, backwards in time; see `timefem.gradient`."""

    @abstractmethod
    def sensitivities(self, functional: Functional | Sequence[Functional], parameters: Any) -> np.ndarray:
        """Derivatives of all values of a functional, forwards in time; see `timefem.sensitivities`."""

    @abstractmethod
    def end_tangents(self, given: Directions) -> np.ndarray:
        """Changes of the state at the end with parameters, shape (n_z, n_parameters)."""

    @abstractmethod
    def _evaluated(self, functional):
        """`Evaluated`, once for each functional."""

    def value(self, functional: Functional) -> np.ndarray:
        """Values of a functional, shape (m,)."""
        return self._evaluated(functional).values

    def labels(self, parameters: Any) -> list[str]:
        """Names of the parameters, one per entry, list of str."""
        return directions(with_parameters_of_formulas(self.system, parameters), self.start.z, parameters).labels

    def _start_changes(self, x, given):
        """Changes with parameters of values that depend on the first node by gradients `x` (K, n_node), (K, n)."""
        by_z, by_numbers = self.start.backward(x)
        by_kept, closing, by_q, by_v = self.start.follow(by_z)
        pairs = ((by_numbers, given.numbers), (by_z, given.z), (by_kept, given.kept), (by_q, given.q), (by_v, given.v))
        changes = sum((change.T @ by.T).T for by, change in pairs)
        moved = np.abs(sum((change.T @ by.T).T for by, change in zip(closing, (given.kept, given.q), strict=True)))
        moved = moved.max(axis=0, initial=0.0)
        names = [given.labels[i] for i in np.flatnonzero(moved > 1e-12 * np.abs(changes).max(initial=0.0))]
        if names:
            more = ", ..." if len(names) > 3 else ""
            warn(f"the start holds the constraints with the present {', '.join(names[:3])}{more} only: bodies follow "
                 "it by the smallest change; for a start that follows otherwise, as from coordinates of joints, give "
                 "a Family", StartFollows)
        return changes

    def _directions(self, parameters):
        system = with_parameters_of_formulas(self.system, parameters)
        if system is not self.system:  # the same motion, of formulas with more numbers
            solution = copy(self._solution)
            object.__setattr__(solution, "system", system)
            self.__init__(solution, self._linear)
        found, ends = directions(self.system, self.start.z, parameters), [0, -1]
        refuse_what_opens(self.system, self._solution.t[ends], self._solution.z[ends], found)
        return found

    def _of_one_value(self, functional):
        at = self._evaluated(functional)
        if at.values.shape != (1,):
            raise InputError(f"a gradient needs a functional with one value, not {len(at.values)}; use sensitivities, "
                             "or one component")
        return at


def check_solution(solution):
    """Refuse solutions that have no derivatives by parameters."""
    if type(solution) is not Solution and not isinstance(solution, ContactSolution):
        raise InputError(f"solution must be a Solution with all its elements, such as solve returns with gather=True, "
                         f"not {solution!r}")
    if not solution.success:
        raise InputError(f"the solution failed, and has no sensitivities: {solution.status.message}")
    kind = KINDS.get(solution.statistics.get("problem", "initial"))
    if not (kind and kind.causal) or isinstance(solution.element, Extended) or "parameters" in solution.statistics:
        of = kind.title if kind and not kind.causal else "another problem"
        if kind and kind.has_derivatives:
            raise InputError(f"this solution of {of} does not know what was prescribed at its ends, as none does that "
                             "was loaded, or comes from another process: timefem.solve(problem, solution.element, "
                             "len(solution.t) - 1, guess=solution) gives one that does, in a few iterations")
        raise InputError("sensitivities are those of initial-value problems, and of boundary-value problems and "
                         f"optimal control as solve returns them; this solution is one of {of}: solve it in this "
                         "process, or take differences of solves")
