"""`timefem study convergence` and `timefem study conservation`."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated

import typer

from .. import validate
from ..atomic_write import save_figure
from ..elements.element import named_element
from ..errors import InputError, SolveError
from ..parallel import launched_ranks
from ..studies import Conservation, plot_conservation, plot_convergence, table, write_csv
from ..studies import convergence as run_study
from ..studies.common import Cache, element_label, problem_key, run_jobs
from ..version import __version__
from .options import with_fields
from .report import case_to_study, check_output, make_console, print_json, stdout_to_stderr

CASE = Annotated[str, typer.Argument(metavar="CASE", help="A case that `timefem list` names.")]
ELEMENT = Annotated[list[str], typer.Option(help="mg, bg, or schemes that `timefem list` names.")]
DEGREE = Annotated[list[int] | None, typer.Option(help="Polynomial degrees of mg and bg; default 1 2 3.")]
POINTS = Annotated[int | None, typer.Option(help="Gauss points of mg and bg.")]
KEEP = Annotated[list[str] | None, typer.Option(help="What mg keeps: points (default), all, or both in turn.")]
ROTATION = Annotated[str | None, typer.Option(help="quaternion or directors; default: that of the case.")]
T_END = Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")]
PROCESSES = Annotated[int, typer.Option(help="Solves that run at a time.")]
CACHE = Annotated[str | None, typer.Option(metavar="DIR", help="Folder in which each solve is kept, and from which a "
                                                               "study goes on.")]
AS_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
AS_CSV = Annotated[bool, typer.Option("--csv", help="Print comma-separated values and nothing else.")]
OUTPUT = Annotated[str | None, typer.Option("-o", "--output", help="File for the figure.")]


@dataclass(frozen=True)
class _Methods:
    """A case, and the methods to study."""

    case: CASE
    element: ELEMENT = ("mg",)
    degree: DEGREE = None
    points: POINTS = None
    keep: KEEP = None
    rotation: ROTATION = None

    def prepared(self, as_json, as_csv, output):
        """The case and the time elements, after checks of all that can be checked beforehand."""
        if as_json and as_csv:
            raise InputError("give either --json or --csv")
        if launched_ranks() > 1:
            raise InputError("this study runs its solves in processes of its own; start it without mpirun")
        found = case_to_study(self.case)
        if output is not None:
            check_output(output)
        element, degree, points = self.element, self.degree, self.points
        galerkin = [name for name in element if name in ("mg", "bg")]
        if not galerkin and degree:
            named_element(element[0], degree=degree[0])  # says to whom the option belongs
        methods = [named_element(name, degree=k, n_points=points if name in galerkin else None, keep=kept)
                   for name in dict.fromkeys(element)
                   for k in ((degree or (1, 2, 3)) if name in galerkin else (None,))
                   for kept in (dict.fromkeys(self.keep or ("points",)) if name == "mg" else (None,))]
        if self.keep and "mg" not in element:
            named_element(element[0], keep=self.keep[0])
        if not galerkin and points is not None:
            named_element(element[0], n_points=points)
        return found, methods


@dataclass(frozen=True)
class _Errors:
    """Meshes, and the errors to measure on them."""

    elements: Annotated[list[int], typer.Option(help="Numbers of elements.")] = (50, 100, 200, 400)
    quantity: Annotated[str, typer.Option(help="state, coordinates, momenta, position or rotation.")] = "state"
    repeats: Annotated[int, typer.Option(help="Solves of each mesh, for the median of their times.")] = 1


@dataclass(frozen=True)
class _Meshes:
    elements: Annotated[list[int] | None, typer.Option(help="Numbers of elements; default: that of the case.")] = None


@dataclass(frozen=True)
class _Runs:
    """How the solves are run, and what happens to the results."""

    t_end: T_END = None
    processes: PROCESSES = 2
    cache: CACHE = None
    as_json: AS_JSON = False
    as_csv: AS_CSV = False
    output: OUTPUT = None


@dataclass(frozen=True)
class ConvergenceOptions(_Runs, _Errors, _Methods):  # fields come in the order of the classes from the last
    """Options of `timefem study convergence`."""


@dataclass(frozen=True)
class ConservationOptions(_Runs, _Meshes, _Methods):
    """Options of `timefem study conservation`."""


@with_fields(ConvergenceOptions)
def convergence(given):
    """Errors at the end of the motion against a fine solution by mG(4), orders of convergence, and wall times.

    Orders are fitted to the errors above the round-off plateau. Solves that run at a time disturb each other's wall
    times (of a solve without its set-up): for these take --processes 1 and --repeats 5. Options that take several
    values: --element mg eml, --degree 1 2 3, --keep points all, --elements 50 100 200.
    """
    case, as_json, as_csv = given.case, given.as_json, given.as_csv
    found, methods = given.prepared(as_json, as_csv, given.output)
    problem = found.make(rotation=given.rotation, t_end=given.t_end)
    with _quiet(as_json or as_csv):
        studies = run_study(problem, methods, given.elements, quantity=given.quantity, repeats=given.repeats,
                            processes=given.processes, cache=given.cache, name=_name(found, given.rotation),
                            progress=None)
    _print(case, studies, {"reference": studies[0].reference, "processes": given.processes}, as_json, as_csv)
    if not as_json and not as_csv:
        make_console().print(f"reference: {studies[0].reference}; errors below {studies[0].floor:.1e} are its own, or "
                             "round-off")

    def draw(plt):
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
        for ax, against in zip(axes, ("h", "seconds"), strict=True):
            plot_convergence(studies, ax, against)
        figure.suptitle(case)
        return figure

    _save(draw, given.output)


@with_fields(ConservationOptions)
def conservation(given):
    """Invariants and constraints over time: largest change, drift per second with its uncertainty, and a verdict.

    rounding: the number is kept. bounded: it oscillates. drifting: its slope is surely not zero (95 %) and matters.
    Constraints are given at the nodes and at quadrature points. Options that take several values: --element mg eml,
    --degree 1 2 3, --keep points all, --elements 50 100 200.
    """
    case, as_json, as_csv = given.case, given.as_json, given.as_csv
    found, methods = given.prepared(as_json, as_csv, given.output)
    problem = found.make(rotation=given.rotation, t_end=given.t_end)
    counts = [validate.integer("n_elements", n, minimum=1) for n in given.elements or [found.n_elements]]
    for method in methods:
        method.check(problem.system)
    name = _name(found, given.rotation)
    key = problem_key(problem, name) | {"version": __version__} if given.cache is not None else {}
    jobs = [(f"{name}/{element_label(m)}/conservation-{n}", key | {"element": repr(m), "n": n}, _conserved,
             (problem, m, n, found.conserved_axes)) for m in methods for n in counts]
    with _quiet(as_json or as_csv):
        facts = run_jobs(jobs, processes=given.processes, cache=Cache(given.cache), title="conservation")
    failures = [f["failure"] for f in facts if "failure" in f]
    studies = [Conservation.from_facts(f) for f in facts if "failure" not in f]
    if studies or as_json:
        _print(case, studies, {"failures": failures}, as_json, as_csv)

    def draw(plt):
        figure = plot_conservation(studies)
        figure.suptitle(case)
        return figure

    if studies:
        _save(draw, given.output)
    if failures:
        raise SolveError("; ".join(failures))


def _conserved(problem, element, n, axes):
    """The facts of one study, or its failure, in a process of its own."""
    from ..studies import conservation as run_study

    try:
        return run_study(problem, element, n, axes=axes).facts()
    except SolveError as error:
        return {"failure": str(error)}


def _name(case, rotation):
    return f"{case.name}, {rotation}" if rotation else case.name


def _quiet(quiet):
    return stdout_to_stderr() if quiet else nullcontext()


def _print(case, studies, facts, as_json, as_csv):
    if as_json:
        return print_json({"case": case, **facts, "studies": [s.facts() for s in studies]})
    if as_csv:
        return write_csv(studies, sys.stdout)
    make_console().print(table(studies, case))


def _save(draw, path):
    if path is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = draw(plt)
    save_figure(figure, path, dpi=150)
