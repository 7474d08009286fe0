"""The compiled assembly loop: 8 elements at a time, entries straight into their slots."""

from numba import njit

from ..elements.evaluate import evaluate_lanes
from ..elements.lanes import LANES, aligned_zeros


@njit(cache=True, error_model="numpy")
def assemble(plan, x, t, h, column_scale, row_scale, rows, columns, kind, base, slots, residual, data):
    """Add the elements to `residual` (all rows, unscaled) and to the CSR values `data` (scaled)."""
    inputs, outputs = aligned_zeros(plan.n_in * LANES), aligned_zeros(plan.n_points * plan.n_out * LANES)
    xs = aligned_zeros(plan.n_columns * LANES).reshape(plan.n_columns, LANES)
    rs = aligned_zeros(plan.n_rows * LANES).reshape(plan.n_rows, LANES)
    ks = aligned_zeros(plan.n_tangent * LANES).reshape(plan.n_tangent, LANES)
    ts, hs = aligned_zeros(LANES), aligned_zeros(LANES)
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
