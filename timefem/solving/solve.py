"""`solve`: what belongs to no kind of problem alone, then the solver of the kind."""

from .. import validate
from ..elements import TimeElement
from ..errors import InputError
from ..problems import BoundaryValueProblem, InitialValueProblem, InverseDynamics, OptimalControl
from ..problems.boundary.errors import BoundaryErrors
from ..problems.boundary.solve import solve_boundary
from ..problems.common.checks import check_newton, checked_mesh
from ..problems.initial.errors import InitialErrors
from ..problems.initial.solve import solve_initial
from ..problems.inverse.errors import InverseErrors
from ..problems.inverse.solve import solve_inverse_dynamics
from ..problems.optimal.errors import BoundedErrors, OptimalErrors
from ..problems.optimal.solve import solve_optimal_control
from ..problems.refinement.loop import solve_refined
from ..solvers.linear import linear_options


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
        controls and costates in the mean over time (see `timefem.problems.refinement.estimate`).
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
        faster on one rank and shares the work among ranks. Of optimal control with inequalities: "ipopt" (the
        default), "interior-point" or "fatrop", or an object such as `InteriorPoint(tolerance=1e-8)`.
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
    if not isinstance(problem, InitialValueProblem | BoundaryValueProblem | InverseDynamics | OptimalControl):
        raise InputError("problem must be an InitialValueProblem, BoundaryValueProblem, InverseDynamics or "
                         f"OptimalControl, not {problem!r}")
    if not isinstance(element, TimeElement):
        raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    element.check(problem.system)
    of_inequalities = getattr(problem, "bounded", False)
    if method is not None and not of_inequalities:
        petsc_options = linear_options(backend, method=method, options=petsc_options).settings
    if petsc_options and backend != "petsc":
        raise InputError(f"petsc_options are given, but the backend is {backend or 'chain'!r}")
    if isinstance(problem, InverseDynamics | OptimalControl):
        others = {"window": window, "gather": gather, "checkpoint": checkpoint, "checkpoint_every": checkpoint_every,
                  "restart": restart}
        inequalities = {"method": method} if of_inequalities else {}
        return _solve_for_controls(problem, element, n_elements, mesh, others, tolerance=tolerance, driver=driver,
                                   backend=backend, guess=guess, newton=newton, scaling=scaling,
                                   petsc_options=petsc_options, progress=progress, **inequalities)
    if isinstance(problem, BoundaryValueProblem) or (tolerance is not None and driver == "global"):
        others = {"window": window, "gather": gather, "checkpoint": checkpoint, "checkpoint_every": checkpoint_every,
                  "restart": restart}
        return _solve_globally(problem, element, n_elements, mesh, tolerance, others, driver=driver, backend=backend,
                               guess=guess, newton=newton, scaling=scaling, petsc_options=petsc_options,
                               progress=progress)
    return solve_initial(problem, element, n_elements, mesh, tolerance=tolerance, driver=driver, window=window,
                         backend=backend, guess=guess, newton=newton, scaling=scaling, method=method,
                         petsc_options=petsc_options, progress=progress, gather=gather, checkpoint=checkpoint,
                         checkpoint_every=checkpoint_every, restart=restart)


def _solve_globally(problem, element, n_elements, mesh, tolerance, others, **arguments):
    """Boundary-value problems, and global solves to a tolerance."""
    given = [name for name, value in others.items() if value is not None]
    what = "a boundary-value problem" if isinstance(problem, BoundaryValueProblem) else "a global solve to a tolerance"
    if given:
        raise InputError(f"{given[0]} is given, but {what} does not use it")
    mesh = _checked_start(problem, n_elements, mesh, tolerance)
    check_newton(arguments["newton"])
    if isinstance(problem, BoundaryValueProblem):
        return solve_boundary(problem, element, n_elements, mesh, tolerance=tolerance, **arguments)

    guess = arguments.pop("guess")

    def solve_on(element, mesh, last):
        return solve(problem, element, mesh=mesh, guess=guess if last is None else last, **arguments)

    return solve_refined(solve_on, InitialErrors, problem, element, tolerance, n_elements, mesh, arguments["progress"])


def _solve_for_controls(problem, element, n_elements, mesh, others, **arguments):
    """Inverse dynamics and optimal control."""
    what = "inverse dynamics" if isinstance(problem, InverseDynamics) else "optimal control"
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is given, but {what} does not use it")
    mesh = _checked_start(problem, n_elements, mesh, arguments["tolerance"])
    check_newton(arguments["newton"])
    if isinstance(problem, InverseDynamics):
        return solve_inverse_dynamics(problem, element, n_elements, mesh, **arguments)

    return solve_optimal_control(problem, element, n_elements, mesh, **arguments)


def _checked_start(problem, n_elements, mesh, tolerance):
    """The mesh that is given, of a solve that ties all elements together."""
    if (mesh is None) == (n_elements is None) and (mesh is not None or tolerance is None):
        raise InputError("give either n_elements or mesh, or tolerance" if tolerance is None else
                         "give n_elements or mesh to start from, not both")
    if n_elements is not None:
        validate.integer("n_elements", n_elements, minimum=1)
    return None if mesh is None else checked_mesh(mesh, problem.t_span)


def error_estimate(problem, element):
    """The `ErrorEstimate` for solutions of a problem by an element."""
    if isinstance(problem, OptimalControl):
        return (BoundedErrors if problem.bounded else OptimalErrors)(problem, element)
    kinds = {BoundaryValueProblem: BoundaryErrors, InverseDynamics: InverseErrors}
    return kinds.get(type(problem), InitialErrors)(problem, element)
