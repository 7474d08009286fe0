"""Several solutions of boundary-value problems: guesses that turn further, and both signs of quaternions at the end."""

import numpy as np

from ... import validate
from ...progress import progress as progress_bar
from ..common.kind import Several
from .guess import interpolation
from .kind import BOUNDARY


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
