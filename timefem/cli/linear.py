"""`timefem modes`, `timefem linearize` and `timefem sensitivity`: derivatives around a state or along a motion."""

from contextlib import nullcontext

from ..analysis import linearize
from ..analysis.chart import moving
from ..analysis.linear_model import MODE_HEADER, mode_row
from ..analysis.nearby import settle
from ..atomic_write import ending_of
from ..display import counted
from ..errors import InputError, SolveError
from ..mechanics.bodies.states import CanonicalState
from ..problems.static.equilibrium import at_rest
from ..sensitivity.names import derivatives, functionals_of, parameters_of_problem
from ..solution.shown import checked_ending
from ..solving.solve import solve
from .options import chosen
from .process import rank
from .report import check_output, make_console, make_table, print_json, stdout_to_stderr


def _linear(options, inputs=None, outputs=()):
    """What is chosen, and the model around its start or its equilibrium."""
    rest = options.pop("equilibrium", False)
    found = chosen(options)
    problem = found.problem
    if not hasattr(problem, "z0"):
        raise InputError(f"{found.name} is a problem without an initial state; linearize one with a start")
    system, t, z = problem.system, problem.t_span[0], problem.z0
    state = {}
    for body in moving(system):
        part = system.coordinates(body)
        state[body] = CanonicalState(z[part], z[system.n_q:][part])
    if rest:
        found_rest = at_rest(system, state, t)
        state = found_rest if found_rest.success and not found_rest.n_unstable else settle(system, state, t)
    return found, linearize(system, state, t, inputs=inputs, outputs=outputs)


def modes(options):
    """Do what `timefem modes` does."""
    as_json, path = options.pop("as_json", False), options.pop("output", None)
    number, size = options.pop("number", 1), options.pop("size", 0.1)
    if path is not None:
        check_output(path, options["case"])
        checked_ending(path)
    with stdout_to_stderr() if as_json else nullcontext():
        found, model = _linear(options)
        every = model.modes()
        if path is not None and number > len(every):
            raise InputError(f"--number {number}: there are {len(every)} modes")
        if path is not None and rank() == 0:
            motion = every[number - 1].motion(size)
            motion.save(path, None if ending_of(path) == ".html" else motion.t)
    if rank():
        return
    if as_json:
        return print_json({"case": found.name, "t": model.t, "steady": model.steady, "states": model.state_names,
                           "unstable": model.n_unstable, "neutral": every.n_neutral, "modes": every.as_dict()})
    table = make_table(f"{found.title} ({found.name}): {counted(len(every), 'mode')}, "
                       f"{counted(model.n_unstable, 'unstable eigenvalue')}, {every.n_neutral} zero by structure",
                       "mode", *MODE_HEADER)
    for i, mode in enumerate(every, 1):
        table.add_row(str(i), *mode_row(mode))
    make_console().print(table)
    if not model.steady:
        make_console().print("the motion is not steady: these are eigenvalues of one instant, not of a motion; "
                             "--equilibrium looks for rest")


def linearize_command(options):
    """Do what `timefem linearize` does."""
    as_json = options.pop("as_json", False)
    inputs, outputs = options.pop("inputs", None), options.pop("outputs", None)
    with stdout_to_stderr() if as_json else nullcontext():
        found, model = _linear(options, inputs, outputs or ())
    if rank():
        return
    if as_json:
        return print_json({"case": found.name, **model.as_dict()})
    make_console().print(repr(model.summary()), markup=False)
    for name, matrix, rows, columns in (("A", model.A, model.state_names, model.state_names),
                                        ("B", model.B, model.state_names, model.input_names),
                                        ("C", model.C, model.output_names, model.state_names),
                                        ("D", model.D, model.output_names, model.input_names)):
        if matrix.size:
            table = make_table(name, "", *columns)
            for row, values in zip(rows, matrix, strict=True):
                table.add_row(row, *(f"{x:.6g}" for x in values))
            make_console().print(table)


# ---- `timefem sensitivity`: derivatives of what a motion gives by numbers of the model

def sensitivity(options):
    """Do what `timefem sensitivity` does."""
    of, parameters = options.pop("of", None), options.pop("parameters", None)
    forward, adjoint, as_json = (options.pop(name, False) for name in ("forward", "adjoint", "as_json"))
    if forward and adjoint:
        raise InputError("give either --forward or --adjoint")
    found = chosen(options)
    if not found.kind.has_derivatives:
        raise InputError("sensitivities by name are those of initial-value and boundary-value problems, and "
                         f"{found.name} is {found.kind.title}; timefem.gradient takes optimal control")
    stated = {} if found.model is None else found.model.document.data.get("sensitivity", {})
    functionals = functionals_of(found.problem.system, of or stated.get("of", ()))
    numbers = parameters_of_problem(found.problem, parameters or stated.get("parameters", ()))
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
