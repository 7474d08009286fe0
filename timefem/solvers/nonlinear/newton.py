"""Newton's method."""

import numpy as np

from ...errors import NamedArguments, SingularMatrix, SolveError
from ...records import frozen
from ...status import Reason, Status
from ...validate.options import check_fields, field

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
