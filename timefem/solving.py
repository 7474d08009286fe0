"""`solve`: problem, element, driver and solution tied together."""

import numpy as np

from . import validate
from .assembly import TimeMesh
from .elements import TimeElement, gauss_legendre
from .errors import InputError
from .mechanics import CanonicalState
from .mechanics.describe import build
from .problems import BoundaryValueProblem, InitialValueProblem, InverseDynamics, OptimalControl
from .solution import Solution
from .solution.files import build_element, check_writable
from .solution.slab import SlabSolution
from .solvers.checkpoint import EVERY, Checkpoint, parse_every
from .solvers.communicator import own_world
from .solvers.newton import Newton


def solve(problem, element, n_elements=None, *, mesh=None, tolerance=None, driver=None, window=None, backend=None,
          guess=None, newton=None, scaling="full", method=None, petsc_options=None, progress=None, gather=None,
          checkpoint=None, checkpoint_every=None, restart=None):
    """Solve a problem with a time element.

    Parameters
    ----------
    problem : InitialValueProblem, BoundaryValueProblem, InverseDynamics or OptimalControl
    element : TimeElement
        For instance `MixedGalerkin(degree=2)` or `BubnovGalerkin(degree=3)`.
    n_elements : int
        Elements of equal length over the time span; or give `mesh`. With loads or prescribed motions that are not
        smooth at some times (`system.kinks`) of nearly equal length, with nodes at these times: an element that
        contains a kink loses its order. The lengths stay equal where that would more than double the longest one, as
        for a table with more entries than elements.
    mesh : TimeMesh or array_like
        Ends of the elements, from the start to the end of the time span.
    tolerance : float or StepControl, optional
        Instead of `n_elements` and `mesh`: march on a mesh that is found on the way, so that errors at the nodes stay
        below `tolerance`, relative to the size of the motion (see `StepControl`). Elements end at the kinks of the
        system. All other problems, and initial-value problems with
        `driver="global"`: refine the mesh, from `n_elements` or `mesh` if given, until the estimated errors are below
        that number: of the states at the nodes, relative to the size of the motion, and of unknown numbers; with
        inverse dynamics of the controls by the rows at the nodes; with optimal control of the objective, and of
        controls and costates in the mean over time (see `timefem.solving_estimates`).
    driver : {"march", "windows", "global"}, optional
        One element at a time (elements that can be marched; their default), blocks of `window` elements, or all at
        once (default of the others). Under mpirun, "global" and "windows" with `backend="petsc"` are distributed over
        the ranks: the elements of a window, or of the whole mesh, are shared out in contiguous slabs. So are
        boundary-value problems, inverse dynamics and optimal control without inequalities; each rank makes the guess.
    window : int or "auto", optional
        Elements per window, 10 unless given; the last window takes what is left. With `driver="windows"` only.
        "auto": 64 at first, then twice as many after a window of at most 5 Newton iterations and half as many after one
        of 9 or more, or after a failure, when the window is tried again; at most what half of the free memory takes.
    backend : {"chain", "superlu", "petsc", "sksparse"}, optional
        Linear solver of windows and global solves; "chain" unless given.
    guess : {"mg1", "constant"}, callable, ndarray or Solution, optional
        "mg1" unless given. Where Newton starts in windows and global solves: an mG(1) march, the state at the start,
        a function `t -> z`, nodal states of shape (degree n_elements + 1, n_z) (global only), or another solution.
        Of boundary-value problems: "interpolation" (bodies move straight and turn steadily between the configurations
        at the ends; the default where one is given at the end), "march" (from a state at the start; the default
        otherwise), or the last three. Newton's method has a line search there, and where it fails the loads that
        make the guess a motion are taken away step by step.
    newton : Newton, optional
        Tolerances, iterations, line search.
    scaling : {"full", "weights", "reference", "none"}
        Scaling of unknowns and rows (see `timefem.assembly.scaling`).
    method : {"mumps", "chain"}, optional
        Of `backend="petsc"`: MUMPS (unless options say otherwise), or time-chain substructuring, which is several times
        faster on one rank and shares the work among ranks.
    petsc_options : dict, optional
        PETSc options without the prefix `timefem_`.
    progress : bool, optional
        Show a progress bar; default: when standard error is a terminal.
    gather : bool, optional
        Of a distributed solve: whether every rank gets the whole solution. With False each rank gets a `SlabSolution`
        of its own elements, so that memory is proportional to the slab; default: False where the nodal values take
        more than 1 GiB.
    checkpoint : str or Path, optional
        File that is written now and then, complete at any moment, and on SIGTERM, which then ends the solve
        ("stopped"). It holds the solved elements and the Newton iterate of all that are being solved.
    checkpoint_every : str or int, optional
        "60s" unless given, or "5it", or a number of iterations: Newton's, or elements of a march.
    restart : str or Path, optional
        Checkpoint to go on from, of the same problem, element, mesh, driver, window and scaling, on any number of
        ranks. See also `restart`, which takes all of these from the file.

    Returns
    -------
    Solution
        When the solve fails, `solution.status` says where and why, and the solution ends with the last good element.

    Raises
    ------
    InputError
        For input that cannot be used, before any work starts.
    MissingBackend
        When the backend is not installed.
    RankError
        On all ranks, when one rank of a distributed solve has an error that is no failed solve.
    """
    from .solvers.drivers import DRIVERS, run_driver
    from .solvers.linear.base import method_options

    if not isinstance(problem, InitialValueProblem | BoundaryValueProblem | InverseDynamics | OptimalControl):
        raise InputError("problem must be an InitialValueProblem, BoundaryValueProblem, InverseDynamics or "
                         f"OptimalControl, not {problem!r}")
    if not isinstance(element, TimeElement):
        raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    element.check(problem.system)
    if method is not None:
        petsc_options = method_options(method, backend or "chain", petsc_options)
    if petsc_options and backend != "petsc":
        raise InputError(f"petsc_options are given, but the backend is {backend or 'chain'!r}")
    if isinstance(problem, InverseDynamics | OptimalControl):
        others = {"window": window, "gather": gather, "checkpoint": checkpoint, "checkpoint_every": checkpoint_every,
                  "restart": restart}
        return _solve_for_controls(problem, element, n_elements, mesh, others, tolerance=tolerance, driver=driver,
                                   backend=backend, guess=guess, newton=newton, scaling=scaling,
                                   petsc_options=petsc_options)
    if isinstance(problem, BoundaryValueProblem) or (tolerance is not None and driver == "global"):
        others = {"window": window, "gather": gather, "checkpoint": checkpoint, "checkpoint_every": checkpoint_every,
                  "restart": restart}
        return _solve_globally(problem, element, n_elements, mesh, tolerance, others, driver=driver, backend=backend,
                               guess=guess, newton=newton, scaling=scaling, petsc_options=petsc_options,
                               progress=progress)
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
    mesh = _mesh_through_kinks(problem, n_elements) if mesh is None else _checked_mesh(mesh, problem.t_span)
    driver = driver or ("march" if element.can_march else "global")
    for name, value, users in (("window", window, ("windows",)), ("backend", backend, ("windows", "global")),
                               ("guess", guess, ("windows", "global"))):
        if value is not None and driver in DRIVERS and driver not in users:
            raise InputError(f"{name} is given, but driver={driver!r} does not use it")
    window, backend, guess = (default if value is None else value
                              for value, default in ((window, 10), (backend, "chain"), (guess, "mg1")))
    if isinstance(guess, np.ndarray | list) and driver != "global":
        raise InputError("nodal values as guess need driver='global'; give a function t -> z instead")
    _check_newton(newton)
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
        solution.status.message += f" ({checkpoint})"
    elif not solution.success:
        solution.status.message += _not_finite(solution, mesh)
    return solution


def _solve_globally(problem, element, n_elements, mesh, tolerance, others, **arguments):
    """Boundary-value problems, and global solves to a tolerance."""
    given = [name for name, value in others.items() if value is not None]
    what = "a boundary-value problem" if isinstance(problem, BoundaryValueProblem) else "a global solve to a tolerance"
    if given:
        raise InputError(f"{given[0]} is given, but {what} does not use it")
    mesh = _checked_start(problem, n_elements, mesh, tolerance)
    _check_newton(arguments["newton"])
    if isinstance(problem, BoundaryValueProblem):
        from .solving_boundary import solve_boundary

        return solve_boundary(problem, element, n_elements, mesh, tolerance=tolerance, **arguments)
    from .solving_refined import solve_refined

    guess = arguments.pop("guess")

    def solve_on(element, mesh, last):
        return solve(problem, element, mesh=mesh, guess=guess if last is None else last, **arguments)

    return solve_refined(solve_on, problem, element, tolerance, n_elements, mesh)


def _solve_for_controls(problem, element, n_elements, mesh, others, **arguments):
    """Inverse dynamics and optimal control."""
    what = "inverse dynamics" if isinstance(problem, InverseDynamics) else "optimal control"
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is given, but {what} does not use it")
    mesh = _checked_start(problem, n_elements, mesh, arguments["tolerance"])
    _check_newton(arguments["newton"])
    if isinstance(problem, InverseDynamics):
        from .solving_inverse import solve_inverse_dynamics

        return solve_inverse_dynamics(problem, element, n_elements, mesh, **arguments)
    from .solving_optimal import solve_optimal_control

    return solve_optimal_control(problem, element, n_elements, mesh, **arguments)


def _checked_start(problem, n_elements, mesh, tolerance):
    """The mesh that is given, of a solve that ties all elements together."""
    if (mesh is None) == (n_elements is None) and (mesh is not None or tolerance is None):
        raise InputError("give either n_elements or mesh, or tolerance" if tolerance is None else
                         "give n_elements or mesh to start from, not both")
    if n_elements is not None:
        validate.integer("n_elements", n_elements, minimum=1)
    return None if mesh is None else _checked_mesh(mesh, problem.t_span)


def _solve_to_tolerance(problem, element, tolerance, newton, scaling, progress):
    from .solvers.adaptive import solve_adaptively
    from .solvers.step_control import StepControl

    _check_newton(newton)
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


def _check_newton(newton):
    if newton is not None and not isinstance(newton, Newton):
        raise InputError(f"newton must be a Newton(...), not {newton!r}")


def _statistics(outcome, mesh, driver, backend):
    iterations = outcome.iterations
    return {"driver": driver, "backend": backend, "n_ranks": outcome.n_ranks,
            "newton_iterations": {"max": int(iterations.max(initial=0)),
                                  "mean": float(iterations.mean()) if len(iterations) else 0.0},
            "n_elements": mesh.n_elements, "n_unknowns": outcome.n_unknowns, "seconds": outcome.seconds,
            "backward_error": outcome.backward_error}


def restart(path, **arguments):
    """Go on with a solve from its checkpoint, on any number of ranks.

    Parameters
    ----------
    path : str or Path
        Written by `solve(..., checkpoint=path)`.
    **arguments
        Of `solve`, for instance `backend` and `checkpoint`; problem, element, mesh, driver, window and scaling are
        those of the file.

    Returns
    -------
    Solution

    Raises
    ------
    InputError
        When the file is no checkpoint, or its system has parts given by formulas, which no file can hold: then make
        the problem anew and call `solve(..., restart=path)`.
    """
    saved = Checkpoint(path)
    known = {"problem", "element", "n_elements", "mesh", "driver", "window", "scaling", "restart"} & set(arguments)
    if known:
        raise InputError(f"{' and '.join(sorted(known))}: restart takes this from the checkpoint")
    problem, element, mesh, settings = restored(saved)
    return solve(problem, element, mesh=mesh, restart=path, **settings, **arguments)


def restored(saved):
    """Problem, element, mesh and further arguments of `solve`, from a `Checkpoint`."""
    facts, t = saved.facts, saved.arrays["t"]
    if facts["system"] is None:
        raise InputError(f"{saved.path}: the system has parts that no file can hold; make the problem anew and call "
                         f"solve(..., restart={str(saved.path)!r})")
    system = build(facts["system"])
    q, p = np.split(saved.arrays["z0"], 2)
    parts = {body: system.coordinates(body) for body in system.bodies}
    state = {body: CanonicalState(q[part], p[part]) for body, part in parts.items()}
    element = build_element(facts["element"])
    settings = {name: facts[name] for name in ("driver", "window", "scaling") if name in facts}
    return InitialValueProblem(system, state, (t[0], t[-1])), element, TimeMesh(t), settings


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


def _checked_mesh(mesh, t_span):
    mesh = mesh if isinstance(mesh, TimeMesh) else TimeMesh(mesh)
    if not np.allclose(mesh.nodes[[0, -1]], t_span, rtol=1e-12, atol=1e-12):
        raise InputError(f"mesh covers [{mesh.nodes[0]:g}, {mesh.nodes[-1]:g}], but the time span of the problem is "
                         f"[{t_span[0]:g}, {t_span[1]:g}]")
    return mesh
