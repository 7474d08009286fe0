"""The compiled assembly loop: 8 elements at a time, entries straight into their slots."""

import numpy as np

from ..elements.evaluation.elements_in_lanes import evaluate_lanes, into_lanes
from ..kernels.lanes import LANES, load, scale_twice, store
from ..kernels.loops import compiled
from ..kernels.record import Record


class Elements(Record):
    """Elements of a chain, and where their entries go.

    Attributes
    ----------
    t, h : ndarray, shape (n_e,)
        Start and length of each.
    column_scale, row_scale : ndarray
        By which the values are multiplied.
    rows, columns : ndarray of int, shape (n_tangent,)
        Pattern of an element.
    kind, copy : ndarray of int, shape (n_e,)
        Which line of `slots` an element uses, and how many of that kind come before it.
    slots : ndarray of int, shape (n_kinds, n_tangent)
        Place of each tangent entry in the first element of a kind, -1 for those left out.
    periods : ndarray of int, shape (n_tangent,)
        How far apart the places in two elements of a kind are that follow each other.
    begins : ndarray of int8, shape (n_kinds, n_tangent)
        1 where no element before has an entry: it is written, not added, so that nothing needs to be cleared.
    """

    t: np.ndarray
    h: np.ndarray
    column_scale: np.ndarray
    row_scale: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    kind: np.ndarray
    copy: np.ndarray
    slots: np.ndarray
    periods: np.ndarray
    begins: np.ndarray


@compiled(error_model="numpy", _nrt=False)
def assemble(plan, lanes, x, elements, residual, data):
    """Add elements to the residual of a chain, and put their entries in its tangent.

    Parameters
    ----------
    plan : Plan
    lanes : LaneScratch
    x : ndarray
        Dofs of the chain.
    elements : Elements
    residual : ndarray
        All rows, unscaled; added to.
    data : ndarray
        Values at the places, scaled.
    """
    rows, columns = elements.rows, elements.columns
    t, h, kind, slots, periods, begins = (elements.t, elements.h, elements.kind, elements.slots, elements.periods,
                                          elements.begins)
    n_e = h.shape[0]
    column_step = (x.shape[0] - plan.n_columns) // max(1, n_e - 1)
    tangent = lanes.tangent
    row_step = (residual.shape[0] - plan.n_rows) // max(1, n_e - 1)
    for e in range(0, n_e, LANES):
        n_active = min(LANES, n_e - e)
        for lane in range(LANES):
            source = e + min(lane, n_active - 1)
            lanes.t[lane], lanes.h[lane] = t[source], h[source]
        into_lanes(lanes.x, x, e * column_step, column_step, plan.n_columns, n_active)
        evaluate_lanes(plan, lanes)
        for lane in range(n_active):
            row = (e + lane) * row_step
            for r in range(plan.n_rows):
                residual[row + r] += lanes.residual[r, lane]
        if data.shape[0] == 0:
            continue
        # memory that is free now: the scales
        into_lanes(lanes.x, elements.column_scale, e * column_step, column_step, plan.n_columns, n_active)
        into_lanes(lanes.residual, elements.row_scale, e * row_step, row_step, plan.n_rows, n_active)
        for k in range(plan.n_tangent):
            scale_twice(tangent, k * LANES, lanes.residual, load(rows, k) * LANES, lanes.x, load(columns, k) * LANES)
        for lane in range(n_active):
            line, copy = kind[e + lane] * plan.n_tangent, elements.copy[e + lane]
            for k in range(plan.n_tangent):
                place = load(slots, line + k)
                if place >= 0:
                    place += copy * load(periods, k)
                    value = load(tangent, k * LANES + lane)
                    store(data, place, value if load(begins, line + k) == 1 else load(data, place) + value)
