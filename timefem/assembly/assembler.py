"""Residual and tangent of a chain of time elements, filled in place; its sparsity pattern, and the slot of each element
entry in it.

Rows and columns are numbered in time order: node 0, then `[interior | right node]` per element. Some of the first and
the last node can be left out (initial or boundary conditions). The pattern is worked out on a chain of at most six
elements; longer chains repeat its middle, so that nothing here grows with the number of element entries.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..elements.evaluation.arrays import Plan, without_blocks
from ..elements.evaluation.elements_in_lanes import LaneScratch, evaluate_lanes, into_lanes, lane_scratch
from ..elements.evaluation.plan import ElementPlan
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


TEMPLATE = 6
REPEATED = 3  # the element of the template that longer chains repeat: it and its neighbours see no end


class ChainPattern:
    """CSR pattern of the assembled tangent.

    Parameters
    ----------
    plan : ElementPlan
    n_elements : int
    free_columns, kept_rows : (ndarray of bool, ndarray of bool)
        Which dofs, and which tests, of the first and of the last node take part; all others do.

    Attributes
    ----------
    indptr, indices : ndarray of int32, of int64 where the matrix is too large
        The indices are made when they are asked for; see `fill_indices`.
    n_columns, n_rows : int
        Number of free columns and kept rows.
    columns, rows : ndarray of int64
        Number of each free column and kept row when none is left out.
    column_index, row_index : slice or ndarray
        The same, as a slice where that will do: it costs no memory.
    n_columns_full, n_rows_full : int
        How many there would be.
    column_starts, row_starts : ndarray of int64, shape (n_elements + 2,)
        Where the free columns and kept rows of node 0 and of each element `[interior | right node]` start.
    places : (kind, copy, slots, periods, begins), ndarray
        Entry l of element e belongs to `data[slots[kind[e], l] + copy[e] * periods[l]]`, unless `slots` is negative
        (left out); copies are of one kind, that of the element `REPEATED`. `begins` is 1 where no element before has an
        entry.
    """

    def __init__(self, plan, n_elements, free_columns, kept_rows):
        short = min(n_elements, TEMPLATE)
        column_number, column_starts = _number(plan.columns, short, free_columns)
        row_number, row_starts = _number(plan.rows, short, kept_rows)
        e = np.arange(short)[:, None]
        rows = row_number[plan.tangent_rows + e * plan.rows.step]
        columns = column_number[plan.tangent_columns + e * plan.columns.step]
        inside = (rows >= 0) & (columns >= 0)
        n_columns = column_starts[-1]
        entries, places = np.unique((rows * n_columns + columns)[inside], return_inverse=True)
        slots = np.full(rows.shape, -1)
        slots[inside] = places
        begins = np.zeros(slots.shape, np.int8)
        begins.flat[np.flatnonzero(inside)[np.unique(places, return_index=True)[1]]] = 1
        indptr = np.concatenate([[0], np.cumsum(np.bincount(entries // n_columns, minlength=row_starts[-1]))])
        indices = entries % n_columns

        first, last = (row_starts[REPEATED], row_starts[REPEATED + 1]) if short == TEMPLATE else (0, 0)
        copies, period = n_elements - short, indptr[last] - indptr[first]
        kind = np.insert(np.arange(short), min(REPEATED + 1, short), [REPEATED] * copies)
        slots[REPEATED + 1:] = np.where(slots[REPEATED + 1:] < 0, -1, slots[REPEATED + 1:] + copies * period)
        copy = np.where(kind == REPEATED, np.arange(n_elements) - REPEATED, 0)
        self.places = kind, copy, slots, np.full(slots.shape[1], period), begins
        largest = max(indptr[-1] + copies * period, n_columns + copies * plan.columns.step)
        size = np.int32 if largest < 2**31 else np.int64
        self.indptr = np.zeros(1 + row_starts[-1] + copies * (last - first), size)
        _repeat(indptr[1:], first, last, copies, period, self.indptr[1:])
        self._repeated_indices = indices, indptr[first], indptr[last], copies, plan.columns.step
        self.nnz = int(self.indptr[-1])
        self.n_columns_full, self.column_starts, self.column_index = taking_part(
            plan.columns, n_elements, free_columns)
        self.n_rows_full, self.row_starts, self.row_index = taking_part(plan.rows, n_elements, kept_rows)
        self.n_columns, self.n_rows = int(self.column_starts[-1]), int(self.row_starts[-1])
        self._numberings = plan.columns, plan.rows

    def multipliers(self):
        """Which columns are of multipliers, and which rows of constraints, arrays of bool."""
        full = [np.concatenate([own[:n.n_node], np.tile(own[n.n_node:], len(self.places[0]))])
                for n in self._numberings for own in [~n.states]]
        return full[0][self.column_index], full[1][self.row_index]

    @cached_property
    def indices(self):
        return self.fill_indices(np.empty(self.nnz, self.indptr.dtype))

    def fill_indices(self, out, shift=0):
        """The indices, each larger by `shift`, in the memory `out` of shape (nnz,)."""
        indices, *repeated = self._repeated_indices
        return _repeat(indices + shift, *repeated, out)

    def indices_of_row(self, row):
        """The indices of one row, without those of the others."""
        indices, first, last, copies, shift = self._repeated_indices
        start, stop = self.indptr[row:row + 2].tolist()
        copy = min(max((start - first) // max(last - first, 1), 0), copies)
        return indices[start - copy * (last - first):stop - copy * (last - first)] + copy * shift

    @cached_property
    def columns(self):
        return np.arange(self.n_columns_full)[self.column_index]

    @cached_property
    def rows(self):
        return np.arange(self.n_rows_full)[self.row_index]


def _repeat(values, first, last, copies, shift, out):
    """Fill in `values` with values[first:last] repeated, each copy and what follows it larger by `shift` than the one
    before.

    In place: temporary arrays of this length would be the largest of the program.
    """
    n = last - first
    out[:last] = values[:last]
    np.add(values[first:last].astype(out.dtype), (np.arange(1, copies + 1) * shift).astype(out.dtype)[:, None],
           out=out[last:last + copies * n].reshape(copies, n))
    out[last + copies * n:] = values[last:] + copies * shift
    return out


def taking_part(numbering, n_elements, ends):
    """How many there are, where those that take part start in node 0 and in each element, and an index of them."""
    n, n_node = numbering.n_node + n_elements * numbering.step, numbering.n_node
    n_first, n_left_out = np.count_nonzero(ends[0]), n_node - np.count_nonzero(ends[1])
    starts = np.append(0, n_first + np.arange(n_elements + 1) * numbering.step)
    starts[-1] -= n_left_out
    if np.all(ends[0][n_node - n_first:]) and np.all(ends[1][:n_node - n_left_out]):
        return n, starts, slice(n_node - n_first, n - n_left_out)
    return n, starts, np.flatnonzero(np.concatenate([ends[0], np.ones(n - 2 * n_node, bool), ends[1]]))


def _number(numbering, n_elements, ends):
    """Running numbers with the ends' left-out entries as -1, and where each element's numbers start (and the end)."""
    taking_part = np.ones(numbering.n_node + n_elements * numbering.step, bool)
    taking_part[:numbering.n_node] = ends[0]
    taking_part[len(taking_part) - numbering.n_node:] = ends[1]
    number = np.where(taking_part, np.cumsum(taking_part) - 1, -1)
    starts = numbering.n_node + np.arange(n_elements + 1) * numbering.step
    return number, np.concatenate([[0], np.cumsum(taking_part)])[starts]


NOWHERE = np.zeros(0)  # data where no entries are asked for


class Entries(NamedTuple):
    """Which entries of tangents of elements are evaluated: their rows and columns, and places as of a `ChainPattern`.
    """

    arrays: Plan
    lanes: LaneScratch
    rows: np.ndarray
    columns: np.ndarray
    places: tuple


class Assembler:
    """Assembles a chain of elements of one kind.

    The vector `x` holds all dofs in time order, the prescribed ones included: node 0, then `[interior | right node]`
    per element.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    free_columns, kept_rows : (ndarray of bool, ndarray of bool)
        Which dofs, and which tests, of the first and the last node take part.
    scaling : Scaling
    before, after : int
        See `place`.

    Attributes
    ----------
    pattern : ChainPattern
    column_scale, row_scale : ndarray
        Sizes of the unknowns and weights of the rows, of all dofs and tests.
    before_start : ndarray, shape (n_node,), or None
        What an element before the mesh, whose dofs are known, adds to the residual of the tests of the first node.
    """

    before_start = _placed = None

    def __init__(self, plan: ElementPlan, mesh, free_columns, kept_rows, scaling, before=0, after=0):
        self.plan, self.scaling = plan, scaling
        self.pattern = ChainPattern(plan, mesh.n_elements - before - after, free_columns, kept_rows)
        self._lanes = lane_scratch(plan.arrays)
        self.place(mesh, before, after)

    def place(self, mesh, before=0, after=0):
        """Use another mesh with the same number of elements.

        Of this mesh, `before` elements at the start and `after` at the end are not assembled, but count in the
        scales of the nodes that they share.
        """
        known, self._placed = self._placed, (mesh, before, after, self.scaling)
        if known and known[0] is mesh and known[1:3] == (before, after) and known[3].same_as(self.scaling):
            return
        last = mesh.n_elements - after
        self.mesh = mesh.part(before, last) if before or after else mesh
        self.column_scale, self.row_scale = (
            scale(numbering, mesh.lengths)[before * numbering.step:last * numbering.step + numbering.n_node]
            for scale, numbering in ((self.scaling.columns, self.plan.columns), (self.scaling.rows, self.plan.rows)))
        self._whole, self._own = self._part(0, self.mesh.n_elements, self._all(self.pattern.places)), None
        self._scale_of_kept = self.row_scale[self.pattern.row_index]
        emphasis = self.scaling.emphasis_of(self.plan.columns)
        self.emphasis = None if emphasis is None else self._along(emphasis)

    @cached_property
    def state(self):
        """1 for dofs that are coordinates or momenta, 0 for others."""
        return self._along(self.scaling.states_of(self.plan.columns))

    def _along(self, own):
        n_node = self.plan.columns.n_node
        return np.concatenate([own[:n_node], np.tile(own[n_node:], self.mesh.n_elements)])

    @cached_property
    def _data(self):
        return np.empty(self.pattern.nnz)

    def assemble_into(self, data):
        """Use this memory, shape (nnz,), for the data of the tangent."""
        self._data = data

    def evaluate(self, x):
        """Scaled residual of the kept rows, shape (n_rows,), and CSR data of the scaled tangent, shape (nnz,).

        The data are overwritten by the next call: fresh memory of this size would cost as much as the assembly.
        """
        return self._scaled(self._add(x, self._whole, self._data)), self._data

    def entries_at(self, places):
        """The `Entries` for places as those of a `ChainPattern`; of the others few are evaluated."""
        kind, copy, slots, periods, begins = places
        arrays, kept = without_blocks(self.plan.arrays, np.any(slots >= 0, axis=0))
        return Entries(arrays, lane_scratch(arrays), self.plan.tangent_rows[kept], self.plan.tangent_columns[kept],
                       (kind, copy, slots[:, kept], periods[kept], begins[:, kept]))

    def evaluate_into(self, x, entries, values):
        """Scaled residual of the kept rows; entries of the scaled tangent go to their places of the values."""
        if self._own is None or self._own[0] is not entries:
            self._own = entries, self._part(0, self.mesh.n_elements, entries)
        return self._scaled(self._add(x, self._own[1], values))

    def residual(self, x):
        """Scaled residual of the kept rows, shape (n_rows,)."""
        return self._scaled(self._residual(x, 0, self.mesh.n_elements))

    def _scaled(self, residual):
        if self.before_start is not None:
            residual[:len(self.before_start)] += self.before_start
        residual = residual[self.pattern.row_index]
        residual *= self._scale_of_kept
        return residual

    def first_not_finite(self, x):
        """The first element whose residual is not finite at all dofs `x`, or None."""
        start, stop = 0, self.mesh.n_elements
        if np.all(np.isfinite(self._residual(x, start, stop))):
            return None
        while stop - start > 1:
            middle = (start + stop) // 2
            if np.all(np.isfinite(self._residual(x, start, middle))):
                start = middle
            else:
                stop = middle
        return start

    def _residual(self, x, start, stop):
        """Unscaled, of all tests of elements start, ..., stop - 1 at all dofs."""
        kind, copy, *others = self._none.places
        entries = self._none._replace(places=(kind[start:stop], copy[start:stop], *others))
        return self._add(x, self._part(start, stop, entries), NOWHERE)

    @cached_property
    def _none(self):
        kind, copy, slots, periods, begins = self.pattern.places
        return self.entries_at((kind, copy, np.full_like(slots, -1), periods, begins))

    def _all(self, places):
        return Entries(self.plan.arrays, self._lanes, self.plan.tangent_rows, self.plan.tangent_columns, places)

    def add_elements(self, x, start, stop, pattern, data):
        """Add the scaled tangents of elements start, ..., stop - 1 at all dofs `x` to data of their `ChainPattern`."""
        self._add(x, self._part(start, stop, self._all(pattern.places)), data)

    def _part(self, start, stop, entries):
        """What `assemble` takes of elements start, ..., stop - 1: where their dofs are, and arrays."""
        columns, rows = (slice(start * n.step, stop * n.step + n.n_node) for n in (self.plan.columns, self.plan.rows))
        return columns, entries.arrays, entries.lanes, Elements(
            self.mesh.nodes[start:stop], self.mesh.lengths[start:stop], self.column_scale[columns],
            self.row_scale[rows], entries.rows, entries.columns, *entries.places)

    def _add(self, x, part, data):
        """Unscaled residual of a part of the elements at all dofs; their tangents are added to the data."""
        columns, arrays, lanes, elements = part
        residual = np.zeros(len(elements.row_scale))
        assemble(arrays, lanes, x[columns], elements, residual, data)
        return residual
