"""Residual and tangent of a single time element, for stepping: quadrature points in the SIMD lanes."""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..kernels.intrinsic import call_kernel
from .lanes import LANES, add_lanes, aligned_zeros, eight_dots, set_lanes
from .plan import (
    PART_ADDRESS,
    PART_ENTRIES,
    PART_FIELDS,
    PART_GATHER,
    PART_IN,
    PART_N_PARAMETERS,
    PART_N_SECTIONS,
    PART_OUT,
    PART_PARAMETERS,
    PART_ROWS,
    PART_SECTION,
    PART_SLOTS,
    Plan,
)


class StepPlan(NamedTuple):
    """An element plan with what stepping needs besides.

    `places` of all tangent products in a flat matrix by columns (-1 for columns of the left node, which is known), per
    part in the order section, test function, trial function, entry; `place_starts` per part; `n_outputs` of all parts
    and points together; `n_sums` of the longest list of rows or entries that share their weights.
    """

    plan: Plan
    places: np.ndarray
    place_starts: np.ndarray
    n_outputs: int
    n_sums: int


def step_plan(element_plan, height):
    """The `StepPlan` of an `ElementPlan`; tangent entries go to a matrix of columns of the given height."""
    plan, n_node = element_plan.arrays, element_plan.columns.n_node
    columns = element_plan.tangent_columns - n_node
    target = np.where(columns >= 0, columns * height + element_plan.tangent_rows, -1)
    places, starts, size = [np.zeros(0, np.int64)], [], 0
    for part in plan.parts:
        starts.append(size)
        sections = plan.sections[part[PART_SECTION]:part[PART_SECTION] + part[PART_N_SECTIONS]]
        for field, slot, start, count in sections:
            blocks = plan.entry_targets[part[PART_ENTRIES] + start - sections[0, 2]:][:count]
            n_products = plan.tests[field, 1] * plan.slots[slot, 1]
            places.append(target[blocks + np.arange(n_products)[:, None]].ravel())
            size += n_products * count
    n_outputs = plan.parts[:, PART_OUT].sum() * len(plan.points) + LANES**2  # blocks of 8 may run over the end
    n_sums = max(plan.parts[:, PART_FIELDS:PART_FIELDS + 2].max(), plan.sections[:, 3].max(initial=0)) + LANES
    return StepPlan(plan, np.concatenate(places), np.array(starts, np.int64), int(n_outputs), int(n_sums))


@njit(cache=True)
def step_scratch(step):
    """Arrays for `evaluate_step` and `add_tangent`: kernel inputs, kernel outputs of all parts, sums."""
    return aligned_zeros(step.plan.n_in * LANES), aligned_zeros(step.n_outputs), aligned_zeros(step.n_sums)


@njit(cache=True, error_model="numpy")
def evaluate_step(step, x, t, h, scratch, residual):
    """Kernel outputs of all parts at all points, and the residual of the element.

    Parameters
    ----------
    step : StepPlan
    x : (n_columns,) dofs
    t, h : float, start time and length
    scratch : from `step_scratch`; its outputs are kept for `add_tangent`
    residual : (n_rows,) result
    """
    plan = step.plan
    inputs, outputs, sums = scratch
    stride = plan.points.shape[0]
    inverse_h = 1.0 / h
    residual[:] = 0.0
    base = 0
    for p in range(plan.parts.shape[0]):
        part = plan.parts[p]
        n_out = part[PART_OUT]
        first = (part[PART_IN] - part[PART_N_PARAMETERS]) * LANES
        for c in range(part[PART_N_PARAMETERS]):
            for lane in range(LANES):
                inputs[first + c * LANES + lane] = plan.parameters[part[PART_PARAMETERS] + c]
        for g in range(0, stride, LANES):
            place, local = 0, part[PART_GATHER]
            for s in range(3):
                table, n_shapes = plan.slots[s, 0] + g, plan.slots[s, 1]
                factor = inverse_h if plan.slots[s, 2] == 1 else 1.0
                for _ in range(part[PART_SLOTS + s]):
                    set_lanes(inputs, place, factor * x[plan.gather[local]], plan.tables, table)
                    for j in range(1, n_shapes):
                        add_lanes(inputs, place, factor * x[plan.gather[local + j]], plan.tables, table + j * stride)
                    local += n_shapes
                    place += LANES
            for lane in range(LANES):
                inputs[place + lane] = t + plan.points[g + lane] * h
            call_kernel(part[PART_ADDRESS], inputs, 0, outputs, base + g * n_out)

        row, local = 0, part[PART_ROWS]
        for field in range(2):
            n, n_shapes = part[PART_FIELDS + field], plan.tests[field, 1]
            for i in range(n_shapes):
                _sum_points(plan.test_tables, plan.tests[field, 0] + i * stride, stride, outputs, base, n_out, row, n,
                            sums)
                for r in range(n):
                    residual[plan.row_targets[local + r * n_shapes + i]] += h * sums[r]
            row += n
            local += n * n_shapes
        base += n_out * stride


@njit(cache=True, error_model="numpy")
def add_tangent(step, h, scratch, matrix):
    """Add the tangent of the element, without the columns of the left node, to a flat matrix by columns.

    Values carry the element length h, derivatives by the rate do not: dt = h dxi, d/dt = d/dxi / h.
    """
    plan = step.plan
    _, outputs, sums = scratch
    stride = plan.points.shape[0]
    base = 0
    for p in range(plan.parts.shape[0]):
        part = plan.parts[p]
        n_out, at = part[PART_OUT], step.place_starts[p]
        for section in range(part[PART_SECTION], part[PART_SECTION] + part[PART_N_SECTIONS]):
            field, slot = plan.sections[section, 0], plan.sections[section, 1]
            first, n = plan.sections[section, 2], plan.sections[section, 3]
            n_shapes = plan.slots[slot, 1]
            factor = 1.0 if plan.slots[slot, 2] == 1 else h
            for ij in range(plan.tests[field, 1] * n_shapes):
                if step.places[at] >= 0:  # not the left node
                    _sum_points(plan.pair_tables, plan.pairs[field, slot] + ij * stride, stride, outputs, base, n_out,
                                first, n, sums)
                    for k in range(n):
                        matrix[step.places[at + k]] += factor * sums[k]
                at += n
        base += n_out * stride


@njit(cache=True, error_model="numpy")
def _sum_points(tables, table, stride, outputs, base, n_out, first, n, sums):
    """sums[k] = weighted sum over the points of output first + k, for k < n; the weights are one line of a table."""
    for k in range(0, n, LANES):
        for g in range(0, stride, LANES):
            eight_dots(sums, k, outputs, base + g * n_out + (first + k) * LANES, tables, table + g, min(g, 1))
