"""What a model file states, ready to be solved."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..elements.element import ELEMENT_OPTIONS, TimeElement
from ..errors import InputError
from ..mechanics.states.given import states_of
from ..mechanics.system import System
from ..memory import Late
from ..problems.initial.problem import InitialValueProblem
from ..problems.kinds import KINDS
from ..records import frozen
from ..solving.solve import solve
from ..validate.options import OPTIONS
from .entries import beside, bounds_of, end_states, find, naming, unknown_numbers, value_of
from .settings import arguments_of, plain_state, refuse_element

if TYPE_CHECKING:
    import numpy as np

    from ..types import FilePath

many_solutions = Late("timefem.solving.many_solutions")
sensitivities = Late("timefem.sensitivity.names")
tables = Late(f"{__package__}.motion_data")


@frozen(eq=False)
class Model:
    """What a model file states.

    Attributes
    ----------
    document : Document
        The file.
    title : str
    system : System
    state : dict
        Name of the body -> Pose.
    stated : dict
        What that follows from, with joints among the keys: masses may become others, and velocities stay as stated.
    t_span : (float, float)
        [s]
    n_elements : int or list of int
        The latter of phases that have different numbers.
    element : TimeElement
    settings : dict
        Further arguments of `timefem.solve`.
    assemble : bool
        Whether the state is approximate, and the mechanism is assembled from it.
    kind : {"initial", "boundary", "inverse", "optimal", "estimation"}
        Of the problem.
    changed : callable
        `changed({key: number})` -> the Model with other numbers in the file, keys spelt as in "bodies.bar.mass".
    phases : sequence of Model
        Of optimal control in phases, where the other attributes are those of the first one.
    names : Names
        What names in the file stand for in the system.
    mesh : list of float or None
        Ends of the elements, where the file states them [s].
    notes : tuple of str
        What files of robots state and the model leaves out.
    """

    document: Any
    title: str
    system: System
    state: dict
    t_span: tuple
    n_elements: int
    element: TimeElement
    settings: dict
    assemble: bool = False
    kind: str = "initial"
    changed: Callable[[Mapping[str, Any]], Model] | None = None
    phases: Any = ()
    names: Any = None
    stated: Any = None
    mesh: Any = None
    notes: tuple = ()

    @cached_property
    def start(self) -> InitialValueProblem:
        """The InitialValueProblem; InputError when the state violates a constraint, or cannot be assembled."""
        try:
            return InitialValueProblem(self.system, self.stated, self.t_span, assemble=self.assemble)
        except InputError as error:
            named = [part for part in self.system.parts if f"'{part.name}: " in str(error)]  # a constraint of it
            raise self.document.error(self.keys(named[0]) if named else (), str(error)) from None

    @cached_property
    def problem(self) -> Any:
        """The problem of the file's kind; InputError when it cannot be made."""
        return KINDS[self.kind].in_files.make(self)

    @cached_property
    def z0(self) -> np.ndarray:
        """The state at the start, assembled or as it is stated, whether it holds the constraints or not, (n_z,).

        Of a boundary-value problem, one that satisfies its conditions.
        """
        own = KINDS[self.kind].in_files.state
        found = None if own is None else own(self)
        if found is not None:
            return found
        return self.start.z0 if self.assemble else plain_state(self)

    # ---- what kinds of problems read from the file

    @property
    def phase_names(self) -> list[str]:
        return [one.get("name", f"phase {k}") for k, one in enumerate(self.document.data.get("phases", ()))]

    @property
    def start_state(self) -> Mapping[Any, Any]:
        """The state at the start by body, assembled if the file says so."""
        return states_of(self.system, self.start.z0) if self.assemble else self.state

    @property
    def stated_start(self) -> Mapping[Any, Any]:
        """The same, by joint where the file states joints."""
        return self.start_state if self.assemble else self.stated

    parameters, end_states = unknown_numbers, end_states

    def naming(self, keys: Any, entry: Any, others: Sequence[Any] = ()) -> Any:
        """Context in which errors get the file, the line and the key of an entry."""
        return naming(self.document, keys, entry, others)

    def measured(self, path: FilePath) -> Any:
        """The table of a file of measured values, its name from the folder of this file on."""
        folder = os.path.dirname(os.path.abspath(self.document.path))
        try:
            return tables.read_table(os.path.join(folder, path))
        except InputError as error:
            raise self.document.error(("problem", "data"), str(error)) from None

    def find(self, keys: Any, name: str, known: Any, what: str = "body") -> Any:
        """What has that name among those known; an error at the keys when there is none."""
        return find(self.document, keys, name, known, what)

    def value_of(self, keys: Any, value: Any) -> Any:
        """A value with functions of time in place of their tables."""
        return value_of(self.document, keys, value)

    def keys(self, part: Any) -> tuple[str, str]:
        """Keys of the table of a part."""
        own = part.owner or part.whole  # one that lost constraints wraps another
        return "bodies" if own.table == "composites" else own.table, (part.owner or part).name

    def solve(self, **changes: Any) -> Any:
        """Solve it; `changes` are arguments of `timefem.solve` that replace those of the file.

        With a table `[continuation]` the solution is followed from the number that it gives to that of the file.
        """
        arguments = self.with_guess(self._arguments(changes))
        if "n_elements" in changes or "mesh" in changes:
            arguments["tolerance"] = changes.get("tolerance")
        elif arguments.get("tolerance") is None:
            arguments |= self.elements
        if "continuation" in self.document.data:
            return self.follow(**arguments)
        return solve(self.problem, **arguments)

    @property
    def elements(self) -> dict[str, Any]:
        """What of `timefem.solve` says where elements end."""
        return {"n_elements": self.n_elements} if self.mesh is None else {"mesh": self.mesh}

    def follow(self, vary: str | None = None, start: float | None = None, **arguments: Any) -> Any:
        """The solution followed from another value of a number of the file to its own, see `timefem.continuation`.

        Parameters
        ----------
        vary : str, optional
            Its key, such as "time.span[1]"; default: that of the table `[continuation]`.
        start : float, optional
            Where to begin.
        **arguments
            Of `timefem.solve`.

        Returns
        -------
        Solution
        """
        table = self.document.data.get("continuation", {})
        vary, start = vary or table["vary"], table["start"] if start is None else start
        if not KINDS[self.kind].follows:
            raise InputError(f'continuation is for problems of kind "boundary", and {self.title} is "{self.kind}"')
        steps = {name: table[name] for name in ("first_step", "least_step") if name in table}
        return many_solutions.continuation(
            lambda value: self.changed({vary: value}).problem, arguments.pop("element"), arguments.pop("n_elements"),
            start, self.document.number(vary), **steps, **arguments)

    def solve_all(self, **changes: Any) -> Any:
        """Several solutions of a boundary-value problem or of optimal control, see `timefem.solve_all`; `turns` and
        `n_starts` are keys of `[problem]`."""
        return many_solutions.solve_all(self.problem, **self.several | self.elements | self._arguments(changes))

    @property
    def several(self) -> dict[str, Any]:
        """How many guesses `solve_all` is to try."""
        table, several = self.document.data.get("problem", {}), KINDS[self.kind].in_several
        return {several.number: table[several.number]} if several and several.number in table else {}

    def with_guess(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments of `timefem.solve` with the guess that the file states, unless they have one."""
        guess = KINDS[self.kind].in_files.guess(self) if arguments.get("guess") is None else None
        return arguments if guess is None else arguments | {"guess": guess}

    def bounds_of(self, keys: Any, value: Any) -> Any:
        """Bounds with functions of time in place of their tables, None where they are free."""
        return bounds_of(self.document, keys, value)

    def beside(self, keys: Any, name: str) -> Any:
        """Path of a file that lies in the folder of the model file, or below."""
        return beside(self.document, keys, name)

    def _arguments(self, changes):
        """Arguments of `timefem.solve` of the file, with those that replace them; options may be plain data, too."""
        element = changes.get("element", self.element)
        refuse_element(self, element)
        plain = {name: value for name, value in changes.items()
                 if (name in OPTIONS and isinstance(value, str | float | bool)) or name in ("window", "petsc_options")}
        settings = self.settings
        if plain or element is not self.element:
            stated = {name: value for name, value in self.document.data.get("solver", {}).items()
                      if name not in ("element", *ELEMENT_OPTIONS)}
            settings = arguments_of(stated | plain, KINDS[self.kind], element, "the problem")
        return {"element": element, **settings, **{name: v for name, v in changes.items() if name not in plain}}

    @cached_property
    def sensitivity(self) -> Any:
        """Functionals, parameters and method of the table `[sensitivity]`, see `timefem.sensitivity.names`."""
        table, system = self.document.data.get("sensitivity", {}), self.problem.system
        with naming(self.document, ("sensitivity", "of"), ()):
            functionals = sensitivities.functionals_of(system, table.get("of", ()))
        with naming(self.document, ("sensitivity", "parameters"), ()):
            parameters = sensitivities.parameters_of_problem(self.problem, table.get("parameters", ()))
        return functionals, parameters, table.get("method", "adjoint")

    def sensitivities(self, solution: Any = None) -> Any:
        """Derivatives that the table `[sensitivity]` asks for, as from `timefem.sensitivity.names.derivatives`.

        Parameters
        ----------
        solution : Solution, optional
            Default: that of `solve()`.
        """
        solution = self.solve(progress=False) if solution is None else solution
        return sensitivities.derivatives(solution, *self.sensitivity)
