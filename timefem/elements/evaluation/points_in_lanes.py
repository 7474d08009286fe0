"""Residual and tangent of a single time element, for stepping: quadrature points in the SIMD lanes.

With one point only there are no lanes: see `one_point`.
"""

import numpy as np

from ...kernels.call import call_kernel
from ...kernels.lanes import LANES, add_lanes, eight_dots, set_lanes
from ...kernels.loops import compiled
from ...kernels.record import Record, aligned
from .arrays import Plan
from .single_point import OnePoint, begin_one, evaluate_one, finish_one, one_point


class Scratch(Record):
    """What the functions below work on: see `step_scratch`."""

    inputs: np.ndarray  # of the kernels
    outputs: np.ndarray  # of the kernel of a part
    sums: np.ndarray
    known: np.ndarray  # inputs that are known before an element is solved


class StepPlan(Record):
    """An element plan with what stepping needs besides.

    Rows of `plan` are counted anew: those of the core first, then those of the `explicit` dofs. `places` of all
    tangent products in a flat matrix (-1 for columns of the left node, which is known), per part in the order
    section, test function, trial function, entry; `place_starts` per part; `row_kernels` of the parts, addresses, give
    the rows alone; `n_sums` of the longest list of rows or entries that share their weights; `one` is what stands for
    all of these with one point, None with more. The functions below take it beside the plan, as the compiler leaves
    out what belongs to None.
    """

    plan: Plan
    places: np.ndarray
    place_starts: np.ndarray
    row_kernels: np.ndarray
    n_sums: int
    explicit: np.ndarray  # with more points than one
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
    one_only, row_kernels = len(plan.points) == 1, np.zeros(len(plan.parts), np.int64)
    # parts of one kind follow one another and share their sections
    found = []
    for number, kernel in enumerate(element_plan.point_kernels):
        members = np.flatnonzero(plan.parts["group"] == number)
        if not one_only and any(kernel.n_rows):
            row_kernels[members] = kernel.shortened(range(sum(kernel.n_rows))).address_lanes
        section, n_sections = plan.parts[["section", "n_sections"]][members[0]].tolist()
        sections = plan.sections[section:section + n_sections]
        groups = [np.zeros((len(members), 0), np.int64)]
        for test, slot, start, count in sections:
            entries = plan.parts["entries"][members][:, None] + start - sections["first"][0] + np.arange(count)
            products = np.arange(plan.tests["n_shapes"][test] * plan.slots["n_shapes"][slot])
            groups.append(targets[plan.entry_targets[entries][:, None] + products[:, None]].reshape(len(members), -1))
        group = np.concatenate(groups, axis=1)
        starts[members] = size + group.shape[1] * np.arange(len(members))
        places.append(group.ravel())
        found.append((members, sections, group))
        size += group.size
    n_sums = max(plan.n_tested.max(), plan.sections["n"].max(initial=0)) + LANES
    explicit, order = element_plan.explicit, np.arange(plan.n_rows)
    order[np.concatenate([explicit.core_rows, explicit.rows])] = np.arange(plan.n_rows)
    several = len(plan.points) > 1
    return StepPlan(plan.replaced(row_targets=order[plan.row_targets]) if several else plan, np.concatenate(places),
                    starts, row_kernels, int(n_sums), explicit.columns[:len(order) * several].astype(np.int64),
                    one_point(element_plan, found))


def step_scratch(step):
    """The `Scratch` for a `StepPlan`."""
    plan, one = step.plan, step.one
    if one is not None:
        return Scratch(aligned(one.n_in), aligned(max(one.n_out, plan.n_out)), aligned(0), aligned(one.n_in))
    n_out = plan.n_out * len(plan.points) + LANES**2  # blocks of 8 may run over the end
    return Scratch(aligned(plan.n_in * LANES), aligned(n_out), aligned(step.n_sums), aligned(0))


@compiled(error_model="numpy", _nrt=False)
def begin_step(step, one, x, t, h, scratch):
    """To be called before an element is evaluated, with the dofs `x` of which the left node is known."""
    if one is not None:
        begin_one(step.plan, one, x, t, h, scratch)


@compiled(error_model="numpy", _nrt=False)
def finish_step(step, one, x, scratch, residual):
    """Set the explicit unknowns in `x`, from the others where the element was last evaluated."""
    if one is not None:
        finish_one(one, x, scratch)
    else:
        first = residual.shape[0] - step.explicit.shape[0]
        for i in range(step.explicit.shape[0]):
            x[step.explicit[i]] -= residual[first + i]


@compiled(error_model="numpy", _nrt=False)
def evaluate_step(step, one, x, t, h, scratch, residual, tangent, derived):
    """Residual of the element, with one point the rows that are not explicit, else those first, and its tangent if it
    is `derived`.

    Integrals carry the element length h, each rate divides by it: dt = h dxi, d/dt = d/dxi / h.

    Parameters
    ----------
    step, one : StepPlan, and its OnePoint or None
    x : (n_columns,) dofs
    t, h : float, start time and length
    scratch : from `step_scratch`
    residual : (n_rows,) result
    tangent : flat matrix, result without the columns of the left node; untouched unless it is asked for
    derived : bool
    """
    if one is None:
        _evaluate_points(step, x, t, h, scratch, residual, tangent, derived)
    else:
        evaluate_one(one, x, h, scratch, residual, tangent, derived)


@compiled(error_model="numpy", _nrt=False)
def _evaluate_points(step, x, t, h, scratch, residual, tangent, derived):
    plan, inputs, outputs = step.plan, scratch.inputs, scratch.outputs
    stride, inverse_h = plan.points.shape[0], 1.0 / h
    residual[:] = 0.0
    if derived:
        tangent[:] = 0.0
    for p in range(plan.parts.shape[0]):
        part = plan.parts[p]
        n_out = part.n_out
        if not derived:
            n_out = 0
            for i_test in range(plan.tests.shape[0]):
                n_out += plan.n_tested[p, i_test]
            if n_out == 0:
                continue
        first = (part.n_in - part.n_parameters) * LANES
        for c in range(part.n_parameters):
            for lane in range(LANES):
                inputs[first + c * LANES + lane] = plan.parameters[part.parameters + c]
        for g in range(0, stride, LANES):
            place, local = 0, part.gather
            for s in range(plan.slots.shape[0]):
                slot = plan.slots[s]
                table = slot.table + g
                factor = inverse_h if slot.rate == 1 else 1.0
                for _ in range(plan.n_seen[p, s]):
                    set_lanes(inputs, place, factor * x[plan.gather[local]], plan.tables, table)
                    for j in range(1, slot.n_shapes):
                        add_lanes(inputs, place, factor * x[plan.gather[local + j]], plan.tables, table + j * stride)
                    local += slot.n_shapes
                    place += LANES
            for lane in range(LANES):
                inputs[place + lane] = t + plan.points[g + lane] * h
                inputs[place + LANES + lane] = h
                inputs[place + 2 * LANES + lane] = plan.points[g + lane]
            call_kernel(part.address if derived else step.row_kernels[p], inputs, 0, outputs, g * n_out)

        row, local = 0, part.rows
        for i_test in range(plan.tests.shape[0]):
            test, n = plan.tests[i_test], plan.n_tested[p, i_test]
            factor = 1.0 if test.rate == 1 else h
            for i in range(test.n_shapes):
                _sum_points(plan.test_tables, test.table + i * stride, stride, outputs, row * LANES, n_out, n,
                            scratch.sums)
                for r in range(n):
                    residual[plan.row_targets[local + r * test.n_shapes + i]] += factor * scratch.sums[r]
            row += n
            local += n * test.n_shapes
        if derived:
            _add_part(step, p, h, scratch, tangent)


@compiled(error_model="numpy", _nrt=False)
def _add_part(step, p, h, scratch, matrix):
    """Add the tangent of part p to a flat matrix."""
    plan = step.plan
    part, stride = plan.parts[p], plan.points.shape[0]
    at = step.place_starts[p]
    for i_section in range(part.section, part.section + part.n_sections):
        section = plan.sections[i_section]
        test, slot, n = plan.tests[section.test], plan.slots[section.slot], section.n
        rates = test.rate + slot.rate
        factor = h if rates == 0 else (1.0 if rates == 1 else 1.0 / h)
        table = plan.pairs[section.test, section.slot]
        for ij in range(test.n_shapes * slot.n_shapes):
            if step.places[at] >= 0:  # not the left node
                _sum_points(plan.pair_tables, table + ij * stride, stride, scratch.outputs,
                            section.first * LANES, part.n_out, n, scratch.sums)
                for k in range(n):
                    matrix[step.places[at + k]] += factor * scratch.sums[k]
            at += n


@compiled(error_model="numpy", _nrt=False)
def _sum_points(tables, table, stride, outputs, first, n_out, n, sums):
    """sums[k] = weighted sum over the points of output k behind `first`, for k < n; the weights are one line of a
    table."""
    for k in range(0, n, LANES):
        for g in range(0, stride, LANES):
            eight_dots(sums, k, outputs, first + g * n_out + k * LANES, tables, table + g, min(g, 1))
