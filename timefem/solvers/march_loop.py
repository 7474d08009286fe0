"""The compiled marching loop: Newton's method on one time element after the other."""

import numpy as np
from numba import njit

from ..elements.lanes import LANES
from ..elements.step_plan import add_tangent, evaluate_step
from .dense import solve_dense

CONVERGED, NOT_CONVERGED, SINGULAR, NOT_FINITE = 0, 1, 2, 3


@njit(cache=True, error_model="numpy")
def march_elements(plan, x, t, h, column_scale, row_scale, n_node, points, state, multiplier, start, stop,
                   tol_residual, tol_increment, max_iterations, line_search, iterations, history):
    """Solve elements start, ..., stop - 1 in place in `x` (all dofs in time order).

    The guess extrapolates the polynomial of the element before; where Newton fails from there, the element is tried
    again from a constant state. Newton stops when the scaled residual and the last scaled increment fall below their
    tolerances, or when round-off stops the residual from falling.

    Returns
    -------
    element, status : int
        `stop, CONVERGED`, or the element that failed and why; `history` then holds its residuals.
    """
    n_shapes, n_z = state.shape
    n = row_scale.shape[0] // h.shape[0]
    height = (n + LANES - 1) // LANES * LANES
    matrix, pivots = np.zeros((n + 1) * height), np.zeros(n, np.int64)
    free, multipliers, dx = np.zeros(height), np.zeros(height), np.zeros(n)
    inputs, outputs = np.empty(plan.n_in * LANES), np.empty(plan.n_outputs)
    residual, trial = np.empty(n), np.empty(n_node + n)
    extrapolation, ratio = np.empty((n_shapes, n_shapes)), -1.0
    for e in range(start, stop):
        local = x[e * n:e * n + n_node + n]
        cs, rs = column_scale[e * n + n_node:(e + 1) * n + n_node], row_scale[e * n:(e + 1) * n]
        status, n_done = NOT_CONVERGED, 0
        for attempt in range(2):
            if attempt == 0 and e > 0:
                before = x[(e - 1) * n:(e - 1) * n + n_node + n]
                if abs(h[e] / h[e - 1] - ratio) > 1e-12 * ratio:
                    ratio = h[e] / h[e - 1]
                    _extrapolation(points, ratio, extrapolation)
                for c in range(n_z):
                    for j in range(1, n_shapes):
                        value = 0.0
                        for i in range(n_shapes):
                            value += extrapolation[j, i] * before[state[i, c]]
                        local[state[j, c]] = value
                for c in range(multiplier.shape[1]):
                    for j in range(multiplier.shape[0]):
                        local[multiplier[j, c]] = before[multiplier[-1, c]]
            elif e == 0 and attempt == 1:
                break  # the first guess was constant already
            else:
                for j in range(1, n_shapes):
                    for c in range(n_z):
                        local[state[j, c]] = local[state[0, c]]
            status, n_done = _newton(plan, local, t[e], h[e], cs, rs, n_node, tol_residual, tol_increment,
                                     max_iterations, line_search, matrix, pivots, free, multipliers, dx, inputs,
                                     outputs, residual, trial, history)
            iterations[e] = n_done
            if status == CONVERGED:
                break
        if status != CONVERGED:
            return e, status
    return stop, CONVERGED


@njit(cache=True, error_model="numpy")
def _extrapolation(points, ratio, matrix):
    """matrix[j, i]: shape function i of one element at node j of the next, which is `ratio` times as long."""
    for j in range(len(points)):
        for i in range(len(points)):
            value = 1.0
            for m in range(len(points)):
                if m != i:
                    value *= (1.0 + points[j] * ratio - points[m]) / (points[i] - points[m])
            matrix[j, i] = value


@njit(cache=True, error_model="numpy")
def _scaled_norm(values, scale):
    norm = 0.0
    for i in range(values.shape[0]):
        v = abs(values[i] * scale[i])
        if not v <= norm:  # lets NaN through
            norm = v
    return norm


@njit(cache=True, error_model="numpy")
def _newton(plan, local, t, h, cs, rs, n_node, tol_residual, tol_increment, max_iterations, line_search, matrix,
            pivots, free, multipliers, dx, inputs, outputs, residual, trial, history):
    n, height = rs.shape[0], free.shape[0]
    increment, last = np.inf, np.inf
    history[:] = np.nan
    evaluate_step(plan, local, t, h, inputs, outputs, residual)
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
        matrix[:] = 0.0
        add_tangent(plan, h, outputs, matrix)
        for r in range(n):
            matrix[n * height + r] = residual[r]
        for c in range(n + 1):
            for r in range(n):
                matrix[c * height + r] *= rs[r]
        if not solve_dense(matrix, n, pivots, free, multipliers, dx):
            return SINGULAR, it
        length = 1.0
        while True:
            trial[:n_node] = local[:n_node]
            for c in range(n):
                trial[n_node + c] = local[n_node + c] - length * dx[c]
            evaluate_step(plan, trial, t, h, inputs, outputs, residual)
            if not line_search or length < 1e-3 or \
                    _scaled_norm(residual, rs) <= max((1.0 - 1e-4 * length) * norm, tol_residual):
                break
            length *= 0.5
        increment = 0.0
        for c in range(n):
            increment = max(increment, abs(length * dx[c] / cs[c]))
            local[n_node + c] = trial[n_node + c]
    return NOT_CONVERGED, max_iterations
