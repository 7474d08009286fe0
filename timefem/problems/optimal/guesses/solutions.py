"""Solutions as guesses: of the same kind with all their unknowns, of others with what they share."""

from functools import partial

import numpy as np

from ....errors import InputError


def is_warm(system, plan, guess):
    """Whether a guess is a solution of the same kind, with the same unknowns."""
    if not hasattr(guess, "nodal_state"):
        return False
    if not guess.success:
        raise InputError(f"the guess is a solution that failed: {guess.status.message}")
    fields = {name for name, field in list(zip(plan.element.trial, plan.columns.fields))[2:] if field.size}
    same = _labels(guess.system) == _labels(system)
    return same and set(guess.fields) == fields and guess.nodal_multipliers.shape[-1] == plan.system.n_multipliers


def _labels(system):
    return [(system.label(b), b.n_q) for b in system.bodies if b.n_q]


def prolonged(plan, coarse, mesh, values):
    """All dofs on a mesh, interpolated from nodal values on a coarser one; element by element where nodes coincide."""
    parent = np.clip(np.searchsorted(coarse.nodes, mesh.nodes[:-1] + mesh.lengths / 2, side="right") - 1, 0,
                     coarse.n_elements - 1)
    fine = []
    for nodal, space in zip(values, plan.columns.spaces, strict=True):
        if not hasattr(space.basis, "points"):  # costates of other tests than polynomials through nodes
            fine.append(nodal[parent])
            continue
        xi = (mesh.points(space.basis) - coarse.nodes[parent, None]) / coarse.lengths[parent, None]
        shapes = space.basis.values(xi.ravel()).reshape(*xi.shape, -1)
        fine.append(np.einsum("eis,esa->eia", shapes, nodal[parent]))
    return plan.columns.pack(*fine)


def sampled(way, actuators, solution, times, state):
    """Of a solution of any kind, stretched to the time span: states of bodies that both have, and controls.

    Parameters
    ----------
    way : Way
    actuators : sequence of Actuator
    solution : Solution
    times : ndarray, shape (n,)
    state : ndarray, shape (n, n_z)
        Where the solution does not have a body.

    Returns
    -------
    state : ndarray, shape (n, n_z)
    controls : dict
        Actuator -> function of times; none where the solution has none, zero for actuators that it lacks.
    """
    system, other, (t0, t1) = way.system, solution.system, way.t_span
    a, b = solution.t[0], solution.t[-1]
    stretch = (b - a) / (t1 - t0)

    def own(t):
        return np.clip(a + (np.asarray(t) - t0) * stretch, a, b)

    z, out = solution(own(times)), np.array(state)
    bodies = {(other.label(body), body.n_q): other.coordinates(body) for body in other.bodies}
    shared = [(system.coordinates(body), bodies[key]) for body in system.bodies
              if (key := (system.label(body), body.n_q)) in bodies]
    if not shared:
        raise InputError("the guess is a solution that has no body with a name of this system")
    for here, there in shared:
        out[:, here], out[:, system.n_q:][:, here] = z[:, there], stretch * z[:, other.n_q:][:, there]
    controls = {}
    if "controls" in solution.fields:
        named = {(other.label(p), p.n_controls): p for p in other.parts if p.n_controls}
        for actuator in actuators:
            found = named.get((system.label(actuator), actuator.n_controls))
            controls[actuator] = partial(_idle, actuator.n_controls) if found is None else \
                lambda t, found=found: solution.controls(own(t), found)
    return out, controls


def _idle(n, t):
    return np.zeros((len(t), n))
