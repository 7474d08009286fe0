"""The compiled marching loop: Newton's method on one time element after the other."""

import numpy as np
from numba import njit

from ..elements.lanes import aligned_zeros
from ..elements.step_plan import add_tangent, evaluate_step, step_scratch
from .dense import dense_scratch, solve_ordered
from .march_sparse import FACTORED, FULL, SINGULAR, solve_sparse

EXTRAPOLATION_DEGREE = 3  # at least: the higher, the fewer Newton iterations
CONVERGED, NOT_CONVERGED, NOT_FINITE = 0, 1, 3  # and SINGULAR, FULL


@njit(cache=True, error_model="numpy")
def march_elements(step, lu, order, x, t, h, sizes, size_powers, weights, weight_powers, n_node, points, continuous,
                   owned, owned_last, start, stop, tol_residual, tol_increment, max_iterations, line_search, iterations,
                   history):
    """Solve elements start, ..., stop - 1 in place in `x` (all dofs in time order); densely if `lu` is None.

    `continuous` are the dofs of the fields with values at the nodes, shape (n_shapes, n_components); `owned` those of
    the others, which start from `owned_last` of the element before.

    The guess extrapolates a polynomial through the nodes of the elements before, at least cubic; where Newton fails
    from there, the element is tried again from a constant state. Newton stops when the scaled residual and the last
    scaled increment fall below their tolerances, or when round-off stops the residual from falling.

    Returns
    -------
    element, status : int
        `stop, CONVERGED`, or the element that failed and why; `history` then holds its residuals.
    """
    n_shapes, n_z = continuous.shape
    n = weights.shape[0]
    if lu is None:  # the compiler leaves out the branch that is not taken
        matrix = aligned_zeros(order.size)
    else:
        matrix = aligned_zeros(lu.rows.shape[0])
    dense, dx = dense_scratch(order), np.zeros(n)
    scratch = step_scratch(step, lu is None)
    residual, trial = np.empty(n), np.empty(n_node + n)
    per_size, rs, scaled_for = sizes.copy(), weights.copy(), -1.0
    degree = n_shapes - 1
    most_back = (EXTRAPOLATION_DEGREE + degree - 1) // degree
    shift, shape = np.empty((2, most_back * degree + 1), np.int64)  # of the source nodes of the extrapolation
    extrapolation, last_back, known = np.empty((n_shapes, len(shift))), 0, np.full(most_back + 1, -1.0)
    for e in range(start, stop):
        local = x[e * n:e * n + n_node + n]
        if not abs(h[e] - scaled_for) <= 1e-9 * scaled_for:  # the lengths of a uniform mesh differ by rounding
            scaled_for = h[e]
            per_size, rs = 1.0 / (sizes * h[e] ** size_powers), weights * h[e] ** weight_powers
        status, n_done = NOT_CONVERGED, 0
        for attempt in range(2):
            if attempt == 0 and e > 0:
                back = min(e, most_back)
                n_sources = back * degree + 1
                same = back == last_back
                for m in range(back + 1):
                    same = same and abs(h[e - m] - known[m]) <= 1e-12 * known[m]
                if not same:
                    last_back = back
                    for s in range(n_sources - 1):
                        shift[s], shape[s] = (s // degree - back) * n, s % degree
                    shift[n_sources - 1], shape[n_sources - 1] = -n, degree
                    known[:back + 1] = h[e - back:e + 1][::-1]
                    _extrapolation(points, h[e - back:e + 1], extrapolation)
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
            status, n_done = solve_element(step, lu, order, local, t[e], h[e], per_size, rs, n_node, tol_residual,
                                           tol_increment, max_iterations, line_search, matrix, dense, dx, scratch,
                                           residual, trial, history)
            iterations[e] = n_done
            if status == CONVERGED or status == FULL:
                break
        if status != CONVERGED:
            return e, status
    return stop, CONVERGED


@njit(cache=True, error_model="numpy")
def _extrapolation(points, lengths, matrix):
    """matrix[j, s]: Lagrange polynomial of source node s, of all elements but the last, at node j of the last."""
    degree, back = len(points) - 1, len(lengths) - 1
    times, start = np.empty(back * degree + 1), 0.0
    for m in range(back):
        times[m * degree:(m + 1) * degree] = start + points[:degree] * lengths[m]
        start += lengths[m]
    times[-1] = start
    for j in range(len(points)):
        target = start + points[j] * lengths[-1]
        for s in range(len(times)):
            value = 1.0
            for m in range(len(times)):
                if m != s:
                    value *= (target - times[m]) / (times[s] - times[m])
            matrix[j, s] = value


@njit(cache=True, error_model="numpy", _nrt=False)
def _scaled_norm(values, scale):
    norm = 0.0
    for i in range(values.shape[0]):
        v = abs(values[i] * scale[i])
        if not v <= norm:
            norm = v
            if np.isnan(v):
                break
    return norm


@njit(cache=True, error_model="numpy", _nrt=False)
def solve_element(step, lu, order, local, t, h, per_size, rs, n_node, tol_residual, tol_increment, max_iterations,
                  line_search, matrix, dense, dx, scratch, residual, trial, history):
    """Newton's method on one element, in place in its dofs `local`; returns a status and the number of iterations."""
    n = rs.shape[0]
    if lu is None:
        tangent = matrix[:0]
    else:
        tangent = matrix
    increment, last = np.inf, np.inf
    history[:] = np.nan
    evaluate_step(step, local, t, h, scratch, residual, tangent)
    for it in range(max_iterations + 1):
        norm = _scaled_norm(residual, rs)
        history[it] = norm
        if not np.isfinite(norm):
            return NOT_FINITE, it
        if increment <= tol_increment and (norm <= tol_residual or norm >= 0.5 * last):
            return CONVERGED, it
        if it == max_iterations:
            break
        last = norm
        if lu is None:
            matrix[:] = 0.0
            add_tangent(step, h, scratch, matrix)
            if not solve_ordered(order, matrix, residual, rs, dense, dx):
                return SINGULAR, it
        else:
            code = solve_sparse(lu, matrix, residual, rs, dx)
            if code != FACTORED:
                return code, it
        length = 1.0
        while True:
            for c in range(n_node):
                trial[c] = local[c]
            for c in range(n):
                trial[n_node + c] = local[n_node + c] - length * dx[c]
            evaluate_step(step, trial, t, h, scratch, residual, tangent)
            if not line_search or length <= 2e-3 or \
                    _scaled_norm(residual, rs) <= max((1.0 - 1e-4 * length) * norm, tol_residual):
                break
            length *= 0.5
        for c in range(n):
            local[n_node + c] = trial[n_node + c]
        increment = length * _scaled_norm(dx, per_size)
    return NOT_CONVERGED, max_iterations
