"""`solve`: problem, element, driver and solution tied together."""

import numpy as np

from . import validate
from .assembly import TimeMesh
from .elements import TimeElement
from .errors import InputError
from .problems import InitialValueProblem
from .solution import Solution
from .solvers.newton import Newton


def solve(problem, element, n_elements=None, *, mesh=None, driver=None, window=None, backend=None, guess=None,
          newton=None, scaling="full", petsc_options=None, progress=None):
    """Solve a problem with a time element.

    Parameters
    ----------
    problem : InitialValueProblem
    element : TimeElement
        For instance `MixedGalerkin(degree=2)` or `BubnovGalerkin(degree=3)`.
    n_elements : int
        Elements of equal length over the time span; or give `mesh`.
    mesh : TimeMesh or array_like
        Ends of the elements, from the start to the end of the time span.
    driver : {"march", "windows", "global"}, optional
        One element at a time (elements that can be marched; their default), blocks of `window` elements, or all at
        once (default of the others). Under mpirun, `driver="global", backend="petsc"` is distributed over the ranks.
    window : int, optional
        Elements per window, 10 unless given; the last window takes what is left. With `driver="windows"` only.
    backend : {"chain", "superlu", "petsc", "sksparse"}, optional
        Linear solver of windows and global solves; "chain" unless given.
    guess : {"mg1", "constant"}, callable, ndarray or Solution, optional
        "mg1" unless given. Where Newton starts in windows and global solves: an mG(1) march, the state at the start,
        a function `t -> z`, nodal states of shape (degree n_elements + 1, n_z) (global only), or another solution.
    newton : Newton, optional
        Tolerances, iterations, line search.
    scaling : {"full", "weights", "none"}
        Scaling of unknowns and rows (see `timefem.assembly.scaling`).
    petsc_options : dict, optional
        PETSc options without the prefix `timefem_`.
    progress : bool, optional
        Show a progress bar; default: when standard error is a terminal.

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
    """
    from .solvers.drivers import DRIVERS, run_driver

    if not isinstance(problem, InitialValueProblem):
        raise InputError(f"problem must be an InitialValueProblem, not {problem!r}")
    if not isinstance(element, TimeElement):
        raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    if (mesh is None) == (n_elements is None):
        raise InputError("give either n_elements or mesh")
    mesh = TimeMesh.uniform(problem.t_span, n_elements) if mesh is None else _checked_mesh(mesh, problem.t_span)
    driver = driver or ("march" if element.can_march else "global")
    for name, value, users in (("window", window, ("windows",)), ("backend", backend, ("windows", "global")),
                               ("guess", guess, ("windows", "global"))):
        if value is not None and driver in DRIVERS and driver not in users:
            raise InputError(f"{name} is given, but driver={driver!r} does not use it")
    window, backend, guess = (default if value is None else value
                              for value, default in ((window, 10), (backend, "chain"), (guess, "mg1")))
    if petsc_options and backend != "petsc":
        raise InputError(f"petsc_options are given, but the backend is {backend!r}")
    if isinstance(guess, np.ndarray | list) and driver != "global":
        raise InputError("nodal values as guess need driver='global'; give a function t -> z instead")
    if newton is not None and not isinstance(newton, Newton):
        raise InputError(f"newton must be a Newton(...), not {newton!r}")
    validate.integer("window", window, minimum=1)
    outcome = run_driver(driver, problem.system, element, mesh, problem.z0, backend=backend, window=window,
                         guess=guess, newton_settings=newton or Newton(), scaling=scaling,
                         options=petsc_options, show=progress)
    n_solved = len(outcome.state)
    statistics = {"driver": driver, "backend": None if driver == "march" else backend, "n_ranks": outcome.n_ranks,
                  "newton_iterations": {"max": int(outcome.iterations.max(initial=0)),
                                        "mean": float(outcome.iterations.mean()) if len(outcome.iterations) else 0.0},
                  "n_elements": mesh.n_elements, "n_unknowns": outcome.n_unknowns, "seconds": outcome.seconds,
                  "backward_error": outcome.backward_error}
    return Solution(problem.system, element, mesh.nodes[:n_solved + 1], problem.z0, outcome.state,
                    outcome.multipliers, outcome.status, statistics)


def _checked_mesh(mesh, t_span):
    mesh = mesh if isinstance(mesh, TimeMesh) else TimeMesh(mesh)
    if not np.allclose(mesh.nodes[[0, -1]], t_span, rtol=1e-12, atol=1e-12):
        raise InputError(f"mesh covers [{mesh.nodes[0]:g}, {mesh.nodes[-1]:g}], but the time span of the problem is "
                         f"[{t_span[0]:g}, {t_span[1]:g}]")
    return mesh
