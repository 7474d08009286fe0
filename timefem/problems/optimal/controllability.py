"""Whether the actuators can move what an optimal control problem asks for, at its guess."""

import warnings

import numpy as np
import scipy

from ...errors import InputError

NOTHING = 1e-9  # relative size of an effect that is none
NEARBY = 0.3  # how far off the guess is tried once more, scaled


class Unreached(UserWarning):
    """To first order no actuator moves what is asked for at the end."""


REFUSALS = {"control": "{} does nothing: constraints take all of it, or its direction is zero; remove it",
            "end": "the end cannot be reached: no actuator moves the {}; leave it out of `end`, or add an actuator"}
WARNINGS = {"control": "{} does nothing", "end": "no actuator moves the {}"}


def check_reach(equations, x, nearby):
    """Warn of conditions at the end that no actuator moves to first order at the guess `x`.

    Where none does at states, controls and forces nearby either, that is in general, it is refused. An effect of second
    order, such as that of a rotor that is turned and pushes then, is one to first order nearby.

    Parameters
    ----------
    equations : OptimalityEquations
        Its equations, linearised, give the motion by the controls, and the conditions by the motion.
    x : ndarray
    nearby : callable
        Gives unknowns of another guess.

    Returns
    -------
    bool
        Whether all conditions are moved at the guess.

    Raises
    ------
    InputError
        Names the control, or a condition; also when there are fewer controls on the mesh than conditions.
    """
    unmoved = _unmoved(equations, equations.with_costates(x, 0))
    if unmoved is None:
        return True
    fields = [equations.columns_of(name).ravel() for name in ("controls", "multipliers")
              if name in equations.plan.element.trial]
    places = np.concatenate(fields)
    step = np.zeros(equations.n_unknowns)
    step[places[places >= 0]] = NEARBY * np.random.default_rng(0).normal(size=(places >= 0).sum())
    never = _unmoved(equations, equations.moved(equations.with_costates(nearby(), 0), step, 1.0))
    if never is not None:
        raise InputError(REFUSALS[never[0]].format(never[1]))
    warnings.warn(f"{WARNINGS[unmoved[0]].format(unmoved[1])} at t = {equations.mesh.nodes[-1]:g}, to first order, at "
                  "the guess; the solve begins beside it, where effects of second order show. Another guess may be "
                  "better: guess={actuator: value}, or a motion", Unreached, stacklevel=2)
    return False


def _unmoved(equations, x):
    """("end", name of a condition) or ("control", name) without effect at unknowns `x`, or None."""
    problem = equations.problem
    equations.evaluate(x)
    matrix = equations.matrix().tocsr()
    n_end = equations.blocks[1].n_unknowns
    controls = equations.columns_of("controls")
    inputs = controls.ravel()
    if problem.free_start:
        inputs = np.append(inputs, equations.columns_of("state")[0, 0])
    if problem.unknown_names:
        inputs = np.append(inputs, equations.columns_of("constants")[0, 0])
    n = equations.n_unknowns
    if len(inputs) < n_end:
        raise InputError(f"the mesh has {len(inputs)} nodal values of controls for {n_end} conditions at the end; use "
                         "more elements, or fewer conditions")
    is_input = np.zeros(n, bool)
    is_input[inputs] = True
    motion = np.flatnonzero(~equations.dual & ~is_input)
    motion_rows = np.flatnonzero(equations.dual)[:np.count_nonzero(equations.dual) - n_end]
    try:
        lu = scipy.sparse.linalg.splu(matrix[motion_rows][:, motion].tocsc())
    except RuntimeError:  # the motion itself is not determined: Newton's method will tell
        return None
    by_inputs = matrix[motion_rows][:, inputs].tocsc()
    idle = _idle_control(problem, equations, lu, by_inputs, controls, motion)
    if idle is not None or not n_end:
        return idle
    conditions = matrix[n - n_end:][:, motion].toarray()
    adjoint = lu.solve(np.ascontiguousarray(conditions.T), trans="T")
    effect = -np.asarray(by_inputs.T @ adjoint).T + matrix[n - n_end:][:, inputs].toarray()
    largest = np.linalg.norm(effect, axis=1).max()
    size = np.maximum(np.linalg.norm(effect, axis=1, keepdims=True), NOTHING * largest)
    vectors, values, _ = np.linalg.svd(effect / np.where(size > 0, size, 1.0), full_matrices=False)
    if values[-1] > NOTHING:
        return None
    combination = np.abs(vectors[:, -1]) @ np.abs(problem.conditions.combinations)
    name = problem.conditions.names[int(np.argmax(combination))]
    return "end", name


def _idle_control(problem, equations, lu, by_inputs, controls, motion):
    """("control", name) of one without effect on the states, tried in the first, a middle and the last element."""
    place = np.full(equations.n_unknowns, -1)
    place[motion] = np.arange(len(motion))
    states = place[equations.columns_of("state").ravel()]
    states = np.unique(states[states >= 0])
    n_elements, n_shapes, n_controls = controls.shape
    for i in range(n_controls):
        columns = [(e * n_shapes) * n_controls + i for e in {0, n_elements // 2, n_elements - 1}]
        given = by_inputs[:, columns].toarray()
        response = lu.solve(given)
        if np.abs(response[states]).max() <= NOTHING * max(np.abs(response).max(), np.abs(given).max()):
            return "control", problem.control_name(i)
    return None
