"""Initial-value problems solved: marched, in windows, all at once, or marched to a tolerance."""

import numpy as np

from ... import validate
from ...assembly import TimeMesh
from ...errors import InputError
from ...parallel import own_world
from ...polynomials import gauss_legendre
from ...solution import Solution
from ...solution.output.atomic_write import check_writable
from ...solution.slab_solution import SlabSolution
from ...solvers.march.step_control import StepControl
from ...solvers.march.to_tolerance import solve_adaptively
from ...solvers.nonlinear.newton import Newton
from ..common.checks import check_newton, checked_mesh
from .checkpoint import EVERY, parse_every
from .drivers import DRIVERS, run_driver


def solve_initial(problem, element, n_elements, mesh=None, *, tolerance=None, driver=None, window=None, backend=None,
                  guess=None, newton=None, scaling="full", method=None, petsc_options=None, progress=None, gather=None,
                  checkpoint=None, checkpoint_every=None, restart=None):
    """Solve an initial-value problem; `solve` calls this, see there for the arguments."""
    if tolerance is not None:
        unused = {"n_elements": n_elements, "mesh": mesh, "window": window, "backend": backend, "guess": guess,
                  "method": method, "petsc_options": petsc_options, "gather": gather, "checkpoint": checkpoint,
                  "checkpoint_every": checkpoint_every, "restart": restart}
        given = [name for name, value in unused.items() if value is not None]
        if given or driver not in (None, "march"):
            raise InputError(f"{(given or ['driver'])[0]} is given, but a march to a tolerance does not use it")
        return _solve_to_tolerance(problem, element, tolerance, newton, scaling, progress)
    if (mesh is None) == (n_elements is None):
        raise InputError("give either n_elements, mesh or tolerance")
    mesh = _mesh_through_kinks(problem, n_elements) if mesh is None else checked_mesh(mesh, problem.t_span)
    driver = driver or ("march" if element.can_march else "global")
    for name, value, users in (("window", window, ("windows",)), ("backend", backend, ("windows", "global")),
                               ("guess", guess, ("windows", "global"))):
        if value is not None and driver in DRIVERS and driver not in users:
            raise InputError(f"{name} is given, but driver={driver!r} does not use it")
    window, backend, guess = (default if value is None else value
                              for value, default in ((window, 10), (backend, "chain"), (guess, "mg1")))
    if isinstance(guess, np.ndarray | list) and driver != "global":
        raise InputError("nodal values as guess need driver='global'; give a function t -> z instead")
    check_newton(newton)
    if window != "auto":
        validate.integer("window", window, minimum=1)
    if checkpoint_every is not None and checkpoint is None:
        raise InputError("checkpoint_every is given without checkpoint")
    if gather is not None and (driver == "march" or backend != "petsc"):
        raise InputError("gather is given, but only driver='windows' or 'global' with backend='petsc' is distributed")
    if checkpoint is not None:
        parse_every(EVERY if checkpoint_every is None else checkpoint_every)
        check_writable(checkpoint)
    outcome = run_driver(driver, problem.system, element, mesh, problem.z0, backend=backend, window=window,
                         guess=guess, settings=newton or Newton(), scaling=scaling, options=petsc_options,
                         show=progress, gather=gather, checkpoint=checkpoint, restart=restart,
                         checkpoint_every=EVERY if checkpoint_every is None else checkpoint_every)
    statistics = _statistics(outcome, mesh, driver, None if driver == "march" else backend)
    values, first = (outcome.state, outcome.multipliers, outcome.status, statistics), outcome.first or 0
    t, z0 = mesh.nodes[first:first + len(outcome.state) + 1], problem.z0
    if outcome.first is not None:
        z0 = outcome.state[0, 0] if len(outcome.state) else z0
        return SlabSolution(problem.system, element, t, z0, *values, fields=outcome.others, comm=own_world(),
                            origin=(mesh.nodes[0], problem.z0))
    solution = Solution(problem.system, element, t, z0, *values, outcome.others)
    if solution.status.reason == "stopped":
        solution.status.message = (f"{solution.status.message} ({checkpoint})" if checkpoint else
                                   f"stopped at t = {solution.end[0]:g} by a signal; what was solved is kept")
    elif not solution.success:
        solution.status.message += _not_finite(solution, mesh)
    return solution


def _solve_to_tolerance(problem, element, tolerance, newton, scaling, progress):
    check_newton(newton)
    if not element.can_march:
        raise InputError(f"{element!r} couples its elements and cannot be marched to a tolerance; give n_elements")
    control = tolerance if isinstance(tolerance, StepControl) else StepControl(tolerance)
    mesh, outcome, found = solve_adaptively(problem.system, element, problem.t_span, problem.z0, control,
                                            newton or Newton(), scaling, progress)
    statistics = {**_statistics(outcome, mesh, "march", None), "tolerance": control.tolerance, **found}
    t = mesh.nodes[:len(outcome.state) + 1]
    solution = Solution(problem.system, element, t, problem.z0, outcome.state, outcome.multipliers, outcome.status,
                        statistics, outcome.others)
    if not solution.success:
        solution.status.message += _not_finite(solution, mesh)
    return solution


def _statistics(outcome, mesh, driver, backend):
    iterations = outcome.iterations
    return {"driver": driver, "backend": backend, "n_ranks": outcome.n_ranks,
            "newton_iterations": {"max": int(iterations.max(initial=0)),
                                  "mean": float(iterations.mean()) if len(iterations) else 0.0},
            "n_elements": mesh.n_elements, "n_unknowns": outcome.n_unknowns, "seconds": outcome.seconds,
            "backward_error": outcome.backward_error}


def _mesh_through_kinks(problem, n_elements):
    """Nearly uniform, with nodes at the kinks of the system; uniform when that would need far longer elements."""
    uniform = TimeMesh.uniform(problem.t_span, n_elements)
    try:
        mesh = TimeMesh.uniform(problem.t_span, n_elements, through=problem.system.kinks)
    except InputError:  # more kinks than elements
        return uniform
    return mesh if mesh.lengths.max() <= 2 * uniform.lengths.max() else uniform


def _not_finite(solution, mesh):
    """For the message of a failed solve: a part that is NaN or infinite at a later time, from the last good state."""
    system, n = solution.system, len(solution.t) - 1
    rest = mesh.part(n, mesh.n_elements)
    times = (rest.nodes[:-1, None] + rest.lengths[:, None] * gauss_legendre(solution.element.n_points)[0]).ravel()
    found = system.not_finite(times, np.broadcast_to(solution.z[-1], (len(times), system.n_z)))
    return "".join(f"; {system.label(part)} is not finite at t = {t:g}" for part, t in list(found.items())[:1])
