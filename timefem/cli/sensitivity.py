"""`timefem sensitivity`: derivatives of what a motion gives by numbers of the model."""

from contextlib import nullcontext

from ..errors import InputError, SolveError
from ..sensitivity.names import derivatives, functionals_of, parameters_of
from ..solving.solve import solve
from .chosen import chosen
from .output import stdout_to_stderr
from .ranks import rank
from .report import make_console, make_table, print_json


def sensitivity(options):
    """Do what `timefem sensitivity` does."""
    of, parameters = options.pop("of", None), options.pop("parameters", None)
    forward, adjoint, as_json = (options.pop(name, False) for name in ("forward", "adjoint", "as_json"))
    if forward and adjoint:
        raise InputError("give either --forward or --adjoint")
    found = chosen(options)
    if found.kind.name != "initial":
        raise InputError(f"sensitivities are those of initial-value problems, and {found.name} is none")
    stated = {} if found.model is None else found.model.document.data.get("sensitivity", {})
    functionals = functionals_of(found.problem.system, of or stated.get("of", ()))
    numbers = parameters_of(found.problem.system, found.problem.z0, parameters or stated.get("parameters", ()))
    method = "forward" if forward else "adjoint" if adjoint else stated.get("method", "adjoint")
    with stdout_to_stderr() if as_json else nullcontext():
        sol = solve(found.problem, found.element, found.n_elements,
                    **found.arguments, progress=None if rank() == 0 else False)
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
