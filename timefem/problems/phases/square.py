"""Programs whose equations leave nothing to choose: Newton's method on the rows alone."""

import numpy as np

from ...late import Late
from ...solvers.nonlinear.program import Answer
from ...status import Status

scipy = Late("scipy")


def solve_square(program, tolerance, max_iterations, halvings=10, further=1e-4):
    """The `Answer` where there are as many equations as variables; None where not, where Newton's method does not find
    it, and where it is beyond bounds.

    Costates are those of the objective: `J^T y = -grad f`. Steps by which rows would grow are halved; rows fall to the
    share `further` of the tolerance as long as they can.
    """
    lower, upper = program.row_bounds
    if program.comm is not None or program.n != program.n_rows or not np.array_equal(lower, upper):
        return None
    places, v, history = program.jacobian_places, np.clip(program.start, *program.bounds), []
    rows = program.rows(v) - lower
    for iteration in range(max_iterations + 1):
        size = np.abs(rows).max(initial=0.0)
        history.append(float(size))
        stalled = size <= tolerance and len(history) > 1 and size > 0.1 * history[-2]
        if size <= further * tolerance or stalled:
            break
        if iteration == max_iterations or (factors := _factors(program, v, places)) is None:
            return None
        program.on_iteration(size)
        step, length = factors.solve(-rows), 1.0
        for _ in range(halvings):
            trial = v + length * step
            found = program.rows(trial) - lower
            if np.isfinite(found).all() and np.abs(found).max(initial=0.0) < size:
                break
            length /= 2
        else:
            if size > tolerance:
                return None
            break
        v, rows = trial, found
    if (v < program.bounds[0]).any() or (v > program.bounds[1]).any() or \
            (factors := _factors(program, v, places)) is None:
        return None
    y = factors.solve(-program.gradient(v), "T")
    return Answer(v, y, np.zeros(program.n), Status(True, residual_history=history), iteration)


def _factors(program, v, places):
    matrix = scipy.sparse.csc_array((program.jacobian(v), places), shape=(program.n_rows, program.n))
    try:
        return scipy.sparse.linalg.splu(matrix)
    except RuntimeError:  # singular
        return None
