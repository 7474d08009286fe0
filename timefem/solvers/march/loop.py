"""The compiled marching loop: Newton's method on one time element after the other."""

import numpy as np

from ...elements.evaluation.points_in_lanes import (
    StepPlan,
    add_tangent,
    begin_step,
    evaluate_step,
    finish_step,
    step_scratch,
)
from ...kernels.loops import compiled
from ...kernels.record import Record, aligned
from ..linear.element.code import DONE, FULL, NOT_CONVERGED, NOT_FINITE, SINGULAR
from ..linear.element.dense import DenseOrder, dense_scratch, solve_ordered
from ..linear.element.sparse import solve_sparse
from ..nonlinear.newton import PATIENCE, ROUNDING

EXTRAPOLATION_DEGREE = 3  # at least: the higher, the fewer Newton iterations


class Loop(Record):
    """What the loop takes besides the mesh and the dofs.

    Of the core, the unknowns of Newton's method, `continuous` are the dofs of the fields with values at the nodes;
    `owned` those of the other fields, which start from `owned_last` of the element before.
    """

    step: StepPlan
    order: DenseOrder
    sizes: np.ndarray  # of the core unknowns of an element of length 1
    size_powers: np.ndarray  # of its length
    weights: np.ndarray  # of the core rows likewise
    weight_powers: np.ndarray
    emphasis: np.ndarray  # of the core unknowns, factors by which their increments count; none where all count alike
    state: np.ndarray  # of the core unknowns, 1 for coordinates and momenta, 0 for others
    n_node: int
    core: np.ndarray  # dofs of the core unknowns, those that are not explicit
    points: np.ndarray  # nodes of the state in [0, 1]
    continuous: np.ndarray  # (n_shapes, n_components)
    owned: np.ndarray
    owned_last: np.ndarray


class Work(Record):
    """What the loop works on: see `work`."""

    matrix: np.ndarray
    dense: Record
    dx: np.ndarray
    scratch: Record
    residual: np.ndarray
    trial: np.ndarray
    per_size: np.ndarray
    rs: np.ndarray
    sources: np.ndarray
    extrapolation: np.ndarray
    known: np.ndarray  # lengths that the extrapolation is for
    back: np.ndarray  # (1,) and the number of elements that it goes back
    times: np.ndarray


def work(loop, lu):
    """The `Work` for a `Loop` and a SparseLU, None when the tangent is dense."""
    n, degree = len(loop.core), len(loop.points) - 1
    most_back = (EXTRAPOLATION_DEGREE + degree - 1) // degree
    n_sources = most_back * degree + 1
    matrix = aligned(loop.order.size if lu is None else len(lu.rows))
    return Work(matrix, dense_scratch(loop.order), np.zeros(n), step_scratch(loop.step, lu is None),
                np.zeros(n + len(loop.step.explicit)),
                np.zeros(loop.step.plan.n_columns), np.zeros(n), np.zeros(n), np.zeros((2, n_sources), np.int64),
                np.zeros((degree + 1, n_sources)), np.full(most_back + 1, -1.0), np.zeros(1, np.int64),
                np.zeros(n_sources))


@compiled(error_model="numpy", _nrt=False)
def march_elements(loop, one, lu, work, x, t, h, start, stop, tol_residual, tol_increment, max_iterations, line_search,
                   iterations, history):
    """Solve elements start, ..., stop - 1 in place in `x` (all dofs in time order); densely if `lu` is None.

    `one` is that of the step.

    The guess extrapolates a polynomial through the nodes of the elements before, at least cubic; where Newton fails
    from there, the element is tried again from a constant state. Newton stops when the scaled residual and the last
    scaled increment fall below their tolerances, or when round-off stops the residual from falling.

    Returns
    -------
    element, status : int
        `stop, DONE`, or the element that failed and why; `history` then holds its residuals.
    """
    continuous, owned, owned_last, n_node = loop.continuous, loop.owned, loop.owned_last, loop.n_node
    n_shapes, n_z = continuous.shape
    n = loop.step.plan.n_columns - n_node  # dofs from one element to the next
    shift, shape = work.sources[0], work.sources[1]
    extrapolation, known = work.extrapolation, work.known
    degree, most_back, last_back, scaled_for = n_shapes - 1, known.shape[0] - 1, work.back[0], -1.0
    for e in range(start, stop):
        local = x[e * n:e * n + n_node + n]
        if not abs(h[e] - scaled_for) <= 1e-9 * scaled_for:  # the lengths of a uniform mesh differ by rounding
            scaled_for = h[e]
            set_scales(loop, work, h[e])
        status, n_done = NOT_CONVERGED, 0
        for attempt in range(2):
            if attempt == 0 and e > 0:
                back = min(e, most_back)
                n_sources = back * degree + 1
                same = back == last_back
                for m in range(back + 1):
                    same = same and abs(h[e - m] - known[m]) <= 1e-12 * known[m]
                if not same:
                    last_back = work.back[0] = back
                    for s in range(n_sources - 1):
                        shift[s], shape[s] = (s // degree - back) * n, s % degree
                    shift[n_sources - 1], shape[n_sources - 1] = -n, degree
                    for m in range(back + 1):
                        known[m] = h[e - m]
                    _extrapolation(loop.points, known, back, work.times, extrapolation)
                for j in range(1, n_shapes):
                    for c in range(n_z):
                        value = 0.0
                        for s in range(n_sources):
                            value += extrapolation[j, s] * x[e * n + shift[s] + continuous[shape[s], c]]
                        local[continuous[j, c]] = value
                if e >= 4 and same and last_back == most_back:  # equal lengths: a cubic as well
                    for c in range(owned.shape[0]):
                        p = e * n + owned_last[c]
                        local[owned[c]] = 4.0 * (x[p - n] + x[p - 3 * n]) - 6.0 * x[p - 2 * n] - x[p - 4 * n]
                else:
                    for c in range(owned.shape[0]):
                        local[owned[c]] = x[(e - 1) * n + owned_last[c]]
            elif e == 0 and attempt == 1:
                break  # the first guess was constant already
            else:
                for j in range(1, n_shapes):
                    for c in range(n_z):
                        local[continuous[j, c]] = local[continuous[0, c]]
                if e > 0:
                    for c in range(owned.shape[0]):
                        local[owned[c]] = x[(e - 1) * n + owned_last[c]]
            status, n_done = solve_element(loop, one, lu, work, local, t[e], h[e], tol_residual, tol_increment,
                                           max_iterations, line_search, history)
            iterations[e] = n_done
            if status == DONE or status == FULL:
                break
        if status != DONE:
            return e, status
    return stop, DONE


@compiled(error_model="numpy", _nrt=False)
def set_scales(loop, work, h):
    """Scales of the core unknowns and rows of an element of length h, in `work.per_size` and `work.rs`."""
    for c in range(loop.core.shape[0]):
        work.per_size[c] = 1.0 / (loop.sizes[c] * h ** loop.size_powers[c])
        work.rs[c] = loop.weights[c] * h ** loop.weight_powers[c]


@compiled(error_model="numpy", _nrt=False)
def _extrapolation(points, lengths, back, times, matrix):
    """matrix[j, s]: Lagrange polynomial of source node s, of all elements but the last, at node j of the last.

    `lengths` of the last element, and of those before it, the latest first.
    """
    degree = len(points) - 1
    n, start = back * degree + 1, 0.0
    for m in range(back):
        length = lengths[back - m]
        for i in range(degree):
            times[m * degree + i] = start + points[i] * length
        start += length
    times[n - 1] = start
    for j in range(len(points)):
        target = start + points[j] * lengths[0]
        for s in range(n):
            value = 1.0
            for m in range(n):
                if m != s:
                    value *= (target - times[m]) / (times[s] - times[m])
            matrix[j, s] = value


@compiled(error_model="numpy", _nrt=False)
def _scaled_norm(values, scale):
    norm = 0.0
    for i in range(scale.shape[0]):
        v = abs(values[i] * scale[i])
        if not v <= norm:
            norm = v
            if np.isnan(v):
                break
    return norm


@compiled(error_model="numpy", _nrt=False)
def _scaled_size(local, core, per_size):
    size = 0.0
    for c in range(core.shape[0]):
        size = max(size, abs(local[core[c]]) * per_size[c])
    return size


@compiled(error_model="numpy", _nrt=False)
def solve_element(loop, one, lu, work, local, t, h, tol_residual, tol_increment, max_iterations, line_search, history):
    """Newton's method on one element, in place in its dofs `local`; returns a status and the number of iterations.

    The scales are those of `set_scales`. The number is negative where the state has settled and the residual is
    rounding, but other unknowns go on moving: near singular positions multipliers are not determined.
    """
    step, core, scratch, matrix, residual = loop.step, loop.core, work.scratch, work.matrix, work.residual
    trial, dx, per_size, rs = work.trial, work.dx, work.per_size, work.rs
    n, keep = core.shape[0], lu is None
    increment, last, own, own_before, still = np.inf, np.inf, 0.0, np.inf, np.inf
    history[:] = np.nan
    for c in range(trial.shape[0]):
        trial[c] = local[c]
    begin_step(step, one, local, t, h, scratch)
    evaluate_step(step, one, local, t, h, scratch, residual, matrix, keep)
    for it in range(max_iterations + 1):
        norm = _scaled_norm(residual, rs)
        history[it] = norm
        if not np.isfinite(norm):
            return NOT_FINITE, it
        own_settled = own <= tol_increment or own >= 0.5 * own_before or it == max_iterations
        if own_settled and (norm <= tol_residual or norm >= 0.5 * last) and (
                increment <= tol_increment or (it > 0 and increment <= ROUNDING * _scaled_size(local, core, per_size))):
            finish_step(step, one, local, scratch, residual)
            return DONE, it
        if it >= PATIENCE and norm <= tol_residual and still <= tol_increment:
            finish_step(step, one, local, scratch, residual)
            return DONE, -it
        if it == max_iterations:
            break
        last = norm
        if lu is None:  # the compiler leaves out the branch that is not taken
            matrix[:] = 0.0
            add_tangent(step, one, h, scratch, matrix)
            if not solve_ordered(loop.order, matrix, residual, rs, work.dense, dx):
                return SINGULAR, it
        else:
            code = solve_sparse(lu, matrix, residual, rs, dx)
            if code != DONE:
                return code, it
        length = 1.0
        while True:
            for c in range(n):
                trial[core[c]] = local[core[c]] - length * dx[c]
            evaluate_step(step, one, trial, t, h, scratch, residual, matrix, keep)
            if not line_search or length <= 2e-3 or \
                    _scaled_norm(residual, rs) <= max((1.0 - 1e-4 * length) * norm, tol_residual):
                break
            length *= 0.5
        for c in range(n):
            local[core[c]] = trial[core[c]]
        increment, still = length * _scaled_norm(dx, per_size), 0.0
        for c in range(n):
            still = max(still, length * abs(dx[c]) * per_size[c] * loop.state[c])
        if loop.emphasis.shape[0]:
            own_before = own if it > 0 else np.inf
            for c in range(n):
                dx[c] *= loop.emphasis[c]
            own = length * _scaled_norm(dx, per_size)
    return NOT_CONVERGED, max_iterations
