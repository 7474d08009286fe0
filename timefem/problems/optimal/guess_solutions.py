"""Solutions as guesses: of the same kind of problem with all their unknowns, of others with what they share."""

from functools import partial

import numpy as np

from ...assembly import TimeMesh
from ...errors import InputError
from ...solvers.equations.transfer import transferred


def is_warm(problem, plan, guess):
    """Whether a guess is a solution of a problem of the same kind, with the same unknowns."""
    if not hasattr(guess, "nodal_state"):
        return False
    if not guess.success:
        raise InputError(f"the guess is a solution that failed: {guess.status.message}")
    fields = {name for name, field in list(zip(plan.element.trial, plan.columns.fields))[2:] if field.size}
    same = _labels(guess.system) == _labels(problem.system)
    return same and set(guess.fields) == fields and guess.nodal_multipliers.shape[-1] == plan.system.n_multipliers


def _labels(system):
    return [(system.label(b), b.n_q) for b in system.bodies if b.n_q]


def from_solution(problem, plan, mesh, solution):
    """All unknowns from the solution of a problem of the same kind, stretched to the mesh."""
    t, (t0, t1) = solution.t, problem.t_span
    coarse = TimeMesh(t0 + (t - t[0]) * (t1 - t0) / (t[-1] - t[0]))
    sizes = {name: field.shape[1] for name, field in zip(plan.element.trial, plan.columns.fields, strict=True)}
    values = transferred({"state": solution.nodal_state, "multipliers": solution.nodal_multipliers, **solution.fields},
                         solution.element, coarse, plan.element, sizes, mesh)
    x = plan.columns.pack(*values.values())
    if not problem.free_start:
        x[plan.columns.first[0]] = problem.z0
    return np.concatenate([x, np.zeros(len(problem.conditions.combinations))])


def prolonged(plan, coarse, mesh, values):
    """All dofs on a mesh, interpolated from nodal values on a coarser one; element by element where nodes coincide."""
    parent = np.clip(np.searchsorted(coarse.nodes, mesh.nodes[:-1] + mesh.lengths / 2, side="right") - 1, 0,
                     coarse.n_elements - 1)
    fine = []
    for nodal, space in zip(values, plan.columns.spaces, strict=True):
        xi = (mesh.points(space.basis) - coarse.nodes[parent, None]) / coarse.lengths[parent, None]
        shapes = space.basis.values(xi.ravel()).reshape(*xi.shape, -1)
        fine.append(np.einsum("eis,esa->eia", shapes, nodal[parent]))
    return plan.columns.pack(*fine)


def sampled(problem, solution, times, state):
    """Of a solution of any kind, stretched to the time span: states of bodies that both have, and controls.

    Parameters
    ----------
    times : ndarray, shape (n,)
    state : ndarray, shape (n, n_z)
        Where the solution does not have a body.

    Returns
    -------
    state : ndarray, shape (n, n_z)
    controls : dict
        Actuator -> function of times; none where the solution has none, zero for actuators that it lacks.
    """
    system, other, (t0, t1) = problem.system, solution.system, problem.t_span
    a, b = solution.t[0], solution.t[-1]
    stretch = (b - a) / (t1 - t0)

    def own(t):
        return np.clip(a + (np.asarray(t) - t0) * stretch, a, b)

    z, out = solution(own(times)), np.array(state)
    bodies = {(other.label(body), body.n_q): other.coordinates(body) for body in other.bodies}
    shared = [(system.coordinates(body), bodies[key]) for body in system.bodies
              if (key := (system.label(body), body.n_q)) in bodies]
    if not shared:
        raise InputError("the guess is a solution without any body of this problem, by name")
    for here, there in shared:
        out[:, here], out[:, system.n_q:][:, here] = z[:, there], stretch * z[:, other.n_q:][:, there]
    controls = {}
    if "controls" in solution.fields:
        actuators = {(other.label(p), p.n_controls): p for p in other.parts if p.n_controls}
        for actuator in problem.actuators:
            found = actuators.get((system.label(actuator), actuator.n_controls))
            controls[actuator] = partial(_idle, actuator.n_controls) if found is None else \
                lambda t, found=found: solution.controls(own(t), found)
    return out, controls


def _idle(n, t):
    return np.zeros((len(t), n))
