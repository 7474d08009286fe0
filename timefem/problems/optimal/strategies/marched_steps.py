"""First steps whose controls are marched, where bodies turn further than their coordinates go straight on."""

import numpy as np

from ....errors import InputError, SolveError
from ....solution.audit import unresolved_turns
from ..guesses.guess import Guess, first_guess
from ..options import OPTIONS
from ..transcription.nonlinear_program import OptimalProgram
from ..transcription.sizes import has_contacts


def marched_steps(equations, x):
    """Unknowns to start from instead of `x`, and the report on a motion that the elements do not resolve; empty
    where they do.

    A step goes straight on in coordinates that turn. Of a wheel that spins, at whose end nothing is asked for, it has
    the right controls and a motion that is none; so the motion is that which its controls make, in these elements, as
    often as straight steps miss more than what they began with, and the march less.

    Parameters
    ----------
    equations : OptimalityEquations
        Of all elements.
    x : ndarray

    Returns
    -------
    x : ndarray
    text : str
    n : int
        Steps that were taken.
    """
    problem, steps = equations.problem, 0
    if not problem.n_controls or problem.unknown_names or problem.free_start or has_contacts(problem):
        return x, "", steps
    bodies = _free_to_spin(problem, equations.mesh.nodes[-1])
    if not bodies:
        return x, "", steps
    while steps < OPTIONS.marched_steps:
        missed, stepped = _step(equations, x)
        if stepped is None or not (_step(equations, stepped, False)[0] > missed if steps else
                                   _stretched(equations, stepped, bodies)):
            break
        steps += 1
        found, text = _marched(equations, stepped)
        if text is not None:
            return x, f"{text}; System(..., coordinates='joint') counts what hinges turn", steps
        if found is None or not _step(equations, found, False)[0] < missed:
            break
        x = found
    return x, "", steps


def _free_to_spin(problem, t):
    """Bodies that turn without counting, and of whose end, at time t, nothing is asked."""
    system, conditions = problem.system, problem.conditions
    asked = np.zeros((0, system.n_z)) if not conditions.names else conditions.jacobian(t)[-len(conditions.names):]
    seen = np.any(asked != 0, axis=0)
    return [body for body in system.bodies if body.has_orientation and body.constraint_names
            and not seen.reshape(2, -1)[:, system.coordinates(body)].any()]


def _step(equations, x, solve=True):
    """What the equations miss at x, over the size of the motion, and the unknowns after a step of Gauss and Newton, or
    None where there is none."""
    base = equations.with_costates(x, 0)
    residual, dual = equations.evaluate(base), equations.dual
    missed = equations.norm(residual[dual]) / max(1.0, equations.norm(equations.scaled(x)[~dual]))
    if not (solve and np.isfinite(residual).all()):
        return missed, None
    try:
        return missed, equations.moved(base, -equations.linear_step(residual), 1.0)
    except SolveError:  # no cost depends on controls, or none moves the end
        return missed, None


def _stretched(equations, x, bodies):
    """Whether bodies are no longer rigid by as much as their coordinates: they were to turn by about half a turn."""
    system, state = equations.problem.system, equations.nodal(x, "state")
    z = np.concatenate([state[:1, 0], state[:, -1]])
    if not np.isfinite(z).all():
        return False
    rows = np.concatenate([np.full(len(part.constraint_names), part in bodies) for part in system.parts])
    phi = np.array([system.constraints(t, own)[:system.n_constraints][rows]
                    for t, own in zip(equations.mesh.nodes, z, strict=True)])
    return bool(np.abs(phi).max(initial=0.0) > OPTIONS.stretched)


def _marched(equations, x):
    """Unknowns with the motion that the controls of x make, or None, and the report on one that is not resolved."""
    problem, plan, mesh = equations.problem, equations.plan, equations.mesh
    times, order = np.unique(mesh.points(plan.element.trial["controls"].basis), return_index=True)
    controls = equations.nodal(x, "controls")
    table = np.clip(controls.reshape(-1, controls.shape[-1])[order], *problem.bounds)
    try:
        x = first_guess(problem, plan, mesh, Guess(times=times, controls=table, rollout=True))
    except (InputError, SolveError):
        return None, None
    x = equations.take(x)
    state = equations.nodal(x, "state")
    text = unresolved_turns(plan.system, plan.element, mesh.nodes, np.concatenate([state[:1, 0], state[:, -1]]))
    if text is not None:
        return None, text
    program = OptimalProgram(equations, x)
    v = program.marched(program.start)
    return None if v is None else program.place(v, np.zeros(program.n_equations)), None
