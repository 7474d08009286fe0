"""`solve`: a problem, a time element and options, handed to the kind of the problem."""

from ..elements import TimeElement
from ..errors import InputError
from ..problems.common.task import Task
from ..problems.kinds import kind_of
from ..progress import showing
from ..solvers.nonlinear.methods import is_for_inequalities
from .agreement import agree_on
from .earlier_keywords import translated


def solve(problem, element, n_elements=None, *, driver=None, guess=None, newton=None, checkpoint=None, progress=None,
          **others):
    """Solve a problem with a time element.

    Parameters
    ----------
    problem : InitialValueProblem, BoundaryValueProblem, InverseDynamics or OptimalControl
    element : TimeElement
        For instance `MixedGalerkin(degree=2)` or `BubnovGalerkin(degree=3)`.
    n_elements : int
        Elements of equal length over the time span; or give `mesh` or `tolerance`. With loads or prescribed motions
        that are not smooth at some times (`system.kinks`) of nearly equal length, with nodes at these times: an
        element that contains a kink loses its order. The lengths stay equal where that would more than double the
        longest one, as for a table with more entries than elements.
    driver : March, Windows, Global, or one of "march", "windows", "global"; optional
        One element at a time (elements that can be marched; their default), blocks of elements, or all at once
        (default of the others, and the only one of problems that tie all elements together). Their options are their
        fields: `driver=tf.Windows(64, linear=tf.PETSc())`. Under mpirun a distributed linear solver shares out the
        elements of a window, or of the whole mesh, in contiguous slabs; each rank makes the guess.
    guess : {"mg1", "constant"}, callable, ndarray or Solution, optional
        "mg1" unless given. Where Newton starts in windows and global solves: an mG(1) march, the state at the start,
        a function `t -> z`, nodal states of shape (degree n_elements + 1, n_z) (global only), or another solution.
        Of optimal control: a `Guess`, controls as `{actuator: value}`, a solution of any kind of problem with the same
        bodies, or the last ones; default: straight on, with the controls that hold the motion at rest, and where that
        fails targets that move from the start to the end.
        Of boundary-value problems: "interpolation" (bodies move straight and turn steadily between the configurations
        at the ends; the default where one is given at the end), "march" (from a state at the start; the default
        otherwise), or the last three. Newton's method has a line search there, and where it fails the loads that
        make the guess a motion are taken away step by step.
    newton : Newton, optional
        Tolerances, iterations, line search.
    checkpoint : Checkpoint or path, optional
        Of initial-value problems: a file that is written now and then, to go on from.
    progress : bool, optional
        Show a progress bar, or do not; default: a bar on a terminal, and in a file a line every ten seconds.
    **others
        See below.

    Other Parameters
    ----------------
    mesh : TimeMesh or array_like
        Ends of the elements, from the start to the end of the time span, instead of `n_elements`.
    tolerance : float or StepControl
        Largest estimated error of the nodal states relative to the size of the motion (`StepControl`), the same for
        all drivers and kinds of problems; unknown numbers, controls of inverse dynamics and the objective count too.
        The mesh is found, with nodes at kinks; where all elements are solved at once `n_elements` is the start.
    method : str or object, optional
        Of optimal control with inequalities: "interior-point" (the default), "ipopt" or "fatrop", or an object such as
        `InteriorPoint(tolerance=1e-8)`.
    backend : str, optional
        The earlier form of fields of the driver and of `Checkpoint`, as are `petsc_options`, `window`, `gather`,
        `scaling`, `checkpoint_every` and `restart`.

    Returns
    -------
    Solution
        When the solve fails, `solution.status` says where and why, and the solution ends with the last good element.

    Raises
    ------
    InputError
        For input that cannot be used, before any work starts.
    MissingBackend
        When the packages of a linear solver are not installed.
    RankError
        On all ranks, when one rank of a distributed solve has an error that is no failed solve.
    """
    kind = kind_of(problem)
    if not isinstance(element, TimeElement):
        raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    element.check(problem.system)
    periodic = [part for part in problem.system.parts if part.period is not None]
    if periodic and kind.name != "initial":
        raise InputError(f"{problem.system.label(periodic[0])} is feedback in discrete time, which is for "
                         f"initial-value problems; {kind.name} takes a Controller")
    mesh, tolerance = others.pop("mesh", None), others.pop("tolerance", None)
    default = kind.default_driver(element, tolerance is not None)
    if is_for_inequalities(others.get("method")) and not getattr(problem, "bounded", False):
        raise InputError(f"method={others['method']!r} is for inequalities, and the problem has none; leave it out")
    method = others.pop("method", None) if getattr(problem, "bounded", False) else None
    driver, checkpoint = translated(kind, default, driver, checkpoint, others)
    task = Task(problem, element, n_elements, mesh, tolerance, driver, guess, newton, checkpoint, progress, method)
    agree_on(task)
    with showing(progress):
        return kind.solve(task)
