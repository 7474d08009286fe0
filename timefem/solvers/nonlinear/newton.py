"""Newton's method, and homotopy: Newton's method along a path of problems, with step control."""

from dataclasses import replace
from functools import cache

import numpy as np

from ...errors import NamedArguments, SingularMatrix, SolveError
from ...records import frozen
from ...status import Reason, Status
from ...validate.options import check_fields, field
from ..equations.nonlinear import NonlinearEquations
from .options import OPTIONS

PATIENCE = 6  # iterations after which a state that has settled will do, where multipliers go on moving
ROUNDING = 1e-12  # relative to the unknowns: smaller increments may be rounding, where the residual falls no more


@frozen
class Newton(NamedArguments):
    """Settings of Newton's method; norms are maxima of scaled values, relative to the size of the initial state.

    Where the unknowns have grown far beyond the initial state, increments of 1e-12 of their size are small enough.
    Increments of bodies that are light beside others count by their own size, as far as round-off lets them fall.

    Parameters
    ----------
    tol_residual, tol_increment : float
        Both must be met. Where round-off stops the residual from falling, the increment alone decides. Near singular
        positions multipliers are not determined, and their steps do not get smaller: there it is enough that
        coordinates and momenta have converged, and the status says so.
    max_iterations : int
    line_search : bool
        Halve the step until the residual falls.
    """

    tol_residual: float = field("tol_residual")
    tol_increment: float = field("tol_increment")
    max_iterations: int = field("max_iterations")
    line_search: bool = field("line_search")

    def __post_init__(self):
        check_fields(self)


def newton(equations, x, settings, reference, on_iteration=lambda iteration, norm, x: None, natural=False):
    """Solve square equations from the guess `x`: steps `A s = R(x)`, `x - s`.

    Parameters
    ----------
    equations : NonlinearEquations
    x : ndarray
        As the equations take it; what it holds besides the unknowns stays.
    settings : Newton
    reference : float
        Size of the scaled state; tolerances are relative to it.
    natural : bool
        Whether the line search asks for a smaller next step by the same factors, instead of a smaller residual
        (Deuflhard's natural monotonicity): stiff parts that turn have large residuals on a good way.
    on_iteration : callable
        Told the iteration, its residual norm, finite, and the iterate; what it returns, if true, stops the iteration.

    Returns
    -------
    x : ndarray
    status : Status
        With the residual history; the number of iterations is one less than its length.
    """
    states, still = equations.state_unknowns, np.inf
    history, increment, before, own, own_before, emphasis = [], np.inf, np.inf, 0.0, np.inf, equations.emphasis
    residual = equations.evaluate(x)
    for iteration in range(settings.max_iterations + 1):
        norm = equations.norm(residual)
        history.append(norm)
        if not np.isfinite(norm):
            return x, Status.failure(Reason.NOT_FINITE, history=history, **equations.worst(residual, x))
        settled = norm <= settings.tol_residual * reference or (iteration and norm >= 0.5 * history[-2])
        settled = settled and (increment <= settings.tol_increment * reference
                               or (iteration and increment <= ROUNDING * equations.size(x)))
        if settled and (own <= settings.tol_increment * reference or own >= 0.5 * own_before
                        or iteration == settings.max_iterations):
            return x, Status(True, residual_history=history)
        if states is not None and iteration >= PATIENCE and norm <= settings.tol_residual * reference \
                and still <= settings.tol_increment * reference \
                and (increment >= 0.5 * before or iteration == settings.max_iterations):
            return x, Status.with_free_forces([None], residual_history=history)
        if on_iteration(iteration, norm, x):
            return x, Status.failure(Reason.STOPPED, history=history, **equations.start)
        if iteration == settings.max_iterations:
            break
        try:
            step = equations.linear_step(residual)
        except SolveError as error:
            reason = Reason.SINGULAR_TANGENT if isinstance(error, SingularMatrix) else Reason.LINEAR_SOLVER_FAILED
            return x, Status.failure(reason, history=history, detail=str(error), **equations.worst(residual))
        length = 1.0
        while True:
            trial = equations.moved(x, step, -length)
            residual = equations.evaluate(trial)
            new = equations.norm(residual)
            if length < 1e-3 or new <= max((1 - 1e-4 * length) * norm, settings.tol_residual * reference) or (
                    np.isfinite(new) and not settings.line_search):
                break
            if natural and np.isfinite(new) and \
                    equations.norm(equations.solve(residual)) <= (1 - length / 4) * equations.norm(step):
                break
            length /= 2
        x, before, increment = trial, increment, length * equations.norm(step)
        if states is not None and iteration + 1 >= PATIENCE:
            still = length * equations.norm(step * states)
        if emphasis is not None:
            own, own_before = length * equations.norm(step * emphasis), own if iteration else np.inf
    return x, Status.failure(Reason.NOT_CONVERGED, history=history, **equations.worst(residual))


def follow(solve_at, x, first=OPTIONS.first_step, least=OPTIONS.least_step):
    """Follow solutions from s = 0 to s = 1.

    Parameters
    ----------
    solve_at : callable
        `solve_at(s, guess)` -> (x, iterations), or (None, iterations) when it fails.
    x
        Solution at s = 0.
    first, least : float
        First step, and the shortest one to try. Steps grow after quick solves and shrink after failures.

    Returns
    -------
    x
        The last solution.
    s : float
        Where it stands; 1 at the end.
    """
    s, step = 0.0, first
    while s < 1:
        following = min(1.0, s + step)
        found, iterations = solve_at(following, x)
        if found is None:
            step = (following - s) / 3
            if step < least:
                break
            continue
        x, s = found, following
        step *= 2 if iterations <= OPTIONS.quick else 1
    return x, s


class Fading(NonlinearEquations):
    """Equations with constant loads besides, that make a guess their solution: `R(x) - factor * loads = 0`.

    Parameters
    ----------
    equations : NonlinearEquations
    loads : ndarray
        The residual at the guess.
    factor : float
    """

    def __init__(self, equations, loads, factor):
        super().__init__()
        self._equations, self._loads, self._factor, self.comm = equations, loads, factor, equations.comm

    @property
    def emphasis(self):
        return self._equations.emphasis

    @property
    def state_unknowns(self):
        return self._equations.state_unknowns

    def evaluate(self, x):
        return self._equations.evaluate(x) - self._factor * self._loads

    def linear_step(self, residual):
        return self._equations.linear_step(residual)

    def solve(self, residual):
        return self._equations.solve(residual)

    def moved(self, x, step, length):
        return self._equations.moved(x, step, length)

    def scaled(self, x):
        return self._equations.scaled(x)

    def take(self, x):
        return self._equations.take(x)

    def gather(self, x, root=None):
        return self._equations.gather(x, root)

    def norm(self, values):
        return self._equations.norm(values)

    def dot(self, a, b):
        return self._equations.dot(a, b)

    @property
    def start(self):
        return self._equations.start

    def worst(self, residual, x=None):
        return self._equations.worst(residual, x)


@cache
def _with_line_search(settings):
    return replace(settings, line_search=True)


def newton_with_homotopy(equations, x, settings, reference, on_iteration=lambda *a: None, natural=False):
    """Newton's method with line search; where it fails, with loads that make the guess a solution and fade away.

    For `natural` see `newton`.

    Returns
    -------
    x : ndarray
    status : Status
        Of the last Newton iteration; "not reached" with the furthest point when the homotopy stops on its way.
    n_iterations : int
    """
    careful = _with_line_search(settings)
    found, status = newton(equations, x, careful, reference, on_iteration, natural)
    total = max(len(status.residual_history) - 1, 0)
    if status.success or status.reason == Reason.STOPPED:
        return found, status, total
    loads = equations.evaluate(x).copy()
    if not np.isfinite(equations.norm(loads)):
        return found, status, total
    rough = Newton(1e-8, 1e-4, 10, True)

    def solve_at(s, guess):
        nonlocal total
        settings = careful if s == 1 else rough
        y, outcome = newton(Fading(equations, loads, 1 - s), guess, settings, reference, on_iteration,
                            natural)
        n = max(len(outcome.residual_history) - 1, 0)
        total += n
        return (y if outcome.success else None), n

    y, s = follow(solve_at, x)
    if s == 1:
        return y, newton(equations, y, careful, reference, on_iteration, natural)[1], total
    residual = Fading(equations, loads, 1 - s).evaluate(y)
    detail = f"{100 * s:.3g} % of the way from the guess to a motion was covered"
    return y, Status.failure(Reason.NOT_REACHED, history=status.residual_history, detail=detail,
                             **equations.worst(residual)), total
