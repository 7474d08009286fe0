"""Boundary-value problems in the table of kinds, in model files, and several solutions of them."""

import numpy as np

from ... import validate
from ...progress import progress as progress_bar
from ..initial.global_driver import Global
from ..kinds import FileFormat, Kind, Several, check_guess, solution_guess
from ..statistics import worst
from .problem import BoundaryValueProblem
from .solver import GUESSES, BoundaryErrors, interpolation, solve_boundary


def report_facts(problem, sol):
    """Violations of the conditions by name, and the numbers found."""
    c = problem.conditions_at_ends
    numbers = np.array([sol.parameters[name] for name in problem.unknown_names])
    return {"conditions": worst(c.formulas.names, c.residual(sol.z[0], sol.z[-1], numbers)),
            "parameters": {name: float(value) for name, value in sol.parameters.items()}}


BOUNDARY = Kind(
    "boundary", BoundaryValueProblem, "a boundary-value problem", drivers=(Global,), solve=solve_boundary,
    estimate=BoundaryErrors, guesses=GUESSES, newton={"line_search": True}, facts=report_facts,
    changes=("start", "end", "t_span"),
    files=__name__, has_derivatives=True, follows=True, studies=("preconditioners",), several=__name__,
)


# ---- boundary-value problems in model files

PLACES = "position", "orientation", "state"  # of bodies in a file: guesses
MOTION = "velocity", "angular_velocity", "frame"  # of bodies in a file: not of guesses


def check_file(document):
    check_guess(document)
    for name, entry in document.data["bodies"].items():
        for key in MOTION:
            if key in entry:
                raise document.error(("bodies", name, key), "is not used by a boundary-value problem, where "
                                     f"position and orientation are guesses; give it in problem.start.{name}")


def make_from_file(model):
    table = model.document.data["problem"]
    ends = {which: model.end_states(which) for which in ("start", "end")}
    parameters = model.parameters()
    bodies = model.document.data["bodies"]
    near = model.state if "state" in model.document.data else {
        name: state for name, state in model.state.items() if {*PLACES} & {*bodies.get(name, ())}}
    with model.naming(("problem",), table):
        return BoundaryValueProblem(model.system, model.t_span, **ends, conditions=table.get("conditions"),
                                    periodic=table.get("periodic", False),
                                    parameters=parameters, follows=table.get("follows"),
                                    free_time=table.get("free_time", False), near=near, assemble=model.assemble)


def file_facts(problem):
    names = problem.conditions_at_ends.formulas.names
    return {"conditions": list(dict.fromkeys(names)), "unknown": problem.unknown_names}


FILES = FileFormat(
    make_from_file, keys=("start", "end", "conditions", "periodic", "free_time", "parameters", "follows", "turns"),
    tables=("continuation", "guess", "sensitivity"), check=check_file, facts=file_facts, guess=solution_guess,
    state=lambda model: model.problem.conditions_at_ends.z0)


# ---- several solutions: guesses that turn further, and both signs of quaternions at the end

def solve_all(solve, problem, element, *, turns, guesses, same, progress, arguments):
    """Solutions that differ, by increasing action, see `timefem.solve_all`."""
    validate.integer("turns", turns, minimum=0)
    found, trials = [], []
    for one in problem.windings():
        along = [interpolation(one, n) for n in range(-2 * turns, 2 * turns + 1, 2)]
        about = [interpolation(one, n, axis) for axis in range(3) for n in range(-turns, turns + 1) if n]
        trials += [(one, guess) for guess in (*along, *about, *guesses)]
    with progress_bar("guesses", len(trials), progress) as bar:
        for one, guess in trials:
            sol = solve(one, element, guess=guess, progress=progress, **arguments)
            if sol.success and not any(_alike(sol, other, same) for other in found):
                found.append(sol)
            bar.advance()
    return sorted(found, key=action)


def _alike(a, b, same):
    size = a.system.state_scale
    return np.abs((a.z - b.z) / size).max() <= same * np.abs(b.z / size).max() \
        and np.allclose(a.t[-1], b.t[-1], rtol=same)


def action(sol):
    """Integral of twice the kinetic energy of a solution, by the trapezoidal rule [J s]."""
    n = sol.system.n_q
    power = (sol.z[:, n:] * sol.system.velocity(sol.t, sol.z)).sum(axis=1)
    return float(((power[1:] + power[:-1]) / 2 * np.diff(sol.t)).sum())


def facts(problem, sol):
    """Action, energy, velocities at the start, and the report with the signs of quaternions that the solution has."""
    every = [BOUNDARY.report(one, sol) for one in problem.windings()]
    return {"action": action(sol), "energy": float(sol.energy()[0]), "start": _velocities(sol),
            **min(every, key=lambda facts: max(facts["conditions"].values(), default=0.0))}


def _velocities(sol):
    """Angular velocities of rigid bodies, velocities of others, at the start."""
    found = {}
    for body in sol.system.bodies:
        name = "angular_velocity" if hasattr(body, "angular_velocity") else "velocity"
        part, n = sol.system.coordinates(body), sol.system.n_q
        found[sol.system.label(body)] = getattr(body, name)(sol.z[0, :n][part], sol.z[0, n:][part]).tolist()
    return found


def row(f):
    return (f"{f['action']:.8g}", f"{f['energy']:.8g}", f"{max(f['conditions'].values()):.1e}",
            ", ".join(f"{name} {value:.8g}" for name, value in f["parameters"].items()),
            "\n".join(f"{name}: {', '.join(f'{v:.5g}' for v in _without_noise(values))}"
                      for name, values in f["start"].items()))


def _without_noise(values):
    largest = max(map(abs, values))
    return [v if abs(v) > 1e-12 * largest else 0.0 for v in values]


SEVERAL = Several(
    "turns", "turns", solve_all, facts, row=row, takes=("guesses",),
    columns=("action [J s]", "energy [J]", "conditions met to", "found", "velocities at the start"))
