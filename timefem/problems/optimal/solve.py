"""Optimal control solved."""

from ... import validate
from ...assembly import TimeMesh
from ...elements import MixedGalerkin
from ...elements.augmented.constants import with_carrier
from ...errors import InputError
from ...mechanics.unknown_numbers import with_numbers
from ...solution import Solution
from ...solvers.nonlinear.methods import method_for_inequalities
from ..refinement.loop import solve_refined
from .errors import BoundedErrors, OptimalErrors
from .mesh_sequence import solve_optimal


def solve_optimal_control(problem, element, n_elements=None, mesh=None, *, tolerance=None, guess=None, driver=None,
                          backend=None, newton=None, scaling="full", petsc_options=None, method=None, progress=None):
    """Solve a problem of optimal control; `solve` calls this, see there for the arguments.

    `method` is the one for inequalities, see `timefem.solvers.nonlinear.methods`.

    Returns
    -------
    Solution
        With the fields "controls" and "costate of ...", `objective`, and `parameters` where numbers are unknown.
    """
    if driver not in (None, "global"):
        raise InputError(f"driver={driver!r}: optimal control ties all elements together; leave driver out")
    if isinstance(guess, str):
        raise InputError(f"guess must be a function t -> z, nodal states or a Solution, not {guess!r}")
    if problem.bounded and backend not in (None, "chain"):
        raise InputError(f"backend={backend!r}: problems with bounds are solved by an interior-point method such as "
                         "IPOPT, with its own linear solver; leave backend out")
    method = method_for_inequalities(method)
    settings = {"backend": backend or "chain", "options": petsc_options, "settings": newton, "scaling": scaling,
                "method": method, "show": progress}
    if tolerance is not None:
        if not isinstance(element, MixedGalerkin):
            raise InputError(f"tolerance is given, but the costates of {element!r}, which tell its error, do not "
                             "converge; take MixedGalerkin, or give n_elements")

        return solve_refined(
            lambda element, mesh, last: _solve_on(problem, element, mesh, guess if last is None else last, settings),
            BoundedErrors if problem.bounded else OptimalErrors, problem, element, tolerance, n_elements, mesh,
            progress)
    if mesh is None:
        validate.integer("n_elements", n_elements, minimum=1)
        kinks = [t for t in problem.system.kinks if problem.t_span[0] < t < problem.t_span[1]]
        mesh = TimeMesh.uniform(problem.t_span, max(n_elements, len(kinks) + 1), through=kinks)
    return _solve_on(problem, element, mesh, guess, settings)


def _solve_on(problem, element, mesh, guess, settings):
    element, system, outcome, numbers, objective = solve_optimal(problem, element, mesh, guess=guess, **settings)
    iterations = int(outcome.iterations[0])
    statistics = {"driver": "global", "backend": settings["method"].name if problem.bounded else settings["backend"],
                  "n_ranks": outcome.n_ranks,
                  "newton_iterations": {"max": iterations, "mean": float(iterations)}, "n_elements": mesh.n_elements,
                  "n_unknowns": outcome.n_unknowns, "seconds": outcome.seconds,
                  "backward_error": outcome.backward_error, "objective": objective,
                  "parameters": dict(zip(problem.unknown_names, map(float, numbers), strict=True))}
    if problem.parameters:
        system = with_carrier(with_numbers(problem.system, problem.parameters, statistics["parameters"]), element)
    t, (t0, t1) = mesh.nodes, problem.t_span
    if problem.free_time:
        t = t0 + (t - t0) * (numbers[0] / (t1 - t0))
    return Solution(system, element, t, problem.z0, outcome.state, outcome.multipliers, outcome.status, statistics,
                    outcome.others)
