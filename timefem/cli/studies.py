"""`timefem study`: studies of methods; and `gallery`, `reproduce`, `verify`: numbers that are known from elsewhere."""

import csv
import os
import sys
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from .. import validate
from ..atomic_write import save_figure
from ..elements.element import ALIASES, ELEMENTS, named_element
from ..errors import InputError, SolveError
from ..progress import progress
from ..records import frozen
from ..reproduction import PAPERS, about, find_machines, find_scripts, run_machines, run_scripts, write_page
from ..solvers.linear.base import LINEAR_SOLVERS, linear_options
from ..studies import conditioning as run_study
from ..studies import plot_conditioning, preconditioners, quotient_of_precision, table, unit_body, write_csv
from ..studies.precision import METHODS
from ..verification import find_entries, run_entry
from ..verification import write_page as write_verification
from .accuracy import conservation, convergence
from .options import JSON, with_fields
from .process import rank
from .report import case_to_study, check_output, make_console, make_table, print_json, stdout_to_stderr

UNIT_BODY = "unit-body"
HELP_BACKEND = f"{', '.join(LINEAR_SOLVERS)}; default: chain. Under mpirun petsc shares the work."
WORDS = {"--multipliers": ("continuous", "discontinuous"), "--rotation": ("quaternion", "directors"),
         "--scaling": ("none", "reference", "weights", "full")}
NUMBERS = ("--elements", "--degree", "--slabs")
SEVERAL_ELEMENTS = ("convergence", "conservation")

study = typer.Typer(help="Studies of methods.", add_completion=False)


def repeat_options(arguments):
    """`--elements 50 100` as `--elements 50 --elements 100`, for the options that take several values.

    Behind the case that is all that stands alone; before it, what looks like a value.
    """
    words, repeated, option, behind_case = WORDS, [], None, not "".join(arguments[2:3]).startswith("-")
    if arguments[1:2] == ["preconditioners"]:
        words = {"--element": ("bg", "mg"), "--method": METHODS}
    if arguments[1:2] and arguments[1] in SEVERAL_ELEMENTS:
        words = {"--element": (*ELEMENTS, *ALIASES), "--keep": ("points", "all")}
    for argument, before in zip(arguments, [None, *arguments], strict=False):
        if argument.startswith("-"):
            option = argument
        elif before != option and option in (*NUMBERS, *words) and (behind_case or (
                argument.isdigit() if option in NUMBERS else argument in words[option])):
            repeated.append(option)
        repeated.append(argument)
    return repeated


@study.callback()
def _study(ctx: typer.Context):
    """Studies of methods."""
    if ctx.obj and ctx.invoked_subcommand != "conditioning":
        raise InputError(f"-timefem_{next(iter(ctx.obj))} belongs to `timefem study conditioning` and `timefem run`")


study.command()(convergence)
study.command()(conservation)


@frozen
class ConditioningOptions:
    """Options of `timefem study conditioning`."""

    ctx: typer.Context
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case that `timefem list` names, or unit-body: a free "
                                                             "body with unit mass and inertia.")]
    element: Annotated[str, typer.Option(help="bg (Bubnov-Galerkin) or mg (mixed Galerkin).")] = "bg"
    degree: Annotated[list[int], typer.Option(help="Polynomial degrees.")] = (1, 2, 3)
    multipliers: Annotated[list[str] | None, typer.Option(help="bg: continuous, discontinuous (default).")] = None
    rotation: Annotated[list[str], typer.Option(help="quaternion, directors.")] = ("quaternion",)
    scaling: Annotated[list[str], typer.Option(help="none, reference, weights, full.")] = ("none",)
    elements: Annotated[list[int], typer.Option(help="Numbers of elements.")] = (200, 400, 800)
    norm: Annotated[int, typer.Option(help="2 or 1.")] = 2
    tangent: Annotated[str, typer.Option(help="assembled, or step: of the first element alone.")] = "assembled"
    t_end: Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")] = None
    backend: Annotated[str | None, typer.Option(help=HELP_BACKEND)] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values and nothing else.")] = False
    output: Annotated[str | None, typer.Option("-o", "--output", help="File for the figure.")] = None


@study.command()
@with_fields(ConditioningOptions)
def conditioning(given):
    """Condition number of the tangent against the length of the elements, with fitted powers of 1/h.

    Options that begin with -timefem_ go to PETSc, with --backend petsc.

    Options that take several values: --elements 50 100 200, --degree, --multipliers, --rotation, --scaling.
    """
    case, as_json, as_csv, output = given.case, given.as_json, given.as_csv, given.output
    if as_json and as_csv:
        raise InputError("give either --json or --csv")
    if output is not None:
        check_output(output)
    petsc = given.ctx.obj
    linear = linear_options(given.backend, options=petsc) if given.backend or petsc else None
    studied = [named_element(given.element, degree=k, multipliers=m, nodes="equidistant")
               for k, m in product(given.degree, given.multipliers or [None])]
    make = unit_body if case == UNIT_BODY else case_to_study(case).make
    end = {} if given.t_end is None else {"t_end": given.t_end}
    problems = {r: make(rotation=r, **end) for r in given.rotation}
    with stdout_to_stderr() if as_json or as_csv else nullcontext():
        studies = [(r, run_study(problem, e, given.elements, scaling=s, norm=given.norm, tangent=given.tangent,
                                 linear=linear))
                   for (r, problem), e, s in product(problems.items(), studied, given.scaling)]
    if rank():
        return
    if as_json:
        print_json({"case": case, "studies": [{"rotation": r, **s.facts()} for r, s in studies]})
    elif as_csv:
        _print_csv(studies)
    else:
        _print_tables(case, studies)
    if output is not None:
        _save_figure(case, studies, output)


@frozen
class PrecisionOptions:
    """Options of `timefem study precision`."""

    case: Annotated[str, typer.Argument(metavar="CASE", help="A case that `timefem list` names.")]
    element: Annotated[str, typer.Option(help="mg, bg, or a scheme that `timefem list` names.")] = "mg"
    degree: Annotated[int | None, typer.Option(help="Polynomial degree of mg and bg.")] = None
    points: Annotated[int | None, typer.Option(help="Gauss points of mg and bg.")] = None
    rotation: Annotated[str | None, typer.Option(help="quaternion or directors; default: that of the case.")] = None
    n_elements: Annotated[int | None, typer.Option(help="Of the coarsest mesh; default: that of the case.")] = None
    quantity: Annotated[str, typer.Option(help="coordinates, or state.")] = "coordinates"
    t_end: Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False


@study.command()
@with_fields(PrecisionOptions)
def precision(given):
    """Second quotient of precision, from elements of length h, h/2 and h/4: 4 for a method of order 2."""
    case, found = given.case, case_to_study(given.case)
    problem = found.make(rotation=given.rotation, t_end=given.t_end)
    n = found.n_elements if given.n_elements is None else given.n_elements
    time_element = named_element(given.element, degree=given.degree, n_points=given.points)
    with stdout_to_stderr() if given.as_json else nullcontext():
        result = quotient_of_precision(problem, time_element, n, quantity=given.quantity)
    if rank():
        return
    facts = {"case": case} | result.facts()
    if given.as_json:
        return print_json(facts)
    table = make_table(f"{case}: second quotient of precision by {time_element.name}, h = {result.h:.4g} s",
                       "t [s]", "|y(h) - y(h/2)|", "|y(h/2) - y(h/4)|", "quotient")
    for i in sorted({round(k * (len(result.t) - 1) / 10) for k in range(11)}):
        table.add_row(f"{result.t[i]:.4g}", f"{result.coarse[i]:.3e}", f"{result.fine[i]:.3e}",
                      f"{result.quotients[i]:.4f}")
    table.add_row("all", "", "", f"{result.quotient:.4f}")
    console = make_console()
    console.print(table)
    console.print(f"order {result.order:.3f}; a method of order {time_element.order} has {facts['expected']:g}")


@frozen
class PreconditionersOptions:
    """Options of `timefem study preconditioners`."""

    case: Annotated[str, typer.Argument(metavar="CASE", help="A case of initial or boundary values that `timefem list` "
                                                             "names.")]
    element: Annotated[list[str], typer.Option(help="mg, bg.")] = ("mg",)
    degree: Annotated[list[int], typer.Option(help="Polynomial degrees.")] = (1, 2)
    elements: Annotated[list[int], typer.Option(help="Numbers of elements.")] = (64, 256)
    slabs: Annotated[list[int], typer.Option(help="Numbers of slabs in time.")] = (4, 16)
    method: Annotated[list[str], typer.Option(help=", ".join(METHODS))] = METHODS
    t_end: Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values and nothing else.")] = False


@study.command("preconditioners")
@with_fields(PreconditionersOptions)
def preconditioners_command(given):
    """Iterations of GMRES with blocks in time as preconditioners, against elements, slabs and degree.

    Options that take several values: --element, --degree, --elements, --slabs, --method.
    """
    if given.as_json and given.as_csv:
        raise InputError("give either --json or --csv")
    found = case_to_study(given.case, "preconditioners")
    problem = found.make(**({} if given.t_end is None else {"t_end": given.t_end}))
    studied = [named_element(e, degree=k) for e, k in product(given.element, given.degree)]
    with stdout_to_stderr():
        studies = preconditioners(problem, studied, given.elements, given.slabs, given.method)
    if rank():
        return
    if given.as_json:
        print_json({"case": given.case, "studies": [s.facts() for s in studies]})
    elif given.as_csv:
        write_csv(studies, sys.stdout)
    else:
        make_console().print(table(studies, f"{given.case}: iterations of GMRES"))


def _print_tables(case, studies):
    console = make_console()
    for rotation, s in studies:
        fitted = "" if len(s.h) < 2 else f": power of 1/h {s.slope:.2f}"
        table = make_table(f"{case}, {rotation}, {s.label}, scaling {s.scaling}, {s.norm}-norm{fitted}", "elements",
                           "h [s]", "unknowns", "largest", "smallest", "condition", "power")
        for i in range(len(s.h)):
            table.add_row(str(s.n_elements[i]), f"{s.h[i]:.4g}", str(s.n_unknowns[i]), f"{s.largest[i]:.3e}",
                          f"{s.smallest[i]:.3e}", f"{s.condition[i]:.3e}", f"{s.slopes[i - 1]:.2f}" if i else "")
        console.print(table)


def _print_csv(studies):
    writer = csv.writer(sys.stdout)
    writer.writerow(["method", "rotation", "scaling", "norm", "n_elements", "h", "n_unknowns", "largest", "smallest",
                     "condition", "fitted_slope"])
    for rotation, s in studies:
        for row in zip(s.n_elements, s.h, s.n_unknowns, s.largest, s.smallest, s.condition, strict=True):
            writer.writerow([s.label, rotation, s.scaling, s.norm, *row[:3], *row[3:], s.slope])


def _save_figure(case, studies, path):
    import matplotlib

    matplotlib.use("Agg")

    labels = [f"{s.label}, {rotation}, {s.scaling}" for rotation, s in studies]
    ax = plot_conditioning([s for _, s in studies], labels=labels)
    ax.set_title(case)
    save_figure(ax.figure, path, dpi=150)


# ---- `timefem gallery`: machines with a number and a picture each

def gallery(
    machine: Annotated[str | None, typer.Argument(help="One of them, or all; left out: list them.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pictures.")] = Path("figures"),
    as_json: JSON = False,
):
    """List the machines of the gallery, or run them; exit status 1 when a number is not as expected.

    Needs a source tree: the machines are scripts in its folder examples, which pip does not install.
    """
    if machine is None:
        listed = {name: about(path) for name, path in find_machines().items()}
        if as_json:
            return print_json(listed)
        table = make_table("gallery", "machine", "what it shows")
        for row in listed.items():
            table.add_row(*row)
        return make_console().print(table)
    results = run_machines(find_machines(machine), output)
    if as_json:
        print_json(results)
    else:
        table = make_table("gallery", "machine", "what", "number", "expected", "within", "agrees", "s")
        for name, facts in results.items():
            table.add_row(name, facts["what"], f"{facts['number']:.9g}", f"{facts['expected']:.9g}",
                          f"{facts['tolerance']:.0e}", "yes" if facts["agrees"] else "NO", f"{facts['seconds']:.1f}")
        make_console().print(table)
    if bad := [name for name, facts in results.items() if not facts["agrees"]]:
        raise SolveError(f"{len(bad)} of {len(results)} numbers are not as expected: {', '.join(bad)}")


# ---- `timefem reproduce`: figures of the papers

def reproduce(
    paper: Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)}, or all.")],
    figure: Annotated[str, typer.Argument(help="Such as fig8, or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer or shorter runs, same statements.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for figures and numbers.")] = Path("figures"),
    page: Annotated[Path | None, typer.Option(help="Write a page of all figures, next to the folder.")] = None,
    processes: Annotated[int, typer.Option(help="Scripts that run at a time.")] = 2,
    again: Annotated[bool, typer.Option("--again", help="Run also what was run already.")] = False,
    as_json: JSON = False,
):
    """Reproduce figures of the papers, and compare their numbers; exit status 1 when one differs without a reason."""
    validate.integer("processes", processes, minimum=1)
    scripts = find_scripts(paper, figure)
    results = run_scripts(scripts, quick, output, processes, False if as_json else None, again)
    if page is not None:
        write_page(results, page, os.path.relpath(output, page.parent))
    if as_json:
        print_json(results)
    else:
        table = make_table("figures", "figure", "what", "measured", "paper", "verdict")
        table.columns[0].no_wrap = True
        for key, facts in results.items():
            for c in facts["checks"]:
                table.add_row(key.replace("/", "\n"), c["what"], f"{c['measured']:.4g}", c["claimed"],
                              ": ".join(text for text in (c["verdict"], c["why"]) if text))
            if "error" in facts:
                table.add_row(key, "the script failed", "", facts["error"], "failed")
        make_console().print(table)
    bad = [key for key, facts in results.items() if not facts["settled"]]
    if bad:
        raise SolveError(f"{len(bad)} of {len(results)} figures differ from the paper without a reason: "
                         f"{', '.join(bad)}")


# ---- `timefem verify`: motions that others have solved

def verify(
    name: Annotated[str, typer.Argument(help="Of an entry or a group, such as test-set-andrews, test-set, library, "
                                             "random; or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Leave out entries that take minutes.")] = False,
    page: Annotated[Path | None, typer.Option(help="Write a page of all entries.")] = None,
    as_json: JSON = False,
):
    """Solve motions that others have solved, and compare; exit status 1 when one does not agree."""
    entries = [e for e in find_entries(name) if not (quick and e.minutes)]
    outcomes = []
    with progress("verification", len(entries), False if as_json else None) as bar:
        for entry in entries:
            bar.note(entry.name)
            outcomes.append(run_entry(entry))
            bar.advance(1)
    if page is not None:
        write_verification(outcomes, page)
    if as_json:
        print_json({o.name: o.as_dict() for o in outcomes})
    else:
        table = make_table("verification", "entry", "numbers", "difference", "within", "seconds", "agrees")
        table.columns[0].no_wrap = True
        for o in outcomes:
            table.add_row(o.name, str(o.n_numbers), f"{o.difference:.1e}", f"{o.tolerance:.0e}", f"{o.seconds:.1f}",
                          "yes" if o.agrees else "NO")
        make_console().print(table)
    bad = [o.name for o in outcomes if not o.agrees]
    if bad:
        raise SolveError(f"{len(bad)} of {len(outcomes)} entries do not agree: {', '.join(bad)}")
