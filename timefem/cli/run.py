"""`timefem run`: solve a case or a model file."""

import sys
from contextlib import nullcontext
from signal import SIGTERM
from typing import Annotated

import typer

from .. import interrupts, validate
from ..cases import Case, find_case
from ..errors import InputError
from ..solution.output.save import check_savable
from ..solution.slab_solution import SlabSolution
from ..solvers.linear import linear_options
from ..solving import solve
from .elements import make_element
from .following import follower
from .kinds import newton_settings, refuse_unused, refuse_with_bounds
from .model_files import model_arguments
from .options import CASE, DEGREE, ELEMENT, JSON, N_ELEMENTS, POINTS, ROTATION, T_END
from .ranks import check_output, note, rank, stdout_to_stderr, world
from .report import in_options, print_details, print_json, print_report, run_report

PETSC_PREFIX = "-timefem_"


def exit_status(sol):
    """Of a solve that failed: 1, or 128 + the signal that stopped it."""
    if sol.status.reason != "stopped":
        return 1
    number = interrupts.asked() or 0
    if (world() is not None) and (sol.statistics["n_ranks"] > 1):  # one of the ranks knows it
        number = max(world().allgather(number))
    return 128 + (number or SIGTERM)


def run(
    ctx: typer.Context,
    case: CASE,
    rotation: ROTATION = None,
    inverse_mass: Annotated[str | None, typer.Option(help="Quaternions: polynomial (default) or exact.")] = None,
    element: ELEMENT = "mg",
    degree: DEGREE = None,
    points: POINTS = None,
    multipliers: Annotated[str | None, typer.Option(help="bg: discontinuous (default) or continuous.")] = None,
    drop: Annotated[str | None, typer.Option(help="bg: tests left out at the start (default) or the end.")] = None,
    nodes: Annotated[str | None, typer.Option(help="mg, bg: equidistant (default) or lobatto.")] = None,
    constraints: Annotated[str | None, typer.Option(help="mg: gradient (default) or discrete-gradient, with which "
                                                         "constraints of any degree hold at the nodes.")] = None,
    n_elements: N_ELEMENTS = None,
    tolerance: Annotated[float | None, typer.Option(help="Largest relative error at the nodes; the mesh is found on "
                                                         "the way, instead of --n-elements.")] = None,
    t_end: T_END = None,
    driver: Annotated[str | None, typer.Option(
        help="march, windows or global; default: march for mg, global for bg, windows with --window.")] = None,
    window: Annotated[str | None, typer.Option(metavar="INTEGER|auto", help="Elements per window; default 10. auto: "
                                               "from memory and convergence.")] = None,
    backend: Annotated[str | None, typer.Option(help="chain (default), superlu, petsc or sksparse.")] = None,
    method: Annotated[str | None, typer.Option(help="With --backend petsc: mumps (default) or chain, time-chain "
                                                    "substructuring.")] = None,
    guess: Annotated[str | None, typer.Option(help="mg1 (default) or constant; windows and global. Boundary "
                                                   "values: interpolation or march.")] = None,
    scaling: Annotated[str, typer.Option(help="full, weights, reference or none.")] = "full",
    tol_residual: Annotated[float | None, typer.Option(help="Of Newton's method, scaled; default 1e-13.")] = None,
    tol_increment: Annotated[float | None, typer.Option(help="Of Newton's method, scaled; default 1e-8.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Of Newton's method; default 25.")] = None,
    line_search: Annotated[bool, typer.Option("--line-search", help="Halve steps until the residual falls; always done "
                                              "but for initial values.")] = False,
    output: Annotated[str | None, typer.Option("-o", "--output", help="File for the solution (.h5).")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="File that is written now and then, to go on from.")] = None,
    checkpoint_every: Annotated[str | None, typer.Option(metavar="60s|5it", help="Seconds or iterations between "
                                                         "checkpoints; default 60s.")] = None,
    restart: Annotated[str | None, typer.Option(help="Checkpoint to go on from, of the same solve.")] = None,
    follow: Annotated[str | None, typer.Option(metavar="KEY=START", help="Boundary values: start with that number, and "
                                               "follow the solution to what it is: t_end=0.5, or a number of a model "
                                               "file, as time.span[1]=0.5.")] = None,
    as_json: JSON = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Details on standard error.")] = False,
):
    """Solve a case, or a model file; options given here override the settings in the file.

    Options that begin with -timefem_ go to PETSc (-timefem_ksp_type gmres). Under mpirun, --driver global
    or windows with --backend petsc shares the work among the ranks; for problems of other kinds --backend petsc does.
    """
    if str(case).endswith(".toml"):
        return run(**model_arguments(ctx))
    case = case if isinstance(case, Case) else find_case(case)
    linear_options(backend)
    time_element = make_element(element, degree, points, multipliers, drop, nodes, constraints)
    if isinstance(window, str) and window != "auto":
        if not window.strip().isdigit():
            raise InputError(f"--window must be a number of elements or auto, not {window!r}")
        window = int(window)
    refuse_unused(case, {"driver": driver, "element": element, "window": window, "guess": guess,
                         "checkpoint": checkpoint, "checkpoint_every": checkpoint_every, "restart": restart,
                         "line_search": line_search})
    if case.kind != "initial":
        driver = "global"
    driver = driver or ("windows" if window is not None else "march" if time_element.can_march else "global")
    petsc_options = ctx.obj or None
    if petsc_options and backend != "petsc":
        raise InputError(f"{PETSC_PREFIX}{next(iter(petsc_options))} needs --backend petsc")
    newton = newton_settings(case.kind, {"tol_residual": tol_residual, "tol_increment": tol_increment,
                                         "max_iterations": max_iterations, "line_search": line_search})
    problem = case.make(rotation=rotation, inverse_mass=inverse_mass, t_end=t_end)
    refuse_with_bounds(problem, {"tol_residual": tol_residual, "tol_increment": tol_increment, "backend": backend})
    if tolerance is None:
        n_elements = validate.integer("n_elements", case.n_elements if n_elements is None else n_elements, minimum=1)
    solver = follower(case, follow, rotation, t_end, tolerance) or solve
    if output is not None:
        check_output(output)
        check_savable(problem.system)
    for name, value, drivers in (("window", window, "windows"), ("backend", backend, "windows or global"),
                                 ("guess", guess, "windows or global")):
        if value is not None and driver in ("march", "windows", "global") and driver not in drivers:
            raise InputError(f"--{name} is not used: --driver is {driver}; leave it out, or give --driver {drivers}")
    comm = world()
    if comm is not None and getattr(problem, "bounded", False):
        note(f"the {comm.size} ranks repeat the same work: IPOPT, which takes care of bounds, is serial")
    elif comm is not None and case.kind != "initial" and backend != "petsc":
        note(f"the {comm.size} ranks repeat the same work; --backend petsc shares it")
    elif comm is not None and not (driver in ("global", "windows") and backend == "petsc"):
        note(f"the {comm.size} ranks repeat the same work; --driver global --backend petsc shares it")

    with stdout_to_stderr() if as_json else nullcontext():
        sol = solver(problem, time_element, n_elements, tolerance=tolerance, driver=driver, newton=newton,
                    scaling=scaling, window=window, backend=backend, guess=guess, method=method,
                    petsc_options=petsc_options, progress=None if rank() == 0 else False, checkpoint=checkpoint,
                    checkpoint_every=checkpoint_every, restart=restart)
    status = 0 if sol.success else exit_status(sol)
    if rank() == 0 or isinstance(sol, SlabSolution):  # of which every rank has a part
        if output is not None:
            try:
                sol.save(output)
            except OSError as error:  # a full disk must not take the numbers with it
                if rank() == 0:
                    print("timefem: error:", error, file=sys.stderr, flush=True)
                output, status = None, 1
        report = run_report(case, problem, sol)
    if rank() == 0:
        if verbose:
            print_details(sol)
        if as_json:
            print_json(report)
        else:
            print_report(report, case, output)
        if not sol.success:
            print("timefem: failed:", in_options(" ".join(sol.status.message.split())), file=sys.stderr, flush=True)
    return status
