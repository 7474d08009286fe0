"""Inverse dynamics solved."""

from ... import validate
from ...assembly import TimeMesh
from ...errors import InputError
from ...solution import Solution
from ..refinement.loop import solve_refined
from .equations import solve_inverse
from .errors import InverseErrors


def solve_inverse_dynamics(problem, element, n_elements=None, mesh=None, *, tolerance=None, guess=None, driver=None,
                           backend=None, newton=None, scaling="full", petsc_options=None, progress=None):
    """Solve a problem of inverse dynamics; `solve` calls this, see there for the arguments.

    Returns
    -------
    Solution
        With the field "controls", and `statistics` "internal_eigenvalues" of the internal dynamics at the start.
    """
    if driver not in (None, "global"):
        raise InputError(f"driver={driver!r}: inverse dynamics ties all elements together; leave driver out")
    if isinstance(guess, str | list) or not (guess is None or callable(guess)):
        raise InputError(f"guess must be a function t -> z or a Solution, not {guess!r}")
    if isinstance(guess, Solution) and not guess.success:
        raise InputError(f"the guess is a solution that failed: {guess.status.message}")
    settings = {"backend": backend or "chain", "options": petsc_options, "settings": newton, "scaling": scaling,
                "show": progress}
    if tolerance is not None:
        return solve_refined(
            lambda element, mesh, last: _solve_on(problem, element, mesh, guess if last is None else last, settings),
            InverseErrors, problem, element, tolerance, n_elements, mesh, progress)
    if mesh is None:
        validate.integer("n_elements", n_elements, minimum=1)
        kinks = [t for t in (*problem.system.kinks, *problem.kinks) if problem.t_span[0] < t < problem.t_span[1]]
        mesh = TimeMesh.uniform(problem.t_span, max(n_elements, len(set(kinks)) + 1), through=kinks)
    return _solve_on(problem, element, mesh, guess, settings)


def _solve_on(problem, element, mesh, guess, settings):
    servo, outcome = solve_inverse(problem, element, mesh, guess=guess, **settings)
    n = len(outcome.state)
    iterations = int(outcome.iterations.max(initial=0))
    statistics = {"driver": "global", "backend": settings["backend"], "n_ranks": outcome.n_ranks,
                  "newton_iterations": {"max": iterations, "mean": float(iterations)}, "n_elements": mesh.n_elements,
                  "n_unknowns": outcome.n_unknowns, "seconds": outcome.seconds,
                  "backward_error": outcome.backward_error,
                  "internal_eigenvalues": [[float(v.real), float(v.imag)] for v in problem.internal_eigenvalues]}
    if not outcome.status.success and problem.unstable and not problem.has_end:
        outcome.status.message += (f"; {problem.unstable} of {problem.internal} modes of the internal dynamics grow "
                                   "from the start on: give the state at the end, too")
    z0 = outcome.state[0, 0] if n else problem.start
    return Solution(problem.system, servo, mesh.nodes[:n + 1], z0, outcome.state, outcome.multipliers, outcome.status,
                    statistics, outcome.others)
