"""Model files on the command line: `timefem run model.toml` and `timefem check model.toml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..cases import Case
from ..models import inspect, load_model, read_model
from ..models.schema import text
from ..models.settings import ELEMENT
from .report import make_console, make_table, print_json


def load_model_of(ctx):
    """The model file that a command line names, and the options that were given."""
    given = {name: value for name, value in ctx.params.items()
             if ctx.get_parameter_source(name).name == "COMMANDLINE"}
    return load_model(given["case"], **{name: given.get(name) for name in ("rotation", "inverse_mass", "t_end")}), given


def merged_settings(model, given):
    """Settings of the solver of a file, but for those that do not belong to options that were given."""
    settings = dict(model.document.data.get("solver", {}))
    if given.get("element", settings.get("element", "mg")) != settings.get("element", "mg"):
        # the file's degree is for its own element, and a march may not be for the other
        settings = {name: value for name, value in settings.items() if name not in ELEMENT and value != "march"}
    if "window" in given or "driver" in given:
        settings = {name: value for name, value in settings.items() if name not in ("driver", "window")}
    if "n_elements" in given:
        settings.pop("tolerance", None)
    settings["points"] = settings.pop("n_points", None)
    return settings


@dataclass(frozen=True)
class ModelCase(Case):
    """A model file as a case."""

    model: Any = None


def model_arguments(ctx):
    """Arguments of `run` for a model file: its case and settings, overridden by options that were given."""
    model, given = load_model_of(ctx)
    # what is conserved is not known of a model: no axes
    case = ModelCase(given["case"], model.title, model.title, model.t_span[1], model.n_elements, conserved_axes=(),
                     has_rotation=True, make=lambda **_: model.problem, kind=model.kind, model=model)
    return {"ctx": ctx, **ctx.params, **merged_settings(model, given), **given, "case": case}


def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A model file (.toml).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
):
    """Tell what a model file states: bodies, degrees of freedom, redundant constraints, initial violations.

    Exit status 2 when the model cannot be solved as it is.
    """
    model = read_model(path)
    facts = inspect(model)
    facts["faults"] = [str(model.document.error(**fault)) for fault in facts["faults"]]
    status = 2 if facts["faults"] else 0
    if as_json:
        print_json({"model": path, "title": model.title, "status": "faulty" if status else "fine", **facts})
        return status
    table = make_table(f"{model.title} ({path})", "", "")
    table.show_header = False
    for name, body in facts["bodies"].items():
        table.add_row(f"body {name}", f"{body['class']}, {body['n_q']} coordinates")
    table.add_row("coordinates, constraints", f"{facts['n_q']}, {facts['n_constraints']} of rank {facts['rank']}")
    table.add_row("degrees of freedom", str(facts["degrees_of_freedom"]))
    table.add_row("redundant constraints", "\n".join(facts["redundant"]) or "none")
    if model.kind != "initial":
        table.add_row("problem", model.kind)
    if "conditions" in facts:
        table.add_row("conditions", "\n".join(facts["conditions"]))
        table.add_row("unknown numbers", ", ".join(facts["unknown"]) or "none")
    for output, degree in facts.get("relative_degrees", {}).items():
        table.add_row(f"output {output}", f"relative degree {degree}")
    if "internal" in facts:
        table.add_row("internal dynamics", f"of dimension {facts['internal']}, {facts['unstable']} not stable")
    table.add_section()
    table.add_row("violated at the start", "position, velocity")
    for name, v in facts["violations"].items():
        table.add_row(f"  {name}", f"{v['configuration']:.1e}, {v['velocity']:.1e}")
    console = make_console()
    console.print(table)
    for fault in facts["faults"]:
        console.print(f"fault: {fault}", soft_wrap=True)
    return status


def schema(output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")] = None):
    """Print or write the JSON schema of model files, for editors."""
    if output is None:
        print(text(), end="")
    else:
        output.write_text(text())
