"""Problems other than initial-value problems on the command line: options they have no use for, and what to tell."""

import casadi as ca
import numpy as np

from ..cases import find_case
from ..errors import InputError
from ..models.settings import newton_of
from ..solvers.nonlinear.newton import Newton

UNUSED = {
    "initial": (),
    "boundary": ("window", "checkpoint", "checkpoint_every", "restart", "line_search"),
    "inverse": ("window", "guess", "checkpoint", "checkpoint_every", "restart", "line_search"),
    "optimal": ("window", "guess", "checkpoint", "checkpoint_every", "restart", "line_search"),
}
NAMES = {"initial": "an initial-value problem", "boundary": "a boundary-value problem", "inverse": "inverse dynamics",
         "optimal": "optimal control"}


def refuse_unused(case, options):
    """InputError for options given (not None, not False) that the case's kind of problem has no use for."""
    given = [name for name in UNUSED[case.kind] if options[name] is not None and options[name] is not False]
    if given:
        raise InputError(f"--{given[0].replace('_', '-')} is not used: {case.name} is {NAMES[case.kind]}; leave it out")
    if case.kind != "initial" and options["driver"] not in (None, "global"):
        raise InputError(f"--driver {options['driver']} is not possible: {case.name} is {NAMES[case.kind]}, which ties "
                         "all elements together; leave it out")
    if case.kind == "inverse" and options["element"] != "mg":
        raise InputError(f"--element {options['element']} is not possible: {case.name} is inverse dynamics, which "
                         "takes mg")


def case_to_study(name):
    """The case of a study, by name; InputError where it is no initial-value problem."""
    case = find_case(name)
    if case.kind != "initial":
        raise InputError(f"studies are those of initial-value problems, and {name} is {NAMES[case.kind]}")
    return case


def newton_settings(kind, given):
    """Newton's settings from the options given, None for the solver's own."""
    given = {name: value for name, value in given.items() if value is not None and value is not False}
    if kind == "initial":
        return Newton(**given)
    if not given:
        return None

    return newton_of(kind, given)


def refuse_with_bounds(problem, options):
    """InputError for options given that IPOPT, which takes problems with bounds, has no use for."""
    for name in ("tol_residual", "tol_increment", "backend"):
        if getattr(problem, "bounded", False) and options[name] is not None:
            raise InputError(f"--{name.replace('_', '-')} is not used where controls have bounds, which IPOPT takes "
                             "care of; leave it out")


def kind_facts(kind, problem, sol):
    """What matters of a solution besides what all have, as plain data."""
    if kind == "initial":
        return {}
    history = sol.status.residual_history
    facts = {"kind": kind, "residual": float(history[-1]) if len(history) else None}
    if len(sol.t) == 1:  # nothing was solved
        return facts
    if "continuation" in sol.statistics:
        facts["continuation"] = sol.statistics["continuation"]
    further = {"boundary": _boundary_facts, "inverse": _inverse_facts, "optimal": _optimal_facts}
    return facts | further[kind](problem, sol)


def _optimal_facts(problem, sol):
    numbers = [sol.parameters[name] for name in problem.unknown_names]
    unmet = np.abs(np.array(problem.conditions.function(sol.z[-1], numbers))).ravel()
    return {"objective": float(sol.objective), "conditions": _worst(problem.conditions.names, unmet),
            "parameters": {name: float(value) for name, value in sol.parameters.items()},
            "controls": largest_controls(sol)}


def _worst(names, values):
    found = {}
    for name, value in zip(names, values, strict=True):
        found[name] = max(found.get(name, 0.0), float(value))
    return found


def _boundary_facts(problem, sol):
    c = problem.conditions_at_ends
    numbers = np.array([sol.parameters[name] for name in problem.unknown_names])
    unmet = c.residual(sol.z[0], sol.z[-1], numbers)
    return {"conditions": _worst(c.names, unmet),
            "parameters": {name: float(value) for name, value in sol.parameters.items()}}


def _inverse_facts(problem, sol):
    kept = {}
    for output, trajectory in problem.outputs:
        kept[repr(output)] = float(np.abs(deviations(output, trajectory, sol)).max())
    return {"outputs": kept, "controls": largest_controls(sol), "internal_dynamics": problem.internal,
            "unstable": problem.unstable}


def deviations(output, trajectory, sol):
    """By how much an output misses its trajectory at the ends of the elements, shape (n,)."""
    q = [ca.SX.sym("q", body.n_q) for body in output.bodies]
    target = ca.SX.sym("target")
    function = ca.Function("deviation", [target, *q], [ca.SX(output.deviation(target, *q))])
    places = [sol.z[:, sol.system.coordinates(body)].T for body in output.bodies]
    return np.array(function.map(len(sol.t))(np.reshape(trajectory(sol.t), (1, -1)), *places)).ravel()


def largest_controls(sol):
    """Largest size of each control inside of the elements, by actuator."""
    values, found, first = np.abs(sol.fields["controls"]).max(axis=(0, 1)), {}, 0
    for part in sol.system.parts:
        if part.n_controls:
            found[sol.system.label(part)] = values[first:first + part.n_controls].tolist()
            first += part.n_controls
    return found


def kind_rows(r):
    """Rows of the table of a run, from its facts."""
    if "continuation" in r:
        yield "followed over", ", ".join(f"{value:.6g}" for value in r["continuation"])
    if "objective" in r:
        yield "objective", f"{r['objective']:.10g}"
    if r.get("conditions"):
        worst = max(r["conditions"], key=r["conditions"].get)
        yield "conditions met to", f"{r['conditions'][worst]:.2e}, {worst}"
    for name, value in r.get("parameters", {}).items():
        yield f"found: {name}", f"{value:.10g}"
    for name, value in r.get("outputs", {}).items():
        yield f"output {name} kept to", f"{value:.2e}"
    for name, values in r.get("controls", {}).items():
        yield f"largest control of {name}", ", ".join(f"{v:.6g}" for v in values)
    if "internal_dynamics" in r:
        yield "internal dynamics", f"of dimension {r['internal_dynamics']}, {r['unstable']} not stable"
