"""`timefem gallery`, `reproduce`, `verify`: machines, figures of the papers, motions of others, with their numbers."""

import os
from pathlib import Path
from typing import Annotated

import typer

from .. import validate
from ..errors import SolveError
from ..progress import progress
from ..reproduction import PAPERS, find_scripts, run_scripts, write_page
from ..reproduction.gallery import about, find_machines, run_machines
from ..verification import find_entries, run_entry
from ..verification import write_page as write_verification
from .options import JSON
from .report import make_console, make_table, print_json


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
