"""The compiled assembly loop: 8 elements at a time, entries straight into their slots."""

import numpy as np

from ..elements.evaluation.elements_in_lanes import evaluate_lanes, into_lanes
from ..kernels.lanes import LANES, load, store
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
    kind, base : ndarray of int, shape (n_e,)
        Which line of `slots` an element uses, and where its values start.
    slots : ndarray of int, shape (n_kinds, n_tangent)
        Place of each tangent entry behind `base`, -1 for those left out.
    """

    t: np.ndarray
    h: np.ndarray
    column_scale: np.ndarray
    row_scale: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    kind: np.ndarray
    base: np.ndarray
    slots: np.ndarray


@compiled(error_model="numpy", _nrt=False)
def assemble(plan, lanes, x, elements, residual, data):
    """Add elements to the residual and to the CSR values of a chain.

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
        CSR values, scaled; added to.
    """
    column_scale, row_scale, rows, columns = (elements.column_scale, elements.row_scale, elements.rows,
                                              elements.columns)
    t, h, kind, base, slots = elements.t, elements.h, elements.kind, elements.base, elements.slots
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
            row, column, start, line = (e + lane) * row_step, (e + lane) * column_step, base[e + lane], kind[e + lane]
            for r in range(plan.n_rows):
                residual[row + r] += lanes.residual[r, lane]
            for k in range(plan.n_tangent):
                place = load(slots, line * plan.n_tangent + k)
                if place >= 0:
                    value = (load(tangent, k * LANES + lane) * load(row_scale, row + load(rows, k))
                             * load(column_scale, column + load(columns, k)))
                    store(data, start + place, load(data, start + place) + value)
