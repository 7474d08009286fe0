"""`timefem solve-all`: several solutions of a boundary-value problem or of optimal control."""

import os
from contextlib import nullcontext

from .. import interrupts
from ..errors import InputError, SolveError
from ..solving.many_solutions import action
from ..solving.many_solutions import solve_all as solve_for_all
from .chosen import chosen
from .output import check_solution, stdout_to_stderr
from .problem_report import kind_facts
from .ranks import rank
from .report import make_console, make_table, print_json


def solve_all(options):
    """Do what `timefem solve-all` does; returns the exit status, after a stop that of the signal."""
    turns, output, as_json = options.pop("turns", None), options.pop("output", None), options.pop("as_json", False)
    starts = options.pop("starts", None)
    found = chosen(options)
    if found.kind.name not in ("boundary", "optimal"):
        raise InputError("several solutions are looked for of boundary-value problems and of optimal control, and "
                         f"{found.name} is neither")
    for kind, name, value in (("boundary", "turns", turns), ("optimal", "starts", starts)):
        if value is not None and found.kind.name != kind:
            raise InputError(f"--{name} is not used: {found.name} is {found.kind.title}; leave it out")
    stated = {} if found.model is None else found.model.several
    if output is not None:
        check_solution(output, options["case"])
    several = {"turns": stated.get("turns", 1) if turns is None else turns} if found.kind.name == "boundary" else \
        {"n_starts": stated.get("n_starts") if starts is None else starts}
    with stdout_to_stderr() if as_json else nullcontext():
        solutions = solve_for_all(found.problem, found.element, found.n_elements, **several, **found.arguments)
    stop = interrupts.asked()
    status = 0 if stop is None else 128 + stop
    if rank():
        return status
    if not solutions and stop is not None:
        raise interrupts.Interrupted(stop)
    if not solutions:
        raise SolveError(f"no solution was found from the guesses with {several}")
    root, ending = os.path.splitext(output or "")
    facts = []
    for number, sol in enumerate(solutions, 1):
        path = f"{root}-{number}{ending}" if output else None
        if path:
            sol.save(path)
        if found.kind.name == "optimal":
            facts.append({"objective": sol.objective, "duration": float(sol.t[-1] - sol.t[0]), "file": path,
                          **{key: sol.statistics[key] for key in ("starts", "failed_starts", "parameters")}})
            continue
        energy = sol.energy()
        facts.append({"action": action(sol), "energy": float(energy[0]), "start": _velocities(sol),
                      **_facts(found.problem, sol), "file": path})
    if as_json:
        print_json({"case": found.name, "element": found.element.name, "n_elements": found.n_elements, **several,
                    "solutions": facts})
    elif found.kind.name == "optimal":
        _minima(found, facts)
    else:
        _solutions(found, facts)
    return status


def _solutions(found, facts):
    table = make_table(f"{found.title} ({found.name}): {len(facts)} solutions", "number", "action [J s]",
                       "energy [J]", "conditions met to", "found", "velocities at the start")
    for number, f in enumerate(facts, 1):
        table.add_row(str(number), f"{f['action']:.8g}", f"{f['energy']:.8g}", f"{max(f['conditions'].values()):.1e}",
                      ", ".join(f"{name} {value:.8g}" for name, value in f["parameters"].items()),
                      "\n".join(f"{name}: {', '.join(f'{v:.5g}' for v in _without_noise(values))}"
                                for name, values in f["start"].items()))
    make_console().print(table)


def _minima(found, facts):
    table = make_table(f"{found.title} ({found.name}): {len(facts)} minima", "number", "cost", "duration [s]", "found",
                       "starts")
    for number, f in enumerate(facts, 1):
        table.add_row(str(number), f"{f['objective']:.8g}", f"{f['duration']:.8g}",
                      ", ".join(f"{name} {value:.8g}" for name, value in f["parameters"].items()),
                      ", ".join(map(str, f["starts"])))
    make_console().print(table)


def _facts(problem, sol):
    """Facts of the kind of problem, with the signs of quaternions at the end that the solution has."""
    every = [kind_facts("boundary", one, sol) for one in problem.windings()]
    return min(every, key=lambda facts: max(facts["conditions"].values(), default=0.0))


def _without_noise(values):
    largest = max(map(abs, values))
    return [v if abs(v) > 1e-12 * largest else 0.0 for v in values]


def _velocities(sol):
    """Angular velocities of rigid bodies, velocities of others, at the start."""
    found = {}
    for body in sol.system.bodies:
        name = "angular_velocity" if hasattr(body, "angular_velocity") else "velocity"
        part, n = sol.system.coordinates(body), sol.system.n_q
        found[sol.system.label(body)] = getattr(body, name)(sol.z[0, :n][part], sol.z[0, n:][part]).tolist()
    return found
