"""`timefem sweep`: a case or model file solved for many values of its numbers."""

from collections import Counter
from contextlib import nullcontext
from itertools import product

import numpy as np

from ..errors import InputError
from ..solving.solve import prepare
from ..status import Reason
from .chosen import chosen
from .output import check_output, stdout_to_stderr
from .ranks import rank
from .report import make_console, make_table, print_json
from .run import status_of_stop

MOST_ROWS = 100  # of the table on standard output
MOST_RUNS = 10**7
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
    facts = {"case": found.name, "runs": len(ensemble), "converged": int(ensemble.success.sum()),
             "failed": {str(i): ensemble.messages.get(i, reason) for i, reason in enumerate(ensemble.reasons)
                        if reason != Reason.CONVERGED}, "seconds": ensemble.statistics["seconds"], "csv": path}
    if as_json:
        print_json(facts)
    else:
        title = f"{found.title} ({found.name}): {len(ensemble)} runs"
        make_console().print(_table(title, axes, runs, ensemble.reasons))
    return status


def _table(title, axes, runs, reasons):
    """A row for each run; of very many the number of each end, with the first of them."""
    if len(runs) <= MOST_ROWS:
        table = make_table(title, *axes, "how it ended")
        for values, reason in zip(runs, reasons, strict=True):
            table.add_row(*(f"{v:g}" for v in values), reason)
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
