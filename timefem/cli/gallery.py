"""`timefem gallery`: machines, each with a number that is checked and a picture."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SolveError
from ..reproduction.gallery import about, find_machines, run_machines
from .options import JSON
from .report import make_console, make_table, print_json


def gallery(
    machine: Annotated[str | None, typer.Argument(help="One of them, or all; left out: list them.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pictures.")] = Path("figures"),
    as_json: JSON = False,
):
    """List the machines of the gallery, or run them; exit status 1 when a number is not as expected."""
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
