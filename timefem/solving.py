"""`solve`: problem, element, driver and solution tied together."""

import numpy as np

from . import validate
from .assembly import TimeMesh
from .elements import TimeElement, gauss_legendre
from .errors import InputError
from .mechanics import CanonicalState
from .mechanics.describe import build
from .problems import InitialValueProblem
from .solution import Solution
from .solution.files import build_element, check_writable
from .solution.slab import SlabSolution
from .solvers.checkpoint import EVERY, Checkpoint, parse_every
from .solvers.communicator import own_world
from .solvers.newton import Newton


def solve(problem, element, n_elements=None, *, mesh=None, driver=None, window=None, backend=None, guess=None,
          newton=None, scaling="full", method=None, petsc_options=None, progress=None, gather=None, checkpoint=None,
          checkpoint_every=None, restart=None):
    """Solve a problem with a time element.

    Parameters
    ----------
    problem : InitialValueProblem
    element : TimeElement
        For instance `MixedGalerkin(degree=2)` or `BubnovGalerkin(degree=3)`.
    n_elements : int
        Elements of equal length over the time span; or give `mesh`. With loads or prescribed motions that are not
        smooth at some times (`system.kinks`) of nearly equal length, with nodes at these times: an element that
        contains a kink loses its order. The lengths stay equal where that would more than double the longest one, as
        for a table with more entries than elements.
    mesh : TimeMesh or array_like
        Ends of the elements, from the start to the end of the time span.
    driver : {"march", "windows", "global"}, optional
        One element at a time (elements that can be marched; their default), blocks of `window` elements, or all at
        once (default of the others). Under mpirun, "global" and "windows" with `backend="petsc"` are distributed over
        the ranks: the elements of a window, or of the whole mesh, are shared out in contiguous slabs.
    window : int or "auto", optional
        Elements per window, 10 unless given; the last window takes what is left. With `driver="windows"` only.
        "auto": 64 at first, then twice as many after a window of at most 5 Newton iterations and half as many after one
        of 9 or more, or after a failure, when the window is tried again; at most what half of the free memory takes.
    backend : {"chain", "superlu", "petsc", "sksparse"}, optional
        Linear solver of windows and global solves; "chain" unless given.
    guess : {"mg1", "constant"}, callable, ndarray or Solution, optional
        "mg1" unless given. Where Newton starts in windows and global solves: an mG(1) march, the state at the start,
        a function `t -> z`, nodal states of shape (degree n_elements + 1, n_z) (global only), or another solution.
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

    if not isinstance(problem, InitialValueProblem):
        raise InputError(f"problem must be an InitialValueProblem, not {problem!r}")
    if not isinstance(element, TimeElement):
        raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    if (mesh is None) == (n_elements is None):
        raise InputError("give either n_elements or mesh")
    mesh = _mesh_through_kinks(problem, n_elements) if mesh is None else _checked_mesh(mesh, problem.t_span)
    driver = driver or ("march" if element.can_march else "global")
    for name, value, users in (("window", window, ("windows",)), ("backend", backend, ("windows", "global")),
                               ("guess", guess, ("windows", "global"))):
        if value is not None and driver in DRIVERS and driver not in users:
            raise InputError(f"{name} is given, but driver={driver!r} does not use it")
    window, backend, guess = (default if value is None else value
                              for value, default in ((window, 10), (backend, "chain"), (guess, "mg1")))
    if method is not None:
        petsc_options = method_options(method, backend, petsc_options)
    if petsc_options and backend != "petsc":
        raise InputError(f"petsc_options are given, but the backend is {backend!r}")
    if isinstance(guess, np.ndarray | list) and driver != "global":
        raise InputError("nodal values as guess need driver='global'; give a function t -> z instead")
    if newton is not None and not isinstance(newton, Newton):
        raise InputError(f"newton must be a Newton(...), not {newton!r}")
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
    statistics = {"driver": driver, "backend": None if driver == "march" else backend, "n_ranks": outcome.n_ranks,
                  "newton_iterations": {"max": int(outcome.iterations.max(initial=0)),
                                        "mean": float(outcome.iterations.mean()) if len(outcome.iterations) else 0.0},
                  "n_elements": mesh.n_elements, "n_unknowns": outcome.n_unknowns, "seconds": outcome.seconds,
                  "backward_error": outcome.backward_error}
    values, first = (outcome.state, outcome.multipliers, outcome.status, statistics), outcome.first or 0
    t, z0 = mesh.nodes[first:first + len(outcome.state) + 1], problem.z0
    if outcome.first is not None:
        z0 = outcome.state[0, 0] if len(outcome.state) else z0
        return SlabSolution(problem.system, element, t, z0, *values, comm=own_world(),
                            origin=(mesh.nodes[0], problem.z0))
    solution = Solution(problem.system, element, t, z0, *values)
    if solution.status.reason == "stopped":
        solution.status.message += f" ({checkpoint})"
    elif not solution.success:
        solution.status.message += _not_finite(solution, mesh)
    return solution


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
