"""Residual and tangent of time elements, 8 elements at a time: one per SIMD lane.

Sums over quadrature points and shape functions. Integrals carry the element length h, and each rate, of a trial or of a
test function, divides by it: dt = h dxi, d/dt = d/dxi / h. (`points_in_lanes` has the form for a single element.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import validate
from ...errors import NamedArguments
from ...kernels.lanes import LANES, call_kernel, load, scale_lanes, store, transpose_eight
from ...kernels.loops import compiled
from ...kernels.record import Record, aligned
from ...kernels.runs import add_columns, set_combination
from ...types import Floats, Matrix
from .plan import ElementPlan


class LaneScratch(Record):
    """Arrays for 8 elements."""

    x: np.ndarray  # (n_columns, 8) dofs
    t: np.ndarray  # (8,) start times
    h: np.ndarray  # (8,) lengths
    inverse_h: np.ndarray  # (8,)
    inputs: np.ndarray  # of the kernels
    outputs: np.ndarray
    residual: np.ndarray  # (n_rows, 8) result
    tangent: np.ndarray  # (n_tangent, 8) result
    rows: np.ndarray  # (8 max(n_rows, n_tangent),) results, element by element


def lane_scratch(plan):
    """The `LaneScratch` for a `Plan`."""
    return LaneScratch(aligned(plan.n_columns, LANES), aligned(LANES), aligned(LANES), aligned(LANES),
                       aligned(plan.n_in * LANES), aligned(plan.n_points * plan.n_out * LANES),
                       aligned(plan.n_rows, LANES), aligned(plan.n_tangent, LANES),
                       aligned(LANES * max(plan.n_rows, plan.n_tangent)))


@compiled(error_model="numpy", _nrt=False)
def evaluate_lanes(plan, lanes):
    """Evaluate 8 elements, one per lane: dofs, start times and lengths in `lanes`, and so are the results."""
    stride, n_slots = plan.points.shape[0], plan.slots.shape[0]
    x, t, h, inverse_h, inputs, outputs = lanes.x, lanes.t, lanes.h, lanes.inverse_h, lanes.inputs, lanes.outputs
    residual, tangent = lanes.residual, lanes.tangent
    residual[:] = 0.0
    tangent[:] = 0.0
    for lane in range(LANES):
        inverse_h[lane] = 1.0 / h[lane]
    for p in range(plan.parts.shape[0]):
        part = plan.parts[p]
        n_out = part.n_out
        first = (part.n_in - part.n_parameters) * LANES
        for c in range(part.n_parameters):
            for lane in range(LANES):
                inputs[first + c * LANES + lane] = plan.parameters[part.parameters + c]
        for g in range(plan.n_points):
            place, local = 0, part.gather
            for s in range(n_slots):
                slot = plan.slots[s]
                for _ in range(plan.n_seen[p, s]):
                    set_combination(inputs, place, plan.tables, (slot.table + g, stride, slot.n_shapes), x, plan.gather,
                                    local)
                    if slot.rate == 1:
                        scale_lanes(inputs, place, inverse_h, 0)
                    local += slot.n_shapes
                    place += LANES
            for lane in range(LANES):
                inputs[place + lane] = t[lane] + plan.points[g] * h[lane]
                inputs[place + LANES + lane] = h[lane]
                inputs[place + 2 * LANES + lane] = plan.points[g]
            call_kernel(part.address, inputs, 0, outputs, g * n_out * LANES)

        row, local = 0, part.rows
        for i_test in range(plan.tests.shape[0]):
            test = plan.tests[i_test]
            for _ in range(plan.n_tested[p, i_test]):
                if test.rate == 0:
                    for g in range(plan.n_points):
                        scale_lanes(outputs, (g * n_out + row) * LANES, h, 0)
                for i in range(test.n_shapes):
                    add_columns(residual, plan.row_targets[local + i] * LANES, plan.test_tables,
                                test.table + i * stride, plan.n_points, outputs, (row * LANES, n_out * LANES))
                local += test.n_shapes
                row += 1

        targets = part.entries - row
        for i_section in range(part.section, part.section + part.n_sections):
            section = plan.sections[i_section]
            test, slot = plan.tests[section.test], plan.slots[section.slot]
            table, rates = plan.pairs[section.test, section.slot], test.rate + slot.rate
            n_products = test.n_shapes * slot.n_shapes
            for entry in range(section.first, section.first + section.n):
                target = plan.entry_targets[targets + entry] * LANES
                if rates != 1:
                    for g in range(plan.n_points):
                        scale_lanes(outputs, (g * n_out + entry) * LANES, h if rates == 0 else inverse_h, 0)
                for ij in range(n_products):
                    add_columns(tangent, target + ij * LANES, plan.pair_tables, table + ij * stride, plan.n_points,
                                outputs, (entry * LANES, n_out * LANES))


def evaluate_batch(plan, x, t, h, residual, tangent):
    """Evaluate any number of elements: `x` (n_e, n_columns), `t`, `h` (n_e,), `residual` (n_e, n_rows), `tangent`
    (n_e, n_tangent)."""
    _evaluate_batch(plan, lane_scratch(plan), x, t, h, residual, tangent)


@compiled(error_model="numpy", _nrt=False)
def _evaluate_batch(plan, lanes, x, t, h, residual, tangent):
    n_e = x.shape[0]
    for e in range(0, n_e, LANES):
        n_active = min(LANES, n_e - e)
        for lane in range(LANES):
            source = e + min(lane, n_active - 1)
            lanes.t[lane], lanes.h[lane] = t[source], h[source]
        into_lanes(lanes.x, x, e * plan.n_columns, plan.n_columns, plan.n_columns, n_active)
        evaluate_lanes(plan, lanes)
        out_of_lanes(residual, e * plan.n_rows, lanes.residual, plan.n_rows, n_active, lanes.rows)
        out_of_lanes(tangent, e * plan.n_tangent, lanes.tangent, plan.n_tangent, n_active, lanes.rows)


@compiled(error_model="numpy", _nrt=False)
def into_lanes(y, x, first, step, n, n_active):
    """y[c, lane] = x[first + lane * step + c] for c < n; lanes that are not active take the values of the last one."""
    whole = n // LANES * LANES if n_active == LANES else 0
    for c in range(0, whole, LANES):
        transpose_eight(y, c * LANES, LANES, x, first + c, step)
    for lane in range(LANES):
        source = first + min(lane, n_active - 1) * step
        for c in range(whole, n):
            store(y, c * LANES + lane, load(x, source + c))


@compiled(error_model="numpy", _nrt=False)
def out_of_lanes(y, first, x, n, n_active, rows):
    """y[first + lane * n + k] = x[k, lane] for k < n and the active lanes.

    By way of `rows` (8 n): written straight to y, the shuffles would write to 8 places far apart in turn, and strided
    loads are slow on some processors.
    """
    whole = n // LANES * LANES
    for k in range(0, whole, LANES):
        transpose_eight(rows, k, whole, x, k * LANES, LANES)
    for lane in range(n_active):
        target, source = first + lane * n, lane * whole
        for k in range(whole):
            store(y, target + k, load(rows, source + k))
        for k in range(whole, n):
            store(y, target + k, load(x, k * LANES + lane))


if TYPE_CHECKING:
    from ...mechanics.system import System
    from ..element import TimeElement


class ElementBatch(NamedArguments):
    """Element residuals and tangents of a system, for many elements at once.

    Dofs of an element stand in time order, `[left node | interior | right node]`: see `columns.fields`, whose arrays
    of shape (n_shapes, n_components) give the place of every nodal value of the state `(q, p)` and of the multipliers
    `(gamma, mu)`; `rows.fields` does the same for the tests.

    Parameters
    ----------
    system : System
    element : TimeElement

    Attributes
    ----------
    columns, rows : Numbering
    n_columns, n_rows : int
    pattern : (ndarray, ndarray)
        Row and column of each entry of the sparse element tangent.
    """

    def __init__(self, system: System, element: TimeElement) -> None:
        self.plan = ElementPlan(system, element)
        self.columns, self.rows = self.plan.columns, self.plan.rows
        self.n_columns, self.n_rows = self.columns.n_local, self.rows.n_local
        self.pattern = self.plan.tangent_rows, self.plan.tangent_columns

    def __call__(self, x: Matrix, h: Floats, t: Floats = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate residual and tangent entries.

        Parameters
        ----------
        x : array_like, shape (n_e, n_columns)
            Dofs per element.
        h : float or array_like, shape (n_e,)
            Lengths of the elements [s].
        t : float or array_like, shape (n_e,)
            Their start times [s].

        Returns
        -------
        residual : ndarray, shape (n_e, n_rows)
        tangent : ndarray, shape (n_e, n_entries)
            Entries d residual / d x at `pattern`; `dense` makes matrices of them.
        """
        x = np.ascontiguousarray(validate.array("x", x, (None, self.n_columns)))
        t, h = (np.ascontiguousarray(np.broadcast_to(np.asarray(v, float), len(x))) for v in (t, h))
        if not np.all(h > 0):
            raise validate.InputError("h must be positive")
        residual, tangent = np.empty((len(x), self.n_rows)), np.empty((len(x), len(self.pattern[0])))
        evaluate_batch(self.plan.arrays, x, t, h, residual, tangent)
        return residual, tangent

    def dense(self, tangent: np.ndarray) -> np.ndarray:
        """Dense tangents, shape (n_e, n_rows, n_columns), from the entries."""
        matrices = np.zeros((len(tangent), self.n_rows, self.n_columns))
        np.add.at(matrices, (slice(None), *self.pattern), tangent)  # values and end values of one field share places
        return matrices
