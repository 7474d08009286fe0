"""Residual and tangent of a single time element, for stepping: quadrature points in the SIMD lanes.

With one point only there are no lanes: see `one_point`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ...kernels.call import call_kernel
from ...kernels.lanes import LANES, add_lanes, aligned_zeros, eight_dots, set_lanes
from .arrays import (
    PART_ADDRESS,
    PART_ENTRIES,
    PART_GATHER,
    PART_GROUP,
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
from .single_point import OnePoint, add_one, begin_one, evaluate_one, finish_one, one_point


class StepPlan(NamedTuple):
    """An element plan with what stepping needs besides.

    `places` of all tangent products in a flat matrix (-1 for columns of the left node, which is known), per part in the
    order section, test function, trial function, entry; `place_starts` per part; `n_outputs` of all parts and points
    together; `n_sums` of the longest list of rows or entries that share their weights; `one` is what stands for all of
    these with one point.
    """

    plan: Plan
    places: np.ndarray
    place_starts: np.ndarray
    n_outputs: int
    n_sums: int
    one: OnePoint


def step_plan(element_plan, targets):
    """The `StepPlan` of an `ElementPlan`.

    Parameters
    ----------
    element_plan : ElementPlan
    targets : ndarray of int, shape (n_tangent,)
        Place of each tangent entry in a flat matrix, dense or sparse, -1 for those of explicit rows; those of the left
        node are left out.
    """
    plan = element_plan.arrays
    targets = np.where(element_plan.tangent_columns >= element_plan.columns.n_node, targets, -1)
    places, starts, size = [np.zeros(0, np.int64)], np.zeros(len(plan.parts), np.int64), 0
    # parts of one kind follow one another and share their sections
    found = []
    for number in range(len(element_plan.point_kernels)):
        members = np.flatnonzero(plan.parts[:, PART_GROUP] == number)
        section, n_sections = plan.parts[members[0], [PART_SECTION, PART_N_SECTIONS]]
        sections = plan.sections[section:section + n_sections]
        groups = [np.zeros((len(members), 0), np.int64)]
        for test, slot, start, count in sections:
            entries = plan.parts[members, PART_ENTRIES][:, None] + start - sections[0, 2] + np.arange(count)
            products = np.arange(plan.tests[test, 1] * plan.slots[slot, 1])
            groups.append(targets[plan.entry_targets[entries][:, None] + products[:, None]].reshape(len(members), -1))
        group = np.concatenate(groups, axis=1)
        starts[members] = size + group.shape[1] * np.arange(len(members))
        places.append(group.ravel())
        found.append((members, sections, group))
        size += group.size
    n_outputs = plan.parts[:, PART_OUT].sum() * len(plan.points) + LANES**2  # blocks of 8 may run over the end
    n_sums = max(plan.parts[:, PART_SLOTS + len(plan.slots):].max(), plan.sections[:, 3].max(initial=0)) + LANES
    return StepPlan(plan, np.concatenate(places), starts, int(n_outputs), int(n_sums), one_point(element_plan, found))


@njit(cache=True)
def step_scratch(step, keep):
    """Arrays for the functions below: kernel inputs, kernel outputs (of all parts, or of one), sums, known inputs."""
    one = max(step.plan.n_out * step.plan.points.shape[0] + LANES**2, step.one.n_out)
    outputs = aligned_zeros(step.n_outputs if keep else one)
    n_in = max(step.plan.n_in * LANES, step.one.n_in)
    return aligned_zeros(n_in), outputs, aligned_zeros(step.n_sums), aligned_zeros(step.one.n_in)


@njit(cache=True, error_model="numpy", _nrt=False)
def begin_step(step, x, t, h, scratch):
    """To be called before an element is evaluated, with the dofs `x` of which the left node is known."""
    if step.plan.points.shape[0] == 1:
        begin_one(step.plan, step.one, x, t, h, scratch[0], scratch[3])


@njit(cache=True, error_model="numpy", _nrt=False)
def finish_step(step, x, scratch):
    """Set the explicit unknowns in `x`, from the others where the element was last evaluated."""
    if step.plan.points.shape[0] == 1:
        finish_one(step.one, x, scratch[0], scratch[1])


@njit(cache=True, error_model="numpy", _nrt=False)
def evaluate_step(step, x, t, h, scratch, residual, tangent):
    """Kernel outputs of all parts at all points, and the residual of the element: the rows that are not explicit.

    With a tangent at once, the outputs of a part are used while they are in the cache, and are lost thereafter: worth
    a tangent too many in the last iteration when there are many parts.

    Parameters
    ----------
    step : StepPlan
    x : (n_columns,) dofs
    t, h : float, start time and length
    scratch : from `step_scratch`
    residual : (n_rows,) result
    tangent : flat matrix, result as from `add_tangent`; if empty, the outputs are kept for `add_tangent`
    """
    plan = step.plan
    inputs, outputs, sums, known = scratch
    stride, n_slots = plan.points.shape[0], plan.slots.shape[0]
    if stride == 1:
        evaluate_one(step.one, x, h, inputs, known, outputs, residual, tangent)
        return
    inverse_h = 1.0 / h
    keep = tangent.shape[0] == 0
    residual[:] = 0.0
    if not keep:
        tangent[:] = 0.0
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
            for s in range(n_slots):
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
                inputs[place + LANES + lane] = h
                inputs[place + 2 * LANES + lane] = plan.points[g + lane]
            call_kernel(part[PART_ADDRESS], inputs, 0, outputs, base + g * n_out)

        row, local = 0, part[PART_ROWS]
        for test in range(plan.tests.shape[0]):
            n, n_shapes = part[PART_SLOTS + n_slots + test], plan.tests[test, 1]
            factor = 1.0 if plan.tests[test, 2] == 1 else h
            for i in range(n_shapes):
                _sum_points(plan.test_tables, plan.tests[test, 0] + i * stride, stride, outputs, base, n_out, row, n,
                            sums)
                for r in range(n):
                    residual[plan.row_targets[local + r * n_shapes + i]] += factor * sums[r]
            row += n
            local += n * n_shapes
        if keep:
            base += n_out * stride
        else:
            _add_part(step, p, base, h, outputs, sums, tangent)


@njit(cache=True, error_model="numpy", _nrt=False)
def add_tangent(step, h, scratch, matrix):
    """Add the tangent of the element, without the columns of the left node, to a flat matrix.

    Integrals carry the element length h, each rate divides by it: dt = h dxi, d/dt = d/dxi / h.
    """
    _, outputs, sums, _ = scratch
    if step.plan.points.shape[0] == 1:
        add_one(step.one, h, outputs, matrix)
        return
    base = 0
    for p in range(step.plan.parts.shape[0]):
        _add_part(step, p, base, h, outputs, sums, matrix)
        base += step.plan.parts[p, PART_OUT] * step.plan.points.shape[0]


@njit(cache=True, error_model="numpy", forceinline=True, _nrt=False)
def _add_part(step, p, base, h, outputs, sums, matrix):
    """Add the tangent of part p, whose outputs start at `base`."""
    plan = step.plan
    part, stride = plan.parts[p], plan.points.shape[0]
    n_out, at = part[PART_OUT], step.place_starts[p]
    for section in range(part[PART_SECTION], part[PART_SECTION] + part[PART_N_SECTIONS]):
        test, slot = plan.sections[section, 0], plan.sections[section, 1]
        first, n = plan.sections[section, 2], plan.sections[section, 3]
        n_shapes = plan.slots[slot, 1]
        rates = plan.tests[test, 2] + plan.slots[slot, 2]
        factor = h if rates == 0 else (1.0 if rates == 1 else 1.0 / h)
        for ij in range(plan.tests[test, 1] * n_shapes):
            if step.places[at] >= 0:  # not the left node
                _sum_points(plan.pair_tables, plan.pairs[test, slot] + ij * stride, stride, outputs, base, n_out,
                            first, n, sums)
                for k in range(n):
                    matrix[step.places[at + k]] += factor * sums[k]
            at += n


@njit(cache=True, error_model="numpy", _nrt=False)
def _sum_points(tables, table, stride, outputs, base, n_out, first, n, sums):
    """sums[k] = weighted sum over the points of output first + k, for k < n; the weights are one line of a table."""
    for k in range(0, n, LANES):
        for g in range(0, stride, LANES):
            eight_dots(sums, k, outputs, base + g * n_out + (first + k) * LANES, tables, table + g, min(g, 1))
