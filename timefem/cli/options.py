"""Options that several commands share, and what they make: a problem, a time element, and settings of the solver."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from .. import validate
from ..cases import find_case
from .elements import make_element
from .model_files import load_model_of, merged_settings

CASE = Annotated[str, typer.Argument(metavar="CASE", help="A case that `timefem list` names, or a model file, which "
                                                          "ends in .toml.")]
ROTATION = Annotated[str | None, typer.Option(help="quaternion (default) or directors.")]
ELEMENT = Annotated[str, typer.Option(help="mg (mixed Galerkin), bg (Bubnov-Galerkin), or a scheme that `timefem list` "
                                           "names, as eml or emh.")]
DEGREE = Annotated[int | None, typer.Option(help="Polynomial degree; default 2 for mg, 3 for bg.")]
POINTS = Annotated[int | None, typer.Option(help="Gauss points; default twice the degree.")]
N_ELEMENTS = Annotated[int | None, typer.Option(help="Default: that of the case.")]
T_END = Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@dataclass(frozen=True)
class Chosen:
    """What a command line, or a model file under it, states.

    Attributes
    ----------
    name, title, kind : str
    problem : InitialValueProblem, ...
    element : TimeElement
    n_elements : int or None
        None where the settings have a tolerance.
    settings : dict
        Further arguments of `timefem.solve`.
    model : Model or None
    """

    name: str
    title: str
    kind: str
    problem: Any
    element: Any
    n_elements: int | None
    settings: dict
    model: Any = None


def chosen(ctx):
    """What the options of a command choose: `case`, `rotation`, `element`, `degree`, `points`, `n_elements`,
    `t_end`."""
    options = ctx.params
    n = options["n_elements"]
    if n is not None:
        validate.integer("n_elements", n, minimum=1)
    if not options["case"].endswith(".toml"):
        case = find_case(options["case"])
        element = make_element(options["element"], options["degree"], options["points"])
        problem = case.make(rotation=options["rotation"], t_end=options["t_end"])
        return Chosen(case.name, case.title, case.kind, problem, element, case.n_elements if n is None else n, {})
    model, given = load_model_of(ctx)
    element = model.element
    if {"element", "degree", "points"} & set(given):
        settings = merged_settings(model, given) | given
        element = make_element(settings.get("element", "mg"), *(settings.get(name) for name in (
            "degree", "points", "multipliers", "drop", "nodes", "constraints")))
    settings = dict(model.settings)
    if not element.can_march and settings.get("driver") == "march":
        del settings["driver"]
    if n is not None:
        settings.pop("tolerance", None)
    elif "tolerance" not in settings:
        n = model.n_elements
    return Chosen(options["case"], model.title, model.kind, model.problem, element, n, settings, model)
