"""Options of the command line, made from their declarations, and checked by them before anything heavy is imported."""

import functools
import inspect
from dataclasses import MISSING, fields
from typing import Annotated

import typer

from .. import validate
from ..validate.options import OPTIONS

CASE = Annotated[str, typer.Argument(metavar="CASE", help="A case that `timefem list` names, or a model file, which "
                                                          "ends in .toml, or, of run, a robot (.urdf, .xml).")]
ROTATION = Annotated[str | None, typer.Option(help="quaternion (default) or directors.")]
ELEMENT = Annotated[str, typer.Option(help="mg (mixed Galerkin), bg (Bubnov-Galerkin), or a scheme that `timefem list` "
                                           "names, as eml or emh.")]
ELEMENTS_SPACE = Annotated[int | None, typer.Option(min=1, max=10**5, help="Cases with beams: elements along each.")]
DEGREE_SPACE = Annotated[int | None, typer.Option(min=1, max=20, help="Cases with beams: degree of the elements along "
                                                                      "them.")]
T_END = Annotated[float | None, typer.Option(help="End of the motion [s]; default: that of the case.")]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
OUTPUT = Annotated[str | None, typer.Option("-o", "--output", help="File for the solution (.h5).")]
BY_ARGUMENT = {option.argument: option for option in OPTIONS.values()}


def parameter(name, annotation, default=inspect.Parameter.empty):
    """Parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def declared(name):
    """Parameter of a command for a declared option."""
    option, metavar = OPTIONS[name], None
    if option.type is bool:
        annotation = Annotated[bool, typer.Option(option.option, help=option.help)]
        return parameter(option.argument, annotation, False)
    words = (*option.words, *["INTEGER,INTEGER"] * option.several)
    if words:
        metavar = "|".join(({int: "INTEGER", float: "FLOAT"}[option.type], *words))
    kind = str if words else option.type
    annotation = Annotated[kind | None, typer.Option(option.option, help=option.help, metavar=metavar)]
    return parameter(option.argument, annotation, None)


def with_parameters(*parameters):
    """Give a function `f(ctx, **options)` the parameters of a command."""
    def decorated(function):
        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        function.__signature__ = inspect.Signature([context, *parameters])
        function.__annotations__ = {p.name: p.annotation for p in (context, *parameters)}
        return function

    return decorated


def with_fields(options):
    """Make a function `f(options)` a command whose parameters are the fields of a dataclass."""
    def decorated(function):
        @functools.wraps(function)
        def command(**given):
            return function(options(**given))

        parameters = [parameter(f.name, f.type, inspect.Parameter.empty if f.default is MISSING else f.default)
                      for f in fields(options)]
        command.__signature__ = inspect.Signature(parameters)
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorated


def given_options(ctx):
    """Options that were given, declared ones by their names, parsed and checked; "case" besides."""
    given = {}
    for argument, value in ctx.params.items():
        if argument != "case" and ctx.get_parameter_source(argument).name != "COMMANDLINE":
            continue
        option = BY_ARGUMENT.get(argument)
        if option is None:
            given[argument] = validate.real(argument, value) if argument == "t_end" else value
        else:
            given[option.name] = option.check(option.parse(value))
    return given
