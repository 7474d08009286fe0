"""`timefem sensitivity`: derivatives of what a motion gives by numbers of the model."""

from contextlib import nullcontext
from typing import Annotated

import typer

from ..errors import InputError, SolveError
from ..sensitivity.names import derivatives, functionals_of, parameters_of
from ..solving import solve
from .options import CASE, DEGREE, ELEMENT, JSON, N_ELEMENTS, POINTS, ROTATION, T_END, chosen
from .ranks import rank, stdout_to_stderr
from .report import make_console, make_table, print_json

SEVERAL = "--of", "--parameters"  # options that take several values


def repeat_values(arguments):
    """`--of a b` as `--of a --of b`, for the options that take several values."""
    repeated, option = [], None
    for argument, before in zip(arguments, [None, *arguments], strict=False):
        if argument.startswith("-"):
            option = argument
        elif option in SEVERAL and before != option:
            repeated.append(option)
        repeated.append(argument)
    return repeated


def sensitivity(
    ctx: typer.Context,
    case: CASE,
    of: Annotated[list[str] | None, typer.Option(
        help="end:QUANTITY, integral:QUANTITY or peak:QUANTITY:SHARPNESS; a quantity is BODY.NAME or BODY.NAME[i], "
             "with NAME one of q, p, v, position, velocity, angular_velocity, or kinetic.")] = None,
    parameters: Annotated[list[str] | None, typer.Option(
        help="PART.NAME or PART.NAME[i], as spring.stiffness, body.mass, load.time.amplitude; gravity; "
             "start:BODY.NAME[i], or start for the states of all bodies.")] = None,
    forward: Annotated[bool, typer.Option("--forward", help="One solve for each parameter.")] = False,
    adjoint: Annotated[bool, typer.Option("--adjoint", help="One transposed solve for each functional (default).")] =
    False,
    rotation: ROTATION = None,
    element: ELEMENT = "mg",
    degree: DEGREE = None,
    points: POINTS = None,
    n_elements: N_ELEMENTS = None,
    t_end: T_END = None,
    as_json: JSON = False,
):
    """Derivatives of functionals of a motion by numbers of the parts and by the initial state.

    Both --of and --parameters take several values, after CASE. Of a model file they default to its table
    [sensitivity].
    """
    if forward and adjoint:
        raise InputError("give either --forward or --adjoint")
    found = chosen(ctx)
    if found.kind != "initial":
        raise InputError(f"sensitivities are those of initial-value problems, and {found.name} is none")
    stated = {} if found.model is None else found.model.document.data.get("sensitivity", {})
    functionals = functionals_of(found.problem.system, of or stated.get("of", ()))
    numbers = parameters_of(found.problem.system, found.problem.z0, parameters or stated.get("parameters", ()))
    method = "forward" if forward else "adjoint" if adjoint else stated.get("method", "adjoint")
    with stdout_to_stderr() if as_json else nullcontext():
        sol = solve(found.problem, found.element, found.n_elements,
                    **found.settings | {"progress": None if rank() == 0 else False})
        if not sol.success:
            raise SolveError(sol.status.message)
        facts = derivatives(sol, functionals, numbers, method)
    if rank():
        return
    facts = {"case": found.name, "element": sol.element.name, "n_elements": len(sol.t) - 1, **facts}
    if as_json:
        return print_json(facts)
    table = make_table(f"{found.title} ({found.name}): derivatives, {method}", "of", "by", "derivative")
    for name, f in facts["functionals"].items():
        table.add_section()
        table.add_row(name, "itself", f"{f['value']:.10g}")
        for by, value in zip(facts["parameters"], f["derivatives"], strict=True):
            table.add_row("", by, f"{value:.10g}")
    make_console().print(table)
