"""Optimal control over a horizon that moves on: model predictive control, in milliseconds a step."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..elements.form import velocities
from ..errors import InputError, NamedArguments, NotSolved, SolveError, warn
from ..mechanics.bodies.states import CanonicalState
from ..mechanics.values.of_parts import couples_inertia
from ..problems.optimal.guesses.guess import from_solution
from ..problems.optimal.kind import solution_of
from ..problems.optimal.strategies.mesh_sequence import optimality_plan
from ..problems.optimal.transcription.equations import OptimalityEquations
from ..problems.optimal.transcription.nonlinear_program import OptimalProgram
from ..problems.optimal.transcription.sizes import scaling_of, with_objective
from ..solvers.equations.outcome import NodalValues, Outcome
from ..solvers.interior_point.algorithm import InteriorPoint, Loop, _Solve
from ..solvers.interior_point.barrier import Errors, between, narrowed
from ..solvers.interior_point.line_search import Iterate
from ..status import Reason, Status
from .solve import Solver, prepare

if TYPE_CHECKING:
    from ..elements.element import TimeElement
    from ..problems.optimal.problem import OptimalControl
    from ..solution.solution import Solution
    from ..solvers.interior_point.algorithm import InteriorPoint
    from ..solvers.nonlinear.program import NonlinearProgram
    from ..types import Vector


SOLVED = "solved", "acceptable"


class Resumed:
    """Iterations of the interior-point method on a program whose numbers change between solves.

    Scaling, pattern, factors and memory stay, and primal and dual variables go on from where they are.

    Parameters
    ----------
    method : InteriorPoint
    program : NonlinearProgram
        With `start_multipliers`: near a solution.

    Attributes
    ----------
    it : Iterate
        The best one of the last solve.
    error : float
        Of its scaled conditions of optimality.
    iterations : int
        Of the last solve.
    """

    def __init__(self, method: InteriorPoint, program: NonlinearProgram) -> None:
        self.method, self.program, self.iterations = method, program, 0
        self._solve = _Solve(method, program)
        self.it, self._mu = self._solve._start()
        self.error = np.inf
        a = self._solve.barrier.auxiliary
        self._slack_of_row = np.full(program.n_rows, -1)
        self._slack_of_row[a.row] = program.n + np.arange(a.n)
        options, barrier = method.options, self._solve.barrier
        self._inside = narrowed(barrier.lower, barrier.upper, options.push, options.mu_warm**0.5)

    @cached_property
    def _ahead(self):
        """For each variable and slack, each row and each bound where its number one element ahead comes from."""
        variables, rows = self.program.ahead
        a, bounds, first = self._solve.barrier.auxiliary, self._solve.barrier.bounds, self._solve.barrier.bounds.n_low
        bound_of = np.full((2, self.program.n + a.n), -1)  # of lower and upper ones
        bound_of[0, bounds.at[:first]] = np.arange(first)
        bound_of[1, bounds.at[first:]] = np.arange(first, len(bounds))
        slacks = self._slack_of_row[rows[a.row]]
        from_ = np.concatenate([variables, slacks])[bounds.at]
        of = np.concatenate([bound_of[0, from_[:first]], bound_of[1, from_[first:]]])
        scale = self._solve.scaled.row_scale
        return slacks, rows, scale[rows] / scale, np.where(of >= 0, of, np.arange(len(of)))

    @property
    def v(self) -> np.ndarray:
        """Variables of the program, shape (n,)."""
        return self.it.w[:self.program.n]

    @property
    def multipliers(self) -> np.ndarray:
        """Of its rows, shape (n_rows,)."""
        scaled = self._solve.scaled
        return self.it.y * scaled.row_scale / scaled.objective_scale

    def shift(self) -> None:
        """Go on from the motion one element ahead, with the multipliers there."""
        it, (slacks, rows, scales, bounds) = self.it, self._ahead
        it.w = np.concatenate([self.program.later(self.v), it.w[slacks]])
        it.y, it.z = it.y[rows] * scales, it.z[bounds]

    def step(self, iterations: int | None = None) -> str:
        """Iterate from the last variables and multipliers, and keep the best iterate.

        Parameters
        ----------
        iterations : int, optional
            At most; default: those of the method.

        Returns
        -------
        str
            How it ended, as of `Loop.run`.
        """
        solve, options = self._solve, self.method.options
        barrier, mu, program = solve.barrier, options.mu_warm, self.program
        w, n = between(self.it.w, *self._inside), program.n
        solve.scaled.expect(w[:n], 1.0, self.it.y)
        w[n:] = solve.scaled.values(w[:n])[1][barrier.auxiliary.row]
        between(w, *self._inside, out=w)
        it = Iterate.at(barrier, w, self.it.y, None)
        it.z = np.maximum(self.it.z, options.weak * mu / it.slack)
        best: list[object] = [it, np.inf]

        def keep(it, error):
            if error < best[1]:
                best[:] = it, error

        loop = Loop(self.method, program)
        loop.limit = loop.limit if iterations is None else iterations
        found, _, outcome = loop.run(barrier, solve.direction, it, mu, lambda it, mu, taken: (it, mu, "stuck"), keep)
        if outcome in SOLVED:
            best = [found, Errors(barrier, solve.direction, found).at(0.0)]
        self.it, self.error = best
        self.iterations = loop.count
        return outcome


# ---- optimal control over a horizon that moves on: model predictive control, in milliseconds a step

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
        self._keeps_rates = not (system.n_multipliers or couples_inertia(system)
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
            (`NotSolved`); `converged` says so as well.

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
