"""`timefem check model.toml` and `timefem schema`."""

from pathlib import Path
from typing import Annotated

import typer

from ..atomic_write import write_text
from ..models import check_tables, inspect, read_model
from ..models.schema import text
from .report import make_console, make_table, print_json
from .robots import check_robot, is_robot


def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A model file (.toml), or a robot (.urdf, .xml).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
):
    """Tell what a model file states: bodies, degrees of freedom, redundant constraints, initial violations.

    Exit status 2 when the model cannot be solved as it is.
    """
    if is_robot(path):
        return check_robot(path, as_json)
    model = read_model(path)
    facts = inspect(model)
    if not facts["faults"]:
        check_tables(model)
    facts["faults"] = [str(model.document.error(**fault)) for fault in facts["faults"]]
    status = 2 if facts["faults"] else 0
    if as_json:
        print_json({"model": path, "title": model.title, "status": "faulty" if status else "fine", **facts})
        return status
    table = make_table(f"{model.title} ({path})", "", "")
    table.show_header = False
    for k, phase in enumerate(facts.get("phases", (facts,))):
        if "phases" in facts:
            table.add_section()
            table.add_row(model.phase_names[k], "")
        _add_rows(table, phase)
    for k, links in enumerate(facts.get("links", ()), 1):
        table.add_row(f"{model.phase_names[k]} follows by", ", ".join(links) or "nothing")
    if facts.get("couplings"):
        table.add_row("both ends tied by", ", ".join(facts["couplings"]))
    console = make_console()
    console.print(table)
    for fault in facts["faults"]:
        console.print(f"fault: {fault}", soft_wrap=True)
    return status


def _add_rows(table, facts):
    """Rows of a file, or of one of its phases."""
    for name, body in facts["bodies"].items():
        table.add_row(f"body {name}", f"{body['class']}, {body['n_q']} coordinates")
    table.add_row("coordinates, constraints", f"{facts['n_q']}, {facts['n_constraints']} of rank {facts['rank']}")
    table.add_row("degrees of freedom", str(facts["degrees_of_freedom"]))
    table.add_row("redundant constraints", "\n".join(facts["redundant"]) or "none")
    if facts["kind"] != "initial":
        table.add_row("problem", facts["kind"])
    if "conditions" in facts:
        table.add_row("conditions", "\n".join(facts["conditions"]))
        table.add_row("unknown numbers", ", ".join(facts["unknown"]) or "none")
    for output, degree in facts.get("relative_degrees", {}).items():
        table.add_row(f"output {output}", f"relative degree {degree}")
    if "internal" in facts:
        table.add_row("internal dynamics", f"of dimension {facts['internal']}, {facts['unstable']} not stable")
    if not facts["violations"]:
        return
    table.add_section()
    table.add_row("constraints at the start off by", "position, velocity")
    for name, v in facts["violations"].items():
        table.add_row(f"  {name}", f"{v['configuration']:.1e}, {v['velocity']:.1e}")


def schema(output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")] = None):
    """Print or write the JSON schema of model files, for editors."""
    if output is None:
        print(text(), end="")
    else:
        write_text(output, text())
