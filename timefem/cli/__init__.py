"""The command `timefem`: list, run, check, plot, info. Exit status 1: a solve failed; 2: input that cannot be used."""

import os
import sys
import time
import traceback
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer

from .. import __version__, validate
from ..errors import InputError, MissingBackend, RankError, SolveError
from ..solvers.communicator import PATIENCE
from .elements import element_facts, fitting_facts, make_element
from .export import export
from .kinds import newton_settings, refuse_unused, refuse_with_bounds
from .model_files import check, model_arguments
from .report import (
    backend_facts,
    backend_table,
    draw,
    make_console,
    make_table,
    print_details,
    print_json,
    print_report,
    run_report,
    version_facts,
)
from .reproduce import reproduce
from .studies import repeat_options, study

UsageError = typer.BadParameter.__bases__[0]  # of click, which newer typer carries inside and older ones import
PETSC_PREFIX = "-timefem_"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Sparse finite elements in time for mechanics.")


def main(argv=None):
    """Run a command line and return the exit status; `argv` is without the program's name."""
    comm = None
    try:
        arguments, petsc_options = split_petsc_options(sys.argv[1:] if argv is None else argv)
        if arguments[:1] == ["study"]:
            arguments = repeat_options(arguments)
        comm = _world()
        command = typer.main.get_command(app)
        return command.main(arguments, prog_name="timefem", standalone_mode=False, obj=petsc_options) or 0
    except (InputError, MissingBackend, UsageError) as error:
        status, message = 2, error.format_message() if isinstance(error, UsageError) else str(error)
    except SolveError as error:
        status, message = 1, str(error)
    except RankError as error:
        status, message = 1, str(error)
        if _rank() == 0:
            print("timefem: error:", message, file=sys.stderr, flush=True)
            message = ""
    except typer.Abort:
        status, message = 130, "interrupted"
    except Exception:
        if comm is None:
            raise
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)  # the other ranks would wait for this one for ever
    if _rank() == 0 and message:
        print("timefem: error:", " ".join(message.split()), file=sys.stderr, flush=True)
    if comm is not None:
        _meet(comm, status)
    return status


def split_petsc_options(arguments):
    """Split a command line into the other arguments and the PETSc options in it.

    `-timefem_ksp_type gmres` becomes {"ksp_type": "gmres"}, and `-timefem_ksp_view`, with no value after it,
    {"ksp_view": None}. As with PETSc, what follows and does not look like an option is the value.
    """
    others, options, rest = [], {}, list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument.startswith(PETSC_PREFIX):
            value = rest.pop(0) if rest and (not rest[0].startswith("-") or _is_number(rest[0])) else None
            options[argument.removeprefix(PETSC_PREFIX)] = value
        else:
            others.append(argument)
    return others, options


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- ranks

def _world():
    from ..solvers.communicator import launched_ranks, world

    return world() if launched_ranks() > 1 else None


def _rank():
    """Rank of this process; from the launcher's word, which needs no mpi4py."""
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
    return next((int(os.environ[n]) for n in names if os.environ.get(n, "").isdigit()), 0)


def _meet(comm, status):
    """Wait until all ranks have failed alike; when they have not, end them, since they may wait for this one."""
    request, start = comm.Ibarrier(), time.monotonic()
    while not request.Test():
        if time.monotonic() - start > PATIENCE:
            comm.Abort(status)
        time.sleep(0.01)


def _note(text):
    if _rank() == 0:
        print("timefem: note:", text, file=sys.stderr, flush=True)


def _check_output(path):
    """Raise InputError on all ranks when rank 0 cannot write there."""
    from ..solution.files import check_writable

    comm, message = _world(), None
    if _rank() == 0:
        try:
            check_writable(path)
        except InputError as error:
            message = str(error)
    message = comm.bcast(message) if comm is not None else message
    if message:
        raise InputError(message)


@contextmanager
def _stdout_to_stderr():
    """Send to standard error what libraries print, also from C (PETSc's views, MUMPS)."""
    import ctypes

    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        if os.name == "posix":
            ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)


# ---- commands

@app.callback(invoke_without_command=True)
def _timefem(ctx: typer.Context,
             version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False):
    if ctx.obj and ctx.invoked_subcommand != "run":
        raise InputError(f"{PETSC_PREFIX}{next(iter(ctx.obj))} belongs to `timefem run`")
    if version:
        print(f"timefem {__version__}")
        raise typer.Exit()
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.command("list")
def list_command(
    elements: Annotated[bool, typer.Option("--elements", help="Which case each element can take, and why not "
                                                              "otherwise.")] = False,
    as_json: JSON = False,
):
    """What there is: cases, elements with their parameters, drivers, linear backends and whether each is installed."""
    if elements:
        return _list_elements(as_json)
    from ..cases import CASES
    from ..solvers.drivers import DRIVERS

    cases = {c.name: {"title": c.title, "description": c.description, "kind": c.kind, "t_end": c.t_end,
                      "n_elements": c.n_elements} for c in CASES.values()}
    if as_json:
        return print_json({"cases": cases, "elements": element_facts(), "drivers": list(DRIVERS),
                            "backends": backend_facts()})
    console = make_console()
    table = make_table("cases", "case", "kind", "t_end [s]", "elements", "what it is")
    for name, c in cases.items():
        table.add_row(name, c["kind"], f"{c['t_end']:g}", str(c["n_elements"]), c["description"])
    console.print(table)
    table = make_table("elements", "element", "what it is", "parameters (default)")
    for name, e in element_facts().items():
        table.add_row(name, e["description"],
                      "\n".join(f"{p['option']} ({p['default']})" for p in e["parameters"].values()))
    console.print(table)
    console.print("drivers:", ", ".join(DRIVERS))
    console.print(backend_table())


def _list_elements(as_json):
    facts = fitting_facts()
    if as_json:
        return print_json({"elements": facts})
    table = make_table("elements and cases", "element", "takes", "does not take", "for instance, why")
    for name, cases in facts.items():
        refused = {case: why for case, why in cases.items() if why}
        table.add_row(name, ", ".join(case for case in cases if case not in refused) if refused else "all",
                      ", ".join(refused), next((f"{case}: {why}" for case, why in refused.items()), ""))
    make_console().print(table)


@app.command()
def run(
    ctx: typer.Context,
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case that `timefem list` names, or a model file, "
                                                             "which ends in .toml.")],
    rotation: Annotated[str | None, typer.Option(help="quaternion (default) or directors.")] = None,
    inverse_mass: Annotated[str | None, typer.Option(help="Quaternions: polynomial (default) or exact.")] = None,
    element: Annotated[str, typer.Option(help="mg (mixed Galerkin), bg (Bubnov-Galerkin), or a scheme that "
                                                     "`timefem list` names, as eml or emh.")] = "mg",
    degree: Annotated[int | None, typer.Option(help="Polynomial degree; default 2 for mg, 3 for bg.")] = None,
    points: Annotated[int | None, typer.Option(help="Gauss points; default twice the degree.")] = None,
    multipliers: Annotated[str | None, typer.Option(help="bg: discontinuous (default) or continuous.")] = None,
    drop: Annotated[str | None, typer.Option(help="bg: tests left out at the start (default) or the end.")] = None,
    nodes: Annotated[str | None, typer.Option(help="mg, bg: equidistant (default) or lobatto.")] = None,
    constraints: Annotated[str | None, typer.Option(help="mg: gradient (default) or discrete-gradient, with which "
                                                         "constraints of any degree hold at the nodes.")] = None,
    n_elements: Annotated[int | None, typer.Option(help="Default: that of the case.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Relative error at the nodes; march on a mesh found on the "
                                                         "way, instead of --n-elements.")] = None,
    t_end: Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")] = None,
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
    as_json: JSON = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Details on standard error.")] = False,
):
    """Solve a case, or a model file; options given here override the settings in the file.

    Options that begin with -timefem_ go to PETSc (-timefem_ksp_type gmres). Under mpirun, --driver global
    or windows with --backend petsc shares the work among the ranks.
    """
    from ..cases import Case, find_case
    from ..solution.slab import SlabSolution
    from ..solvers.linear.base import check_backend
    from ..solving import solve

    if str(case).endswith(".toml"):
        return run(**model_arguments(ctx))
    case = case if isinstance(case, Case) else find_case(case)
    check_backend(backend or "chain")
    time_element = make_element(element, degree, points, multipliers, drop, nodes, constraints)
    if isinstance(window, str) and window != "auto":
        if not window.strip().isdigit():
            raise InputError(f"--window must be a number of elements or auto, not {window!r}")
        window = int(window)
    refuse_unused(case, {"driver": driver, "element": element, "tolerance": tolerance, "window": window,
                         "method": method, "guess": guess, "checkpoint": checkpoint, "restart": restart,
                         "checkpoint_every": checkpoint_every, "line_search": line_search})
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
    if output is not None:
        _check_output(output)
    unused = {"--window": window is not None and driver != "windows",
              "--backend": backend is not None and driver == "march",
              "--guess": guess is not None and driver == "march"}
    if any(unused.values()):
        _note(f"{' and '.join(o for o, u in unused.items() if u)} not used: --driver is {driver}")
    comm = _world()
    if comm is not None and case.kind != "initial":
        _note(f"the {comm.size} ranks repeat the same work")
    elif comm is not None and not (driver in ("global", "windows") and backend == "petsc"):
        _note(f"the {comm.size} ranks repeat the same work; --driver global --backend petsc shares it")

    with _stdout_to_stderr() if as_json else nullcontext():
        sol = solve(problem, time_element, n_elements, tolerance=tolerance, driver=driver, newton=newton,
                    scaling=scaling, window=None if unused["--window"] else window,
                    backend=None if unused["--backend"] else backend, guess=None if unused["--guess"] else guess,
                    method=method, petsc_options=petsc_options, progress=None if _rank() == 0 else False,
                    checkpoint=checkpoint, checkpoint_every=checkpoint_every, restart=restart)
    status = 0 if sol.success else 1
    if _rank() == 0 or isinstance(sol, SlabSolution):  # of which every rank has a part
        if output is not None:
            try:
                sol.save(output)
            except OSError as error:  # a full disk must not take the numbers with it
                if _rank() == 0:
                    print("timefem: error:", error, file=sys.stderr, flush=True)
                output, status = None, 1
        report = run_report(case, problem, sol)
    if _rank() == 0:
        if verbose:
            print_details(sol)
        if as_json:
            print_json(report)
        else:
            print_report(report, case, output)
        if not sol.success:
            print("timefem: failed:", " ".join(sol.status.message.split()), file=sys.stderr, flush=True)
    return status


app.command()(check)
app.add_typer(study, name="study")
app.command()(reproduce)


@app.command()
def plot(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file that `timefem run -o` wrote.")],
    output: Annotated[str | None, typer.Option("-o", "--output", help="The figure; default: PATH with .png. With the "
                                               "ending .html (to be played in a browser), .gif, .mp4, .pvd (ParaView), "
                                               ".csv or .json the motion.")] = None,
    times: Annotated[str | None, typer.Option(help="Times of the snapshots, or of the motion [s], as in 0,0.5,1; "
                                              "default: six snapshots.")] = None,
):
    """Draw energy, momentum, constraints, controls and snapshots of a saved solution, or write its motion."""
    import matplotlib
    import numpy as np

    from ..solution import load
    from ..solution.files import check_writable

    output = output or os.path.splitext(path)[0] + ".png"
    sol = load(path)
    check_writable(output)
    times = None if times is None else np.array([validate.real("times", t) for t in times.split(",")])
    matplotlib.use("Agg")
    if export(sol, output, times):
        return print(output)
    figure = draw(sol, np.linspace(sol.t[0], sol.t[-1], 6) if times is None else times)
    try:
        figure.savefig(output, dpi=150)
    except ValueError as error:  # an unknown ending
        raise InputError(f"cannot write {output}: {error}") from None
    print(output)


@app.command()
def info(as_json: JSON = False):
    """Versions, processors, and what is installed."""
    from ..kernels.compile import default_backend

    versions = version_facts()
    facts = {"timefem": __version__, "versions": versions, "n_cpus": os.cpu_count(), "kernels": default_backend(),
             "backends": backend_facts()}
    if as_json:
        return print_json(facts)
    table = make_table(f"timefem {__version__}", "what", "version")
    for name, version in versions.items():
        table.add_row(name, version or "not installed")
    table.add_row("processors", str(facts["n_cpus"]))
    table.add_row("kernels", {"llvm": "llvm (machine code)", "vm": "vm (CasADi's virtual machine)"}[facts["kernels"]])
    console = make_console()
    console.print(table)
    console.print(backend_table())
