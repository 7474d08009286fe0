"""In which order the inside of elements with one pattern is eliminated, and the list of multiplications of that."""

import numpy as np

from ....kernels.lanes import LANES
from ....kernels.record import Record

# One row, in the order of elimination: its local number; updates from, and how many; place of its pivot, the local
# column of that, and where the places of the row behind it start in the table, and how many (-1, 0, 0, 0: it is left)
ROW = np.dtype([(name, np.int64) for name in (
    "row", "first", "n_updates", "pivot", "column", "sources", "n_sources")])
# One update of it by the row of a pivot: number of that row in the order, place of the multiplier, start of the targets
UPDATE = np.dtype([(name, np.int64) for name in ("by", "factor", "targets")])


class Plan(Record):
    """Elimination of the inside of an element as a list. All places are multiples of 8, those of vectors of 8 elements.

    What stays as factors comes first, then the rows that are left, dense.
    """

    rows: np.ndarray  # ROW
    updates: np.ndarray  # UPDATE
    table: np.ndarray  # int32: places of entries
    numbers: np.ndarray  # int32: local columns of sources, as they stand in the table
    places: np.ndarray  # int32, of the entries of the matrix; whole vectors of them
    inside: np.ndarray  # int32, places of those inside
    columns: np.ndarray  # int32, local columns of those
    clear: np.ndarray  # int32, places that the matrix does not fill
    left: np.ndarray  # local rows that are left
    n_kept: int  # numbers per element that stay as factors
    n_places: int
    n_entries: int
    n_rows: int
    n_inside: int
    n_outside: int


def choose_pivots(samples, present, n_inside, good):
    """Order of elimination, as (row, column) pairs, by Markowitz's count and the numbers of some elements.

    Where no entry is large enough in all of them, those in which the chosen one is not count no more: they need another
    order. None where the inside is singular in all.

    Parameters
    ----------
    samples : (n, n_rows, n_columns) float, columns of the inside first; overwritten
    present : (n_rows, n_columns) bool, overwritten
        Which entries are no structural zeros.
    n_inside : int
    good : float
        Least magnitude of a pivot, of the largest in its column.
    """
    n_rows = samples.shape[1]
    rows, columns, order = np.arange(n_rows), np.arange(n_inside), []
    with np.errstate(all="ignore"):
        while len(columns):
            block, here = np.abs(samples[:, rows[:, None], columns]), present[np.ix_(rows, columns)]
            enough = (block >= good * block.max(axis=1, keepdims=True)) & (block > 0.0) & here
            votes = enough.sum(axis=0)
            if votes.max() == 0:
                return None
            behind = present[rows].sum(axis=1) - 1  # columns that are done are present no more
            cost = np.where(votes == votes.max(), behind[:, None] * (here.sum(axis=0) - 1), np.inf)
            i, j = np.unravel_index(np.argmin(cost), cost.shape)
            samples = samples[enough[:, i, j]]
            row, column = rows[i], columns[j]
            order.append((row, column))
            rows, columns = np.delete(rows, i), np.delete(columns, j)
            with_it, further = rows[present[rows, column]], np.flatnonzero(present[row])
            further = further[further != column]
            factor = samples[:, with_it, column] / samples[:, row, column][:, None]
            samples[:, with_it[:, None], further] -= factor[:, :, None] * samples[:, row, further][:, None]
            present[np.ix_(with_it, further)] = True
            present[:, column] = False
    return order


def make_plan(order, rows, columns, shape, n_inside):
    """The `Plan` for an order of elimination of entries at local `rows` and `columns` of a matrix."""
    n_rows, n_columns = shape
    present = np.zeros(shape, bool)
    present[rows, columns] = True
    done_rows, done_columns, steps = np.zeros(n_rows, bool), np.zeros(n_columns, bool), []
    for row, column in order:
        done_rows[row] = done_columns[column] = True
        with_it = np.flatnonzero(present[:, column] & ~done_rows)
        further = np.flatnonzero(present[row] & ~done_columns)
        present[np.ix_(with_it, further)] = True
        steps.append((row, column, set(with_it), further))
    left, place = np.flatnonzero(~done_rows), np.zeros(shape, np.int64)
    steps += [(row, -1, (), np.zeros(0, int)) for row in left]

    # one run of multipliers and one of pivot rows, as a solve goes through both in turn; then the rows that are left
    kept = [(row, of) for i, (row, *_) in enumerate(steps) for _, of, with_it, _ in steps[:i] if row in with_it]
    kept += [(row, c) for row, column, _, further in steps[:len(order)] for c in (column, *further)]
    n_kept = len(kept)
    place[tuple(np.transpose(kept))] = np.arange(n_kept)
    place[np.ix_(left, range(n_inside, n_columns))] = n_kept + np.arange(len(left) * (n_columns - n_inside)).reshape(
        len(left), -1)
    list_rows, updates, table, numbers, at = np.zeros(n_rows, ROW), [], [], [], 0
    for i, (row, column, _, further) in enumerate(steps):
        first = len(updates)
        for by, (_, pivot_column, with_it, sources) in enumerate(steps[:i]):
            if row in with_it:
                updates.append((by, place[row, pivot_column] * LANES, at))
                table.append(place[row, sources])
                numbers.append(np.zeros_like(sources))
                at += len(sources)
        pivot = (place[row, column] * LANES, column * LANES, at, len(further)) if column >= 0 else (-1, 0, 0, 0)
        list_rows[i] = (row * LANES, first, len(updates) - first, *pivot)
        if column >= 0:
            table.append(place[row, further])
            numbers.append(further)
            at += len(further)
    n_places, inside = n_kept + len(left) * (n_columns - n_inside), columns < n_inside
    filled = np.zeros(n_places, bool)
    filled[place[rows, columns]] = True
    places = np.full(-(-len(rows) // LANES) * LANES, n_places)  # behind: nobody reads it
    places[:len(rows)] = place[rows, columns]

    def vectors(numbers):
        return np.ascontiguousarray(np.asarray(numbers) * LANES, np.int32)

    return Plan(list_rows, np.array(updates, UPDATE), vectors(np.concatenate(table)),
                vectors(np.concatenate(numbers)), vectors(places), vectors(place[rows, columns][inside]),
                vectors(columns[inside]), vectors(np.flatnonzero(~filled)), left * LANES, n_kept, n_places, len(rows),
                n_rows, n_inside, n_columns - n_inside)
