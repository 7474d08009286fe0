"""`timefem solve-all`: several solutions of a boundary-value problem."""

import os
from contextlib import nullcontext
from typing import Annotated

import typer

from ..errors import InputError, SolveError
from ..solving.several import action
from ..solving.several import solve_all as solve_for_all
from .kinds import kind_facts
from .options import CASE, DEGREE, ELEMENT, JSON, N_ELEMENTS, POINTS, ROTATION, T_END, chosen
from .ranks import check_output, rank, stdout_to_stderr
from .report import make_console, make_table, print_json


def solve_all(
    ctx: typer.Context,
    case: CASE,
    turns: Annotated[int | None, typer.Option(help="Guesses turn up to twice that many full turns about the axis of "
                                                   "the way, and up to that many about each body axis; default "
                                                   "1.")] = None,
    rotation: ROTATION = None,
    element: ELEMENT = "mg",
    degree: DEGREE = None,
    points: POINTS = None,
    n_elements: N_ELEMENTS = None,
    t_end: T_END = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="File for the solutions: of a.h5 the first is in "
                                                                      "a-1.h5, and so on.")] = None,
    as_json: JSON = False,
):
    """Several solutions of a boundary-value problem, from guesses that turn by different angles, by increasing
    action."""
    found = chosen(ctx)
    if found.kind != "boundary":
        raise InputError(f"several solutions are looked for of boundary-value problems, and {found.name} is none")
    stated = {} if found.model is None else found.model.document.data["problem"]
    turns = stated.get("turns", 1) if turns is None else turns
    if output is not None:
        check_output(output)
    with stdout_to_stderr() if as_json else nullcontext():
        solutions = solve_for_all(found.problem, found.element, found.n_elements, turns=turns, **found.settings)
    if rank():
        return
    if not solutions:
        raise SolveError(f"no solution was found from the guesses with --turns {turns}")
    root, ending = os.path.splitext(output or "")
    facts = []
    for number, sol in enumerate(solutions, 1):
        path = f"{root}-{number}{ending}" if output else None
        if path:
            sol.save(path)
        energy = sol.energy()
        facts.append({"action": action(sol), "energy": float(energy[0]), "start": _velocities(sol),
                      **_facts(found.problem, sol), "file": path})
    if as_json:
        return print_json({"case": found.name, "element": found.element.name, "n_elements": found.n_elements,
                           "turns": turns, "solutions": facts})
    table = make_table(f"{found.title} ({found.name}): {len(solutions)} solutions", "number", "action [J s]",
                       "energy [J]", "conditions met to", "found", "velocities at the start")
    for number, f in enumerate(facts, 1):
        table.add_row(str(number), f"{f['action']:.8g}", f"{f['energy']:.8g}", f"{max(f['conditions'].values()):.1e}",
                      ", ".join(f"{name} {value:.8g}" for name, value in f["parameters"].items()),
                      "\n".join(f"{name}: {', '.join(f'{v:.5g}' for v in _without_noise(values))}"
                                for name, values in f["start"].items()))
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
