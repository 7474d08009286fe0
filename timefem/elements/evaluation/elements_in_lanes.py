"""Residual and tangent of time elements, 8 elements at a time: one per SIMD lane.

Sums over quadrature points and shape functions. Integrals carry the element length h, and each rate, of a trial or of a
test function, divides by it: dt = h dxi, d/dt = d/dxi / h. (`step_plan` has the form for a single element.)
"""

from numba import njit

from ...kernels.call import call_kernel
from ...kernels.lanes import LANES, add_lanes, aligned_zeros, scale_lanes
from .arrays import (
    PART_ADDRESS,
    PART_ENTRIES,
    PART_GATHER,
    PART_IN,
    PART_N_PARAMETERS,
    PART_N_SECTIONS,
    PART_OUT,
    PART_PARAMETERS,
    PART_ROWS,
    PART_SECTION,
    PART_SLOTS,
)


@njit(cache=True, error_model="numpy")
def evaluate_lanes(plan, x, t, h, inputs, outputs, residual, tangent):
    """Evaluate 8 elements, one per lane.

    Parameters
    ----------
    plan : Plan
    x : (n_columns, 8) dofs
    t, h : (8,) start times and lengths
    inputs, outputs : (n_in * 8,), (n_points * n_out * 8,) scratch
    residual, tangent : (n_rows, 8), (n_tangent, 8) results
    """
    stride, n_slots = plan.points.shape[0], plan.slots.shape[0]
    residual[:] = 0.0
    tangent[:] = 0.0
    inverse_h = 1.0 / h
    for p in range(plan.parts.shape[0]):
        part = plan.parts[p]
        n_out = part[PART_OUT]
        first = part[PART_IN] - part[PART_N_PARAMETERS]
        for c in range(part[PART_N_PARAMETERS]):
            inputs[(first + c) * LANES:(first + c + 1) * LANES] = plan.parameters[part[PART_PARAMETERS] + c]
        for g in range(plan.n_points):
            place, local = 0, part[PART_GATHER]
            inputs[:(first - 3) * LANES] = 0.0
            for s in range(n_slots):
                table, n_shapes, rate = plan.slots[s, 0], plan.slots[s, 1], plan.slots[s, 2]
                for _ in range(part[PART_SLOTS + s]):
                    for j in range(n_shapes):
                        add_lanes(inputs, place, plan.tables[table + j * stride + g], x, plan.gather[local + j] * LANES)
                    if rate == 1:
                        scale_lanes(inputs, place, inverse_h, 0)
                    local += n_shapes
                    place += LANES
            for lane in range(LANES):
                inputs[place + lane] = t[lane] + plan.points[g] * h[lane]
                inputs[place + LANES + lane] = h[lane]
                inputs[place + 2 * LANES + lane] = plan.points[g]
            call_kernel(part[PART_ADDRESS], inputs, 0, outputs, g * n_out * LANES)

        row, local = 0, part[PART_ROWS]
        for test in range(plan.tests.shape[0]):
            table, n_shapes, rate = plan.tests[test, 0], plan.tests[test, 1], plan.tests[test, 2]
            for _ in range(part[PART_SLOTS + n_slots + test]):
                for g in range(plan.n_points):
                    value = (g * n_out + row) * LANES
                    if rate == 0:
                        scale_lanes(outputs, value, h, 0)
                    for i in range(n_shapes):
                        add_lanes(residual, plan.row_targets[local + i] * LANES,
                                  plan.test_tables[table + i * stride + g], outputs, value)
                local += n_shapes
                row += 1

        targets = part[PART_ENTRIES] - row
        for section in range(part[PART_SECTION], part[PART_SECTION] + part[PART_N_SECTIONS]):
            test, slot = plan.sections[section, 0], plan.sections[section, 1]
            table, rates = plan.pairs[test, slot], plan.tests[test, 2] + plan.slots[slot, 2]
            n_products = plan.tests[test, 1] * plan.slots[slot, 1]
            start = plan.sections[section, 2]
            for entry in range(start, start + plan.sections[section, 3]):
                target = plan.entry_targets[targets + entry] * LANES
                for g in range(plan.n_points):
                    value = (g * n_out + entry) * LANES
                    if rates == 0:
                        scale_lanes(outputs, value, h, 0)
                    elif rates == 2:
                        scale_lanes(outputs, value, inverse_h, 0)
                    for ij in range(n_products):
                        add_lanes(tangent, target + ij * LANES, plan.pair_tables[table + ij * stride + g],
                                  outputs, value)


@njit(cache=True)
def lane_scratch(plan):
    """Arrays for 8 elements: dofs, start times, lengths, kernel inputs and outputs, residuals, tangent entries."""
    return (aligned_zeros(plan.n_columns * LANES).reshape(plan.n_columns, LANES), aligned_zeros(LANES),
            aligned_zeros(LANES), aligned_zeros(plan.n_in * LANES), aligned_zeros(plan.n_points * plan.n_out * LANES),
            aligned_zeros(plan.n_rows * LANES).reshape(plan.n_rows, LANES),
            aligned_zeros(plan.n_tangent * LANES).reshape(plan.n_tangent, LANES))


@njit(cache=True, error_model="numpy")
def evaluate_batch(plan, x, t, h, residual, tangent):
    """Evaluate any number of elements: `x` (n_e, n_columns), `t`, `h` (n_e,), `residual` (n_e, n_rows), `tangent`
    (n_e, n_tangent)."""
    xs, ts, hs, inputs, outputs, rs, ks = lane_scratch(plan)
    n_e = x.shape[0]
    for e in range(0, n_e, LANES):
        n_active = min(LANES, n_e - e)
        for lane in range(LANES):
            source = e + min(lane, n_active - 1)
            ts[lane], hs[lane] = t[source], h[source]
            for c in range(plan.n_columns):
                xs[c, lane] = x[source, c]
        evaluate_lanes(plan, xs, ts, hs, inputs, outputs, rs, ks)
        for lane in range(n_active):
            for r in range(plan.n_rows):
                residual[e + lane, r] = rs[r, lane]
            for k in range(plan.n_tangent):
                tangent[e + lane, k] = ks[k, lane]
