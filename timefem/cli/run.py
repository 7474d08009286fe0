"""`timefem run`, `solve-all`, `sweep`: solve a case or a model file, for several solutions, or for many numbers."""

import os
import re
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from signal import SIGTERM

import numpy as np

from .. import interrupts
from ..atomic_write import ending_of
from ..display import counted
from ..errors import InputError, SolveError
from ..memory import Late
from ..problems.kinds import KINDS, kinds_with_several
from ..solution.slab_solution import SlabSolution
from ..solving.solve import prepare, solve
from ..status import Reason
from . import PETSC_PREFIX
from .options import chosen, follower
from .process import note, rank, world
from .report import (
    check_output,
    check_solution,
    make_console,
    make_table,
    phases_report,
    print_details,
    print_json,
    print_phases,
    print_report,
    run_report,
    stdout_to_stderr,
)

many_solutions = Late("timefem.solving.many_solutions")
save = Late("timefem.solution.output.save")
watching = Late(f"{__package__}.viewing")


def run(options, petsc_options=None):
    """Do what `timefem run` does.

    Parameters
    ----------
    options : dict
        Those given, see `chosen`; besides "number", "output", "follow", "watch", "as_json" and "verbose", and
        "measured" where the problem has to have measurements.
    petsc_options : dict, optional

    Returns
    -------
    int
        Exit status.
    """
    own = {name: options.pop(name, None) for name in ("output", "follow", "as_json", "verbose")}
    numbers = options.pop("number", None) or ()
    watch, measured = options.pop("watch", False) and rank() == 0, options.pop("measured", False)
    if petsc_options:
        if options.get("backend") != "petsc" and ending_of(options["case"]) != ".toml":
            raise InputError(f"{PETSC_PREFIX}{next(iter(petsc_options))} needs --backend petsc")
        options["petsc_options"] = petsc_options
    found = with_numbers(chosen(options), numbers)
    if measured and found.kind.updates is None:
        raise InputError(f"estimate takes models with kind = \"estimation\" in [problem], and {found.name} is "
                         f"{found.kind.title}, without measurements; `timefem run` solves it")
    solver = follower(found, own.pop("follow"), options) or solve
    if options.get("checkpoint") is not None:
        check_output(options["checkpoint"], options["case"])
    if own["output"] is not None:
        check_solution(own["output"], options["case"], options.get("restart"), options.get("checkpoint"))
        for system in getattr(found.problem, "systems", (found.problem.system,)):
            save.check_savable(system)
    _note_on_ranks(found)
    if watch and not found.kind.one_motion:
        raise InputError("--watch is not used: the page follows one motion, and there are several in phases; leave it "
                         "out")
    with (stdout_to_stderr() if own["as_json"] else nullcontext(),
          watching.watched(not found.kind.causal) if watch else nullcontext() as watcher):
        arguments = found.arguments if found.model is None else found.model.with_guess(found.arguments)
        sol = solver(found.problem, found.element, found.n_elements, **arguments,
                     progress=None if rank() == 0 else False)
        if watcher is not None:
            watcher.take(sol)
    return _tell(found, sol, **own)


def with_numbers(found, texts):
    """What was chosen with other numbers of its parts, each given as NAME=VALUE."""
    numbers = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            numbers[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"--number {text!r} must be NAME=VALUE with one number, as box.mass=2; entries of vectors "
                             "are numbers of their own, as box.inertia[0]=2")
    if not numbers:
        return found
    arguments = {name: x for name, x in found.arguments.items() if not name.startswith(("checkpoint", "restart"))}
    solver = prepare(found.problem, found.element, found.n_elements, **arguments)
    return replace(found, problem=solver.changed(parameters=numbers))


def exit_status(sol):
    """Of a solve that failed: 1, or 128 + the signal that stopped it."""
    return status_of_stop(sol.statistics["n_ranks"]) if sol.status.reason == Reason.STOPPED else 1


def status_of_stop(n_ranks):
    """128 + the signal that stopped the work of some ranks."""
    number = interrupts.asked() or 0
    if (world() is not None) and (n_ranks > 1):  # one of the ranks knows it
        number = max(world().allgather(number))
    return 128 + (number or SIGTERM)


def _note_on_ranks(found):
    """Say so where ranks do the same work."""
    comm, driver = world(), found.arguments["driver"]
    if comm is None:
        return
    if not driver.distributed:
        remedy = "--driver global " * (len(found.kind.drivers) > 1) + "--backend petsc shares it"
        note(f"the {comm.size} ranks repeat the same work; {remedy}")


def _tell(found, sol, output, as_json, verbose):
    """Save and report a solution; returns the exit status."""
    status, saved = 0 if sol.success else exit_status(sol), None
    report_of, print_one = (run_report, print_report) if found.kind.one_motion else (phases_report, print_phases)
    if rank() == 0 or isinstance(sol, SlabSolution):  # of which every rank has a part
        if output is not None:
            try:
                saved = sol.save(output) or output
            except OSError as error:  # a full disk must not take the numbers with it
                if rank() == 0:
                    print("timefem: error:", error, file=sys.stderr, flush=True)
                status = 1
        report = report_of(found.case, found.problem, sol)
        report |= {"notes": list(found.notes)} if found.notes else {}
    if rank() == 0:
        if verbose:
            for one in getattr(sol, "phases", (sol,)):
                print_details(one)
        if as_json:
            print_json(report)
        else:
            print_one(report, found.case, saved)
        if not sol.success:
            print("timefem: failed:", " ".join(sol.status.message.split()), file=sys.stderr, flush=True)
    return status


# ---- `timefem solve-all`: several solutions of a problem

def solve_all(options):
    """Do what `timefem solve-all` does; returns the exit status, after a stop that of the signal."""
    output, as_json = options.pop("output", None), options.pop("as_json", False)
    known = [kind.in_several for kind in KINDS.values() if kind.several]
    given = {several: options.pop(several.option, None) for several in known}
    found = chosen(options)
    several = found.kind.in_several
    if several is None:
        raise InputError(f"solve-all looks for several solutions of {kinds_with_several()}, not of {found.name}, "
                         f"{found.kind.title}")
    for other, value in given.items():
        if value is not None and other is not several:
            raise InputError(f"--{other.option} is not used: {found.name} is {found.kind.title}; leave it out")
    stated = {} if found.model is None else found.model.several
    if output is not None:
        check_solution(output, options["case"])
    number = stated.get(several.number, several.default) if given[several] is None else given[several]
    with stdout_to_stderr() if as_json else nullcontext():
        solutions = many_solutions.solve_all(found.problem, found.element, found.n_elements,
                                             **{several.number: number}, **found.arguments)
    stop = interrupts.asked()
    status = 0 if stop is None else 128 + stop
    if rank():
        return status
    if not solutions and stop is not None:
        raise interrupts.Interrupted(stop)
    if not solutions:
        raise SolveError(f"no solution was found from the guesses with {several.number} = {number}")
    root, ending = os.path.splitext(output or "")
    facts = []
    for k, sol in enumerate(solutions, 1):
        path = f"{root}-{k}{ending}" if output else None
        if path:
            sol.save(path)
        facts.append({**several.facts(found.problem, sol), "file": path})
    if as_json:
        print_json({"case": found.name, "element": found.element.name, "n_elements": found.n_elements,
                    several.number: number, "solutions": facts})
    else:
        table = make_table(f"{found.title} ({found.name}): {len(facts)} {several.noun}", "number", *several.columns)
        for k, one in enumerate(facts, 1):
            table.add_row(str(k), *several.row(one))
        make_console().print(table)
    return status


# ---- `timefem sweep`: a case or model file solved for many values of its numbers

MOST_ROWS = 100  # of the table on standard output
MOST_RUNS = 10**7
PLACE = re.compile(r"\.([xyz] \[m\]|q\d+ \[SI\])$")  # numbers at the end of a run: centres of mass, coordinates
FORM = "NAME=FIRST:LAST:NUMBER, or NAME=A,B,C"


def sweep(options):
    """Do what `timefem sweep` does; returns the exit status."""
    texts, path, workers, as_json = (options.pop(name, None) for name in ("parameter", "csv", "workers", "as_json"))
    if not texts:
        raise InputError(f"there is nothing to vary: give --parameter {FORM}, once or several times")
    axes = _axes(texts)
    if path is not None:
        check_output(path, options["case"])
    found = chosen(options)
    if found.arguments.pop("checkpoint", None) is not None:
        raise InputError("--checkpoint belongs to a single run")
    runs = np.array(list(product(*axes.values())))
    solver = prepare(found.problem, found.element, found.n_elements, **found.arguments)
    with stdout_to_stderr() if as_json else nullcontext():
        ensemble = solver.solve_many(parameters=dict(zip(axes, runs.T, strict=True)), n_workers=workers)
    status = 0 if ensemble.success.all() else 1
    if Reason.STOPPED in ensemble.reasons:
        status = status_of_stop(ensemble.statistics["n_ranks"])
    if rank():
        return status
    if path is not None:
        ensemble.to_csv(path)
    ends = ensemble.end_columns()
    facts = {"case": found.name, "runs": len(ensemble), "converged": int(ensemble.success.sum()),
             "parameters": ensemble.parameter_columns(), "end": ends,
             "failed": {str(i): ensemble.messages.get(i, reason) for i, reason in enumerate(ensemble.reasons)
                        if reason != Reason.CONVERGED}, "seconds": ensemble.statistics["seconds"], "csv": path}
    if as_json:
        print_json(facts)
    else:
        title = f"{found.title} ({found.name}): {counted(len(ensemble), 'run')}"
        shown = {name: values for name, values in ends.items() if name == "objective" or PLACE.search(name)}
        shown = dict(list(shown.items())[:6])
        make_console().print(_table(title, axes, runs, ensemble.reasons, shown))
        if path is None:
            print("All numbers at the end of each run: --csv FILE, or --json.")
    return status


def _table(title, axes, runs, reasons, ends):
    """A row for each run, with numbers at its end; of very many the number of each end, with the first of them."""
    if len(runs) <= MOST_ROWS:
        table = make_table(title, *axes, "how it ended", *ends)
        for values, reason, *numbers in zip(runs, reasons, *ends.values(), strict=True):
            table.add_row(*(f"{v:g}" for v in values), reason, *(f"{v:.6g}" for v in numbers))
        return table
    firsts = [f"first at {name}" for name in axes]
    table = make_table(f"{title}, each with --csv FILE", "how they ended", "runs", *firsts)
    kinds = [reason.partition(":")[0] for reason in reasons]
    for kind, count in Counter(kinds).most_common():
        first = kinds.index(kind)
        table.add_row(reasons[first], str(count), *(f"{v:g}" for v in runs[first]))
    return table


def _axes(texts):
    """Name -> values, of all parameters."""
    axes, runs = {}, 1
    for text in texts:
        name, values = _values(text)
        if name in axes:
            raise InputError(f"--parameter {text!r}: {name} is given twice; give all of its values at once, as in "
                             f"{name}=1,2,5")
        axes[name], runs = values, runs * len(values)
        if runs > MOST_RUNS:
            raise InputError(f"--parameter {text!r} makes more than {MOST_RUNS} runs; give fewer values")
    return axes


def _values(text):
    """Name and values of `name=1:2:50` or `name=1,2,5`."""
    name, _, rest = text.partition("=")
    try:
        if rest.count(":") == 2:
            first, last, n = rest.split(":")
            # one more than may be is refused with the others
            values = np.linspace(float(first), float(last), min(int(n), MOST_RUNS + 1))
        else:
            values = np.array([float(x) for x in rest.split(",")])
        if not name or not values.size or not np.all(np.isfinite(values)):
            raise ValueError
    except ValueError:
        raise InputError(f"--parameter {text!r} must be {FORM}, as box.mass=1:2:50") from None
    return name, values
