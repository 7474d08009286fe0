"""Optimal control over a horizon that moves on: model predictive control, in milliseconds a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import validate
from ...argument_names import NamedArguments
from ...elements.evaluation.nodal_values import NodalValues
from ...elements.forms.base import velocities
from ...errors import InputError, NotSolved, SolveError, warn
from ...mechanics.bodies.states import CanonicalState
from ...problems.optimal.guesses.guess import from_solution
from ...problems.optimal.solve import solution_of
from ...problems.optimal.strategies.mesh_sequence import optimality_plan
from ...problems.optimal.transcription.equations import OptimalityEquations
from ...problems.optimal.transcription.nonlinear_program import OptimalProgram
from ...problems.optimal.transcription.sizes import scaling_of, with_objective
from ...solvers.equations.outcome import Outcome
from ...solvers.interior_point.algorithm import InteriorPoint
from ...solvers.interior_point.bounds import between
from ...status import Reason, Status
from ..solve import Solver, prepare
from .resumed import SOLVED, Resumed

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from ...problems.optimal.problem import OptimalControl
    from ...solution.solution import Solution
    from ...types import Vector

ACCEPTABLE = 1e-7  # below the tolerance there are no final steps
TOLERANCE = 1e-6  # of the scaled conditions of optimality, far below what a horizon that ends leaves out


class RecedingHorizon(NamedArguments):
    """Solves a problem of optimal control again and again, from the state that was measured.

    The first solve is that of `prepare`. Formulas, kernels, patterns, factors and memory stay, and each further step
    goes on from the variables and multipliers of the last one, moved on by the elements that have passed. Only the
    state at the start changes; a formula of the time counts that from the start of the horizon.

    Parameters
    ----------
    problem : OptimalControl
        With a given time and a given start, and bounds or limits.
    element : TimeElement
    n_elements : int
        Of equal lengths.
    iterations : int, optional
        Budget of each step, after which the best iterate is taken; default: until it converges.
    tolerance : float
        Of the scaled conditions of optimality.

    Attributes
    ----------
    controls : ndarray, shape (n_elements, n_shapes, n_controls)
        Nodal values of the last step.
    iterations, error : int, float
        Of the last step, and what is left of the conditions of optimality.
    converged : bool
        Whether that is within the tolerance.

    Raises
    ------
    InputError
        For problems with a free start, a free time, couplings or integral limits, or without inequalities.
    SolveError
        Where the first solve fails.
    """

    def __init__(self, problem: OptimalControl, element: TimeElement, n_elements: int, *,
                 iterations: int | None = None, tolerance: float = TOLERANCE) -> None:
        for what, refused in (("a free start", problem.free_start), ("a free time", problem.free_time),
                              ("couplings", problem.couplings), ("contacts", bool(problem.limits) and any(
                                  not hasattr(limit, "at") for limit in problem.limits)),
                              ("integral limits", any(getattr(limit, "at", "") == "integral"
                                                      for limit in problem.limits))):
            if refused:
                raise InputError(f"a receding horizon cannot have {what}; solve such problems by tf.prepare(...)")
        if not problem.bounded:
            raise InputError("a receding horizon takes a problem with bounds or limits; without these, tf.prepare(...) "
                             "takes few steps of Newton's method")
        self.budget = None if iterations is None else validate.integer("iterations", iterations, minimum=1)
        validate.real("tolerance", tolerance, positive=True)
        system = problem.system
        self._keeps_rates = not (system.n_multipliers or system.couples_inertia
                                 or any(b.has_orientation for b in system.bodies))
        self.problem, self._method = problem, InteriorPoint(tolerance=tolerance, options={
            "acceptable": min(tolerance / 2, ACCEPTABLE)})
        self._solver: Solver = prepare(problem, element, n_elements, progress=False)
        self._start_anew({})
        self._taken()

    def step(self, state: Vector | None = None, *, q: Vector | None = None, v: Vector | None = None,
             passed: int = 0) -> np.ndarray:
        """The controls at the start of the horizon, from a new state.

        Parameters
        ----------
        state : array_like, shape (n_z,)
            Coordinates and momenta.
        q, v : array_like, shape (n_q,) each
            Coordinates and their rates, instead.
        passed : int
            Elements that have passed since the last step, by which the guess is moved on.

        Returns
        -------
        ndarray, shape (n_controls,)
            Without a solution, as from a state outside of limits, the best ones that were found, with a warning
            (`NotSolved`); `converged` tells that as well.

        Raises
        ------
        InputError
            For a state that is not finite or has another length.
        """
        z, v = self._state(state, q, v)
        program, resumed = self._program, self._resumed
        for _ in range(validate.integer("passed", passed, minimum=0)):
            resumed.shift()
        self._node[self._places[0]] = z
        if len(self._places) > 1:
            self._node[self._places[1]] = velocities(self.problem.system, self.problem.t_span[0], z) if v is None else v
        program.start_from(self._node)
        outcome = self._iterate(self.budget)
        if not self.converged and (self.budget is None or outcome != Reason.NOT_CONVERGED):
            self._find_anew(z)
        return self._taken()

    def solution(self) -> Solution:
        """The last step as a `Solution`."""
        x = self._program.place(self._resumed.v, self._resumed.multipliers[:self._program.n_equations])
        status = Status(True, message="converged") if self.converged else Status.failure(
            Reason.NOT_CONVERGED, None, None, [self.error], "the budget of iterations was used up")
        equations = self._equations
        outcome = Outcome(NodalValues(*self._plan.unpack(equations.dofs(x))), status, np.array([self.iterations]),
                          equations.n_unknowns_of_all, dict.fromkeys(("setup", "assemble", "solve", "total"), 0.0))
        found = self._plan.element, self._plan.system, outcome, np.zeros(0), equations.objective(x)
        return solution_of(self.problem, self._solver.task.driver, self._method.name, equations.mesh, found)

    def _find_anew(self, z):
        """By a solve from a state; the loop goes on with the best controls where that has no solution."""
        system = self.problem.system
        try:
            self._start_anew({"start": {b: CanonicalState(*system.local_state(b, z)) for b in system.bodies}})
        except (InputError, SolveError) as error:
            warn(f"no solution from this state, and the best controls after {self.iterations} iterations are taken, "
                 f"which miss the conditions of optimality by {self.error:.1e}: {error}", NotSolved)

    def _start_anew(self, changes):
        """By a solve from scratch, or of what it was prepared with, with all its strategies."""
        sol = self._solver.solve(**changes)
        if not sol.success:
            raise SolveError(sol.status.message)
        if not hasattr(self, "_equations"):
            self._set_up(sol)
        x = from_solution(self._solver._changed(None, changes), self._plan, self._equations.mesh, sol)
        self._node = x[:self._plan.columns.n_node].copy()
        self._program = OptimalProgram(self._equations, self._equations.with_end_costates(x), warm=True)
        self._base = self._equations.nodal(self._program.base, "controls").copy()
        self._resumed = Resumed(self._method, self._program)
        self._iterate()

    def _iterate(self, budget=None):
        """How the iterations from the last variables end."""
        outcome = self._resumed.step(budget)
        self.iterations, self.error = self._resumed.iterations, self._resumed.error
        self.converged = outcome in SOLVED
        return outcome

    def _set_up(self, sol):
        """What stays, by the first solution."""
        problem, task = self._solver.problem, self._solver.task
        mesh = self._solver.kind.mesh(task)
        self._plan = optimality_plan(problem, task.element)
        scale = scaling_of("full", problem, self._plan, mesh.nodes[0])
        x = from_solution(problem, self._plan, mesh, sol)
        equations = OptimalityEquations(problem, self._plan, mesh, scale, "chain")
        scale = with_objective(scale, equations.size_of_objective(x))
        self._equations = chain = OptimalityEquations(problem, self._plan, mesh, scale, "chain")
        trial = self._plan.element.trial
        fields = dict(zip(trial, self._plan.columns.fields, strict=True))
        self._places = [fields[name][0] for name in ("state", "velocity") if name in trial]
        at, number = chain.columns_of("controls"), np.cumsum(~chain.dual) - 1
        self._controls = number[at], chain.sizes[at]
        self._at_start = trial["controls"].basis.values(np.zeros(1))[0]

    def _taken(self):
        """The controls at the start."""
        columns, sizes = self._controls
        self.controls = self._base + sizes * self._resumed.v[columns]
        between(self.controls, *self.problem.bounds, out=self.controls)
        return self._at_start @ self.controls[0]

    def _state(self, state, q, v):
        """The state, and its velocities where these are what is given, and no constraints change them."""
        system = self.problem.system
        n = system.n_q
        if (state is None) == (q is None and v is None) or (q is None) != (v is None):
            raise InputError("step takes a state, or both q and v")
        if state is None:
            q, v = validate.array("q", q, (n,)), validate.array("v", v, (n,))
            z = np.concatenate([q, np.zeros(n)])
            z = np.concatenate([q, system.momentum(self.problem.t_span[0], z, v)])
            return z, v if self._keeps_rates else None
        return validate.array("state", state, (2 * n,)), None
