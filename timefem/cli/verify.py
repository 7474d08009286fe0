"""`timefem verify`: motions that others have solved."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SolveError
from ..progress import progress
from ..verification import find_entries, run_entry, write_page
from .options import JSON
from .report import make_console, make_table, print_json


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
        write_page(outcomes, page)
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
