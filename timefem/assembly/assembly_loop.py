"""The compiled assembly loop: 8 elements at a time, entries straight into their slots."""

from numba import njit

from ..elements.evaluation.elements_in_lanes import evaluate_lanes, lane_scratch
from ..kernels.lanes import LANES


@njit(cache=True, error_model="numpy")
def assemble(plan, x, t, h, column_scale, row_scale, rows, columns, kind, base, slots, residual, data):
    """Add the elements to `residual` (all rows, unscaled) and to the CSR values `data` (scaled)."""
    xs, ts, hs, inputs, outputs, rs, ks = lane_scratch(plan)
    n_e = h.shape[0]
    column_step = (x.shape[0] - plan.n_columns) // max(1, n_e - 1)
    row_step = (residual.shape[0] - plan.n_rows) // max(1, n_e - 1)
    for e in range(0, n_e, LANES):
        n_active = min(LANES, n_e - e)
        for lane in range(LANES):
            source = e + min(lane, n_active - 1)
            ts[lane], hs[lane] = t[source], h[source]
            for c in range(plan.n_columns):
                xs[c, lane] = x[source * column_step + c]
        evaluate_lanes(plan, xs, ts, hs, inputs, outputs, rs, ks)
        for lane in range(n_active):
            row, column, start = (e + lane) * row_step, (e + lane) * column_step, base[e + lane]
            for r in range(plan.n_rows):
                residual[row + r] += rs[r, lane]
            places = slots[kind[e + lane]]
            for k in range(plan.n_tangent):
                if places[k] >= 0:
                    data[start + places[k]] += (ks[k, lane] * row_scale[row + rows[k]]
                                                * column_scale[column + columns[k]])
