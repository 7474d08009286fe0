"""Compiled loops of the elimination inside elements, 8 at a time, one per lane."""

import numpy as np

from ....kernels.lanes import LANES, copy_lanes, load, scale_lanes, store, transpose_eight
from ....kernels.loops import compiled
from ....kernels.record import Record, aligned
from ....kernels.runs import (
    clear_runs,
    copy_runs,
    fetch_runs,
    invert_pivot,
    keep_largest,
    make_multiplier,
    spread_eight,
    take_four_rows,
    take_one_row,
    take_product,
    take_products,
    take_two_rows,
)
from .pivots import ROUNDING


class Chain(Record):
    """A matrix in time order, and what is left of it."""

    indptr: np.ndarray
    indices: np.ndarray
    column_starts: np.ndarray
    row_starts: np.ndarray
    inside: np.ndarray  # (n_blocks,) 1 where the inside of a block is eliminated
    outside: np.ndarray  # columns of a block that stay or belong to the one before, counted from the start of the block
    reduced_rows: np.ndarray  # (n_blocks + 1,) first row of each block of what is left
    reduced_columns: np.ndarray
    reduced: np.ndarray  # (n_columns,) int32 number of a column in what is left, -1 for those eliminated


class Group(Record):
    """Elements that are eliminated by one plan."""

    blocks: np.ndarray  # int64
    columns: np.ndarray  # of a block by their local number, inside ones first, counted from the start of the block
    factors: np.ndarray  # 8 elements after another; what is left of the last ones stands behind
    good: np.ndarray  # of each element, 1.0 where the pivots were large enough
    sizes: np.ndarray  # of the columns inside
    values: np.ndarray  # of 8 elements, one after the other
    vector: np.ndarray  # of rows, then of columns
    kept: np.ndarray  # of right-hand sides, what belongs to the pivots


def group_for(plan, blocks, columns):
    """The `Group` for a `Plan` and some blocks."""
    n, n_entries = -(-len(blocks) // LANES), -(-max(len(plan.places), plan.n_places - plan.n_kept) // LANES) * LANES
    return Group(blocks, columns, aligned(LANES * (n * plan.n_kept + plan.n_places + LANES)), aligned(LANES * n),
                 aligned(LANES * plan.n_inside), aligned(LANES * n_entries),
                 aligned(LANES * (plan.n_rows + plan.n_inside + plan.n_outside)), aligned(LANES * n * plan.n_inside))


@compiled(_nrt=False)
def find_alike(indptr, indices, column_starts, row_starts, block, touched, alike):
    """Which blocks have the pattern of one of them and touch no later one, and which columns rows of others touch.

    Parameters
    ----------
    indptr, indices, column_starts, row_starts : as in `ChainLU`
    block : int
    touched : (n_columns,) bool of False, filled in
    alike : (n_blocks,) int8, filled in
    """
    first = row_starts[block]
    for e in range(len(alike)):
        row, start, stop = row_starts[e], column_starts[e], column_starts[e + 1]
        same = (row_starts[e + 1] - row == row_starts[block + 1] - first
                and stop - start == column_starts[block + 1] - column_starts[block])
        for r in range(row, row_starts[e + 1]):
            n = indptr[r + 1] - indptr[r]
            same = same and n == indptr[first + r - row + 1] - indptr[first + r - row]
            for k in range(indptr[r], indptr[r + 1]):
                c = load(indices, k)
                if c < start or c >= stop:
                    touched[c] = True
                if same:
                    same = (c < stop and c - start
                            == load(indices, indptr[first + r - row] + k - indptr[r]) - column_starts[block])
        alike[e] = same


@compiled(_nrt=False)
def reduce_pattern(chain, inside, n_left, indptr, indices):
    """Fill in what is left of the pattern, and `chain.reduced`; n_left rows of each eliminated block."""
    at, row = 0, 0
    for e in range(len(chain.inside)):
        number, start = chain.reduced_columns[e], chain.column_starts[e]
        for c in range(start, chain.column_starts[e + 1]):
            chain.reduced[c] = 0
        if chain.inside[e]:
            for i in range(len(inside)):
                chain.reduced[start + inside[i]] = -1
        for c in range(start, chain.column_starts[e + 1]):
            if chain.reduced[c] == 0:
                chain.reduced[c] = number
                number += 1
    for e in range(len(chain.inside)):
        if chain.inside[e]:
            for _ in range(n_left):
                for j in range(len(chain.outside)):
                    store(indices, at, load(chain.reduced, chain.column_starts[e] + chain.outside[j]))
                    at += 1
                row += 1
                store(indptr, row, at)
        else:
            for r in range(chain.row_starts[e], chain.row_starts[e + 1]):
                for k in range(chain.indptr[r], chain.indptr[r + 1]):
                    store(indices, at, load(chain.reduced, load(chain.indices, k)))
                    at += 1
                row += 1
                store(indptr, row, at)


@compiled(_nrt=False)
def copy_others(chain, data, indptr, reduced):
    """Copy the numbers of blocks that stay as they are."""
    for e in range(len(chain.inside)):
        if not chain.inside[e]:
            first, target = chain.indptr[chain.row_starts[e]], indptr[chain.reduced_rows[e]]
            for k in range(chain.indptr[chain.row_starts[e + 1]] - first):
                store(reduced, target + k, load(data, first + k))


@compiled(error_model="numpy", _nrt=False)
def eliminate_inside(chain, plan, group, data, largest, indptr, reduced):
    """Eliminate the inside of the elements of a group, with multipliers up to the `largest`; what is left goes to
    `reduced`, of rows `indptr`.

    Returns
    -------
    int
        Number of elements in which pivots were too small; `group.good` says which.
    """
    factors, values, sizes, table, good = group.factors, group.values, group.sizes, plan.table, group.good
    n, n_entries, n_bad = len(group.blocks), plan.n_entries, 0
    n_left = plan.n_places - plan.n_kept
    share = plan.n_kept // len(plan.rows) + 1
    whole, rest = len(plan.places), (n_left + LANES - 1) // LANES * LANES
    for first in range(0, n, LANES):
        base = first * plan.n_kept
        start = np.int64(chain.indptr[chain.row_starts[group.blocks[first]]])
        if (first + LANES <= n and group.blocks[first + LANES - 1] - group.blocks[first] == LANES - 1
                and start + (LANES - 1) * n_entries + whole <= len(data)):
            for k in range(0, whole, LANES):
                spread_eight(factors, base, plan.places, k, data, start + k, n_entries)
        else:
            for lane in range(LANES):
                start = np.int64(chain.indptr[chain.row_starts[group.blocks[min(first + lane, n - 1)]]])
                for k in range(n_entries):
                    store(values, lane * whole + k, load(data, start + k))
            for k in range(0, whole, LANES):
                spread_eight(factors, base, plan.places, k, values, k, whole)
        for lane in range(LANES):
            store(good, first + lane, 1.0)
        clear_runs(sizes, 0, len(sizes))
        for i in range(len(plan.clear)):
            clear_runs(factors, base + load(plan.clear, i), LANES)
        for k in range(len(plan.inside)):
            keep_largest(sizes, np.int64(load(plan.columns, k)), factors, base + load(plan.inside, k))
        for i in range(len(plan.rows)):
            row = plan.rows[i]
            if first + 2 * LANES <= n:  # where the next ones go: writing to what is far away waits for it
                fetch_runs(factors, base + (plan.n_kept + i * share) * LANES, share * LANES)
            u = row.first
            for g in range(row.first_group, row.first_group + row.n_groups):
                together = plan.groups[g]
                for _ in range(together.n_updates):
                    update = plan.updates[u]
                    make_multiplier(factors, base + update.factor, base + plan.rows[update.by].pivot, good, first,
                                    largest)
                    take_one_row(factors, base, table, update.start, update.n)
                    u += 1
                if together.n_updates == 2:
                    take_two_rows(factors, base, table, together.start, together.n)
                elif together.n_updates == 4:
                    take_four_rows(factors, base, table, together.start, together.n)
            if row.pivot >= 0:
                invert_pivot(factors, base + row.pivot, good, first, sizes, row.column, ROUNDING * plan.n_rows)
        left = base + plan.n_kept * LANES
        for k in range(0, rest, LANES):  # reads zeros behind the last one
            transpose_eight(values, k, rest, factors, left + k * LANES, LANES)
        for lane in range(min(LANES, n - first)):
            target = np.int64(indptr[chain.reduced_rows[group.blocks[first + lane]]])
            copy_runs(reduced, target, values, lane * rest, n_left // LANES * LANES)
            for k in range(n_left // LANES * LANES, n_left):
                store(reduced, target + k, load(values, lane * rest + k))
            n_bad += good[first + lane] == 0.0
    return n_bad


@compiled(error_model="numpy", _nrt=False)
def forward(chain, plan, group, b, reduced):
    """Eliminate from a right-hand side; what is left goes to `reduced`."""
    vector, factors, kept, n = group.vector, group.factors, group.kept, len(group.blocks)
    for first in range(0, n, LANES):
        base, at = first * plan.n_kept, first * plan.n_inside
        n_active = min(LANES, n - first)
        for lane in range(LANES):
            start = chain.row_starts[group.blocks[first + min(lane, n_active - 1)]]
            for r in range(plan.n_rows):
                store(vector, r * LANES + lane, load(b, start + r))
        for i in range(len(plan.rows)):
            row = plan.rows[i]
            if row.n_updates:
                take_products(vector, row.row, factors, base + plan.updates[row.first].factor, plan.rows_taken,
                              row.first, row.n_updates)
            if row.pivot >= 0:
                copy_lanes(kept, at + row.column, vector, row.row)
        for lane in range(n_active):
            start = chain.reduced_rows[group.blocks[first + lane]]
            for i in range(len(plan.left)):
                store(reduced, start + i, load(vector, plan.left[i] + lane))


@compiled(error_model="numpy", _nrt=False)
def backward(chain, plan, group, reduced, x):
    """Recover the unknowns inside from those that are left."""
    vector, factors, kept, n = group.vector, group.factors, group.kept, len(group.blocks)
    n_inside, n_columns = plan.n_inside, plan.n_inside + plan.n_outside
    for first in range(0, n, LANES):
        base, at = first * plan.n_kept, first * plan.n_inside
        n_active = min(LANES, n - first)
        for lane in range(LANES):
            start = chain.column_starts[group.blocks[first + min(lane, n_active - 1)]]
            for j in range(n_inside, n_columns):
                store(vector, j * LANES + lane, load(reduced, load(chain.reduced, start + group.columns[j])))
        for p in range(n_inside - 1, -1, -1):
            pivot = plan.rows[p]
            copy_lanes(vector, pivot.column, kept, at + pivot.column)
            take_products(vector, pivot.column, factors, base + pivot.pivot + LANES, plan.columns_behind, pivot.behind,
                          pivot.n_behind)
            scale_lanes(vector, pivot.column, factors, base + pivot.pivot)
        for lane in range(n_active):
            start = chain.column_starts[group.blocks[first + lane]]
            for j in range(n_inside):
                store(x, start + group.columns[j], load(vector, j * LANES + lane))


@compiled(error_model="numpy", _nrt=False)
def forward_transposed(chain, plan, group, b, taken, reduced):
    """As `forward`, of the transposed matrix; adds to `reduced`, for elements that are `taken`."""
    vector, factors, kept, n = group.vector, group.factors, group.kept, len(group.blocks)
    n_inside, n_columns = plan.n_inside, plan.n_inside + plan.n_outside
    for first in range(0, n, LANES):
        base, at = first * plan.n_kept, first * plan.n_inside
        n_active = min(LANES, n - first)
        for lane in range(LANES):
            start = chain.column_starts[group.blocks[first + min(lane, n_active - 1)]]
            for j in range(n_inside):
                store(vector, j * LANES + lane, load(b, start + group.columns[j]))
        clear_runs(vector, n_inside * LANES, plan.n_outside * LANES)
        for p in range(n_inside):
            pivot = plan.rows[p]
            scale_lanes(vector, pivot.column, factors, base + pivot.pivot)
            for i in range(pivot.n_behind):
                take_product(vector, np.int64(load(plan.columns_behind, pivot.behind + i)), factors,
                             base + pivot.pivot + (i + 1) * LANES, pivot.column)
            copy_lanes(kept, at + pivot.column, vector, pivot.column)
        for lane in range(n_active):
            if taken[first + lane]:
                start = chain.column_starts[group.blocks[first + lane]]
                for j in range(n_inside, n_columns):
                    place = np.int64(load(chain.reduced, start + group.columns[j]))
                    store(reduced, place, load(reduced, place) + load(vector, j * LANES + lane))


@compiled(error_model="numpy", _nrt=False)
def backward_transposed(chain, plan, group, reduced, x):
    """As `backward`, of the transposed matrix: of all rows of the elements."""
    vector, factors, kept, n = group.vector, group.factors, group.kept, len(group.blocks)
    for first in range(0, n, LANES):
        base, at = first * plan.n_kept, first * plan.n_inside
        n_active = min(LANES, n - first)
        for lane in range(LANES):
            start = chain.reduced_rows[group.blocks[first + min(lane, n_active - 1)]]
            for i in range(len(plan.left)):
                store(vector, plan.left[i] + lane, load(reduced, start + i))
        for p in range(plan.n_inside):
            copy_lanes(vector, plan.rows[p].row, kept, at + plan.rows[p].column)
        for i in range(plan.n_rows - 1, -1, -1):
            row = plan.rows[i]
            for u in range(row.first, row.first + row.n_updates):
                update = plan.updates[u]
                take_product(vector, plan.rows[update.by].row, factors, base + update.factor, row.row)
        for lane in range(n_active):
            start = chain.row_starts[group.blocks[first + lane]]
            for r in range(plan.n_rows):
                store(x, start + r, load(vector, r * LANES + lane))
