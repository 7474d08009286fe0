"""Whether the actuators can move what an optimal control problem asks for, at its guess."""

import numpy as np
import scipy

from ...errors import InputError

NOTHING = 1e-9  # relative size of an effect that is none


def check_reach(equations, x):
    """Refuse what `_check` does at the guess `x`, and with other controls: without thrust a rotor does not pull aside.

    Raises
    ------
    InputError
    """
    try:
        _check(equations, x)
    except InputError:
        lower, upper = np.clip(equations.problem.bounds, [[-1.0], [-1.0]], [[1.0], [1.0]])
        shaken, places = x.copy(), equations.places_of("controls")
        equations.split(shaken)[1][places] = np.random.default_rng(0).uniform(lower, upper, places.shape)
        try:
            _check(equations, shaken)
        except InputError:
            pass
        else:
            return
        raise


def _check(equations, x):
    """Refuse conditions at the end that no actuator moves, and controls that move nothing, at `x`.

    Parameters
    ----------
    equations : OptimalityEquations
        Its equations, linearised, give the motion by the controls, and the conditions by the motion.

    Raises
    ------
    InputError
        Names the control, or a condition; also when there are fewer controls on the mesh than conditions.
    """
    problem = equations.problem
    equations.evaluate(equations.with_costates(x, 0))
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
        return
    by_inputs = matrix[motion_rows][:, inputs].tocsc()
    _check_controls(problem, equations, lu, by_inputs, controls, motion)
    if not n_end:
        return
    conditions = matrix[n - n_end:][:, motion].toarray()
    adjoint = lu.solve(np.ascontiguousarray(conditions.T), trans="T")
    effect = -np.asarray(by_inputs.T @ adjoint).T + matrix[n - n_end:][:, inputs].toarray()
    largest = np.linalg.norm(effect, axis=1).max()
    size = np.maximum(np.linalg.norm(effect, axis=1, keepdims=True), NOTHING * largest)
    vectors, values, _ = np.linalg.svd(effect / np.where(size > 0, size, 1.0), full_matrices=False)
    if values[-1] > NOTHING:
        return
    combination = np.abs(vectors[:, -1]) @ np.abs(problem.conditions.combinations)
    name = problem.conditions.names[int(np.argmax(combination))]
    raise InputError(f"the end cannot be reached at the guess: no actuator moves the {name}; leave it out of `end`, "
                     "add an actuator, or give another guess")


def _check_controls(problem, equations, lu, by_inputs, controls, motion):
    """Refuse controls without effect on the states, tried in the first, a middle and the last element."""
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
            raise InputError(f"{problem.control_name(i)} does nothing at the guess: constraints take all of it, or its "
                             "direction is zero; remove it")
