"""One time element as three flat lists of vector operations, for stepping.

The quadrature points stand in the SIMD lanes. Every list entry is one operation on vectors of 8 points: an input of a
kernel gathers a nodal value times a shape function, a residual row or a tangent entry is a dot product of test (and
trial) functions with one output of a kernel. The dofs of the left node are known and leave no tangent entries.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..kernels.intrinsic import call_kernel
from .lanes import LANES, add_lanes, dot_lanes


class StepPlan(NamedTuple):
    """Arrays for `evaluate_step` and `add_tangent`; tables run over the points, padded to a multiple of 8.

    `inputs`, `rows` and `entries` have one line per operation: table offset, place on the kernel's side, place on the
    element's side, and 1 if a time derivative is involved. `parts` has one line per part: kernel address, n_in, n_out,
    offset of its outputs, offset and number of its parameters, and start and stop in the three lists.
    """

    points: np.ndarray
    tables: np.ndarray
    parts: np.ndarray
    inputs: np.ndarray
    rows: np.ndarray
    entries: np.ndarray
    parameters: np.ndarray
    n_in: int
    n_outputs: int


def step_plan(plan, height):
    """The `StepPlan` of an `ElementPlan`; tangent entries go to column-major matrices of the given height."""
    a = plan.arrays
    stride = len(a.points)
    tests, pairs = a.tables.size, a.tables.size + a.test_tables.size
    n_node = plan.columns.n_node
    parts, inputs, rows, entries, n_outputs = [], [], [], [], 0
    for part in a.parts:
        address, n_in, n_out = part[:3]
        first = len(inputs), len(rows), len(entries)
        place, local = 0, part[10]
        for slot in range(3):
            table, n_shapes, rate = a.slots[slot]
            for _ in range(part[3 + slot]):
                inputs += [(table + j * stride, place, a.gather[local + j], rate) for j in range(n_shapes)]
                local += n_shapes
                place += 1
        row, local = 0, part[11]
        for field in range(2):
            table, n_shapes = a.tests[field]
            for _ in range(part[6 + field]):
                rows += [(tests + table + i * stride, row, a.row_targets[local + i], 0) for i in range(n_shapes)]
                local += n_shapes
                row += 1
        for section in range(part[12], part[12] + part[13]):
            field, slot, start, count = a.sections[section]
            n_products = a.tests[field, 1] * a.slots[slot, 1]
            for entry in range(start, start + count):
                block = a.entry_targets[part[14] + entry - row]
                for ij in range(n_products):
                    r, c = plan.tangent_rows[block + ij], plan.tangent_columns[block + ij] - n_node
                    if c >= 0:
                        table = pairs + a.pairs[field, slot] + ij * stride
                        entries.append((table, entry, c * height + r, a.slots[slot, 2]))
        parts.append([address, n_in, n_out, n_outputs, part[8], part[9],
                      first[0], len(inputs), first[1], len(rows), first[2], len(entries)])
        n_outputs += n_out * stride
    lists = [np.array(v, dtype=np.int64).reshape(len(v), -1) for v in (parts, inputs, rows, entries)]
    return StepPlan(a.points, np.concatenate([a.tables, a.test_tables, a.pair_tables]), *lists, a.parameters, a.n_in,
                    n_outputs)


@njit(cache=True, error_model="numpy")
def evaluate_step(plan, x, t, h, inputs, outputs, residual):
    """Kernel outputs of all parts at all points, and the residual of the element.

    Parameters
    ----------
    plan : StepPlan
    x : (n_columns,) dofs
    t, h : float, start time and length
    inputs, outputs : (n_in * 8,) scratch, (n_outputs,) kept for `add_tangent`
    residual : (n_rows,) result
    """
    residual[:] = 0.0
    for p in range(plan.parts.shape[0]):
        part = plan.parts[p]
        first = (part[1] - part[5]) * LANES
        for c in range(part[5]):
            for lane in range(LANES):
                inputs[first + c * LANES + lane] = plan.parameters[part[4] + c]
        for g in range(0, plan.points.shape[0], LANES):
            for i in range(first - LANES):
                inputs[i] = 0.0
            for lane in range(LANES):
                inputs[first - LANES + lane] = t + plan.points[g + lane] * h
            for i in range(part[6], part[7]):
                value = x[plan.inputs[i, 2]]
                if plan.inputs[i, 3] == 1:
                    value /= h
                add_lanes(inputs, plan.inputs[i, 1] * LANES, value, plan.tables, plan.inputs[i, 0] + g)
            block = part[3] + g * part[2]
            call_kernel(part[0], inputs, 0, outputs, block)
            for i in range(part[8], part[9]):
                residual[plan.rows[i, 2]] += h * dot_lanes(plan.tables, plan.rows[i, 0] + g,
                                                           outputs, block + plan.rows[i, 1] * LANES)


@njit(cache=True, error_model="numpy")
def add_tangent(plan, h, outputs, matrix):
    """Add the tangent of the element, without the columns of the left node, to a flat column-major matrix.

    Values carry the element length h, derivatives by the rate do not: dt = h dxi, d/dt = d/dxi / h.
    """
    for p in range(plan.parts.shape[0]):
        part = plan.parts[p]
        for g in range(0, plan.points.shape[0], LANES):
            block = part[3] + g * part[2]
            for i in range(part[10], part[11]):
                value = dot_lanes(plan.tables, plan.entries[i, 0] + g, outputs, block + plan.entries[i, 1] * LANES)
                matrix[plan.entries[i, 2]] += value if plan.entries[i, 3] == 1 else h * value
