"""`timefem run`: solve a case or a model file."""

import sys
from contextlib import nullcontext
from dataclasses import replace
from signal import SIGTERM

from .. import interrupts
from ..errors import InputError
from ..late import Late
from ..solution.slab_solution import SlabSolution
from ..solving.solve import prepare, solve
from ..status import Reason
from . import PETSC_PREFIX
from .chosen import chosen, follower
from .output import check_output, check_solution, stdout_to_stderr
from .process import note, rank, world
from .report import phases_report, print_details, print_json, print_phases, print_report, run_report

save = Late("timefem.solution.output.save")
watching = Late(f"{__package__}.viewing")

REPORTS = {"phases": (phases_report, print_phases)}  # of the other kinds: `run_report`, `print_report`


def run(options, petsc_options=None):
    """Do what `timefem run` does.

    Parameters
    ----------
    options : dict
        Those given, see `chosen`; besides "number", "output", "follow", "watch", "as_json" and "verbose".
    petsc_options : dict, optional

    Returns
    -------
    int
        Exit status.
    """
    own = {name: options.pop(name, None) for name in ("output", "follow", "as_json", "verbose")}
    numbers = options.pop("number", None) or ()
    watch = options.pop("watch", False) and rank() == 0
    if petsc_options:
        if options.get("backend") != "petsc" and not options["case"].endswith(".toml"):
            raise InputError(f"{PETSC_PREFIX}{next(iter(petsc_options))} needs --backend petsc")
        options["petsc_options"] = petsc_options
    found = with_numbers(chosen(options), numbers)
    solver = follower(found, own["follow"], options) or solve
    if options.get("checkpoint") is not None:
        check_output(options["checkpoint"], options["case"])
    if own["output"] is not None:
        check_solution(own["output"], options["case"], options.get("restart"), options.get("checkpoint"))
        for system in getattr(found.problem, "systems", (found.problem.system,)):
            save.check_savable(system)
    _note_on_ranks(found)
    if watch and found.kind.name == "phases":
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
            raise InputError(f"--number {text!r} must be NAME=VALUE, as box.mass=2")
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


def _tell(found, sol, output, as_json, verbose, follow=None):
    """Save and report a solution; returns the exit status."""
    status, saved = 0 if sol.success else exit_status(sol), None
    report_of, print_one = REPORTS.get(found.kind.name, (run_report, print_report))
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
