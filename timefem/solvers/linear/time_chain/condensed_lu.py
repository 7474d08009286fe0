"""LU of a matrix in time order, the inside of its elements first.

Unknowns inside an element of mG(k), nodes and multipliers, stand in rows of this element only. They are eliminated
there, 8 elements at a time by one list of multiplications for all elements with the same pattern; what is left is a
chain of nodes, which the time-chain LU factors. A few small elements count as one, with the nodes between them inside.
Pivots are chosen by some elements and tested in each: where one is too small the element goes to another list, made for
such elements. Where this comes to no end, and for singular matrices, the time-chain LU takes the whole matrix.

Elements of BG(k) have rows that neighbours share, and hardly a regular matrix inside: they stay with the time chain.
"""

from functools import cached_property

import numpy as np

from ....errors import SolveError
from ....kernels.lanes import LANES
from ....kernels.record import Record
from ....records import frozen
from . import condensed_loops
from .lu import ChainLU


@frozen
class Limits:
    """From where on the inside of elements is eliminated first, and by which pivots."""

    pays_from: int = 6000  # blocks factored: as many as have to be for a plan to save what it takes
    least_blocks: int = 16
    least_inside: float = 0.4  # of the columns of a block; at 0.36 (heavy top, mG(1)) it was not faster
    together: int = 4  # elements with the nodes between them, for one block, at most
    columns: int = 66  # of such a block, at most: lists of larger ones take as long to make as they save
    most_plans: int = 12
    samples: int = 24  # elements by which an order is chosen: of 64 it took a third more multiplications
    good: float = 0.1  # of its column, for a pivot in those
    largest: float = 1000.0  # multiplier in any: with 100 a quarter of a top's need another order, so a twelfth


LIMITS = Limits()


class CondensedLU:
    """LU factors of a square sparse matrix in time order, with the inside of elements eliminated first where that pays.

    Used as `ChainLU`; the first factorisations of a short chain are its.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`.
    """

    fill, _factored = 0, 0

    def __init__(self, pattern):
        self._pattern, self._lu = pattern, None

    def factor(self, data, finite=False):
        """Factor the matrix with the numbers `data`; as in `ChainLU`."""
        self._factored += len(self._pattern.column_starts) - 1
        self._lu, self.fill = None, 0
        if self._factored >= LIMITS.pays_from and self._inside and self._inside.factor(data):
            self._lu = self._inside
        else:
            self._chain.factor(data, finite)
            self._lu = self._chain
        self.fill = self._lu.fill

    def solve(self, b):
        """Solve A x = b; as in `ChainLU`."""
        return self._apply("solve", b)

    def solve_transposed(self, b):
        """Solve A^T x = b on the same factors."""
        return self._apply("solve_transposed", b)

    def _apply(self, solve, b):
        if self._lu is None:
            raise SolveError("there are no factors to solve with: call factor first")
        b, solve = np.ascontiguousarray(b, dtype=float), getattr(self._lu, solve)
        return solve(b) if b.ndim == 1 else np.stack([solve(one) for one in np.ascontiguousarray(b.T)], axis=1)

    @cached_property
    def _chain(self):
        p = self._pattern
        return ChainLU(p.indptr, p.indices, p.column_starts, p.row_starts)

    @cached_property
    def _inside(self):
        return condensation(self._pattern)


def condensation(pattern, kind=None):
    """The `Condensation` for a pattern, or another `kind` of it; None where there is too little inside elements."""
    n_blocks = len(pattern.column_starts) - 1
    if n_blocks < LIMITS.least_blocks:
        return None
    width = pattern.column_starts[n_blocks // 2 + 1] - pattern.column_starts[n_blocks // 2]
    together = max(1, min(LIMITS.together, LIMITS.columns // max(width, 1)))
    column_starts, row_starts = (np.append(np.asarray(a, np.int64)[:-1:together], a[-1])
                                 for a in (pattern.column_starts, pattern.row_starts))
    n_blocks = len(column_starts) - 1
    block, touched, alike = n_blocks // 2, np.zeros(column_starts[-1], bool), np.zeros(n_blocks, np.int8)
    condensed_loops.find_alike(pattern.indptr, pattern.indices, column_starts, row_starts, block, touched, alike)
    start, stop = column_starts[block:block + 2]
    inside = np.flatnonzero(~touched[start:stop])
    if not LIMITS.least_inside * (stop - start) <= len(inside) <= row_starts[block + 1] - row_starts[block]:
        return None
    blocks = np.flatnonzero(alike)
    for i in inside:
        blocks = blocks[~touched[column_starts[blocks] + i]]
    if 2 * len(blocks) < n_blocks:
        return None
    return (kind or Condensation)(pattern, (column_starts, row_starts), block, inside, blocks)


class Condensation:
    """Factors of the inside of elements, and of the chain of nodes that is left.

    Parameters
    ----------
    pattern
    starts : (ndarray of int64, ndarray of int64)
        First columns and rows of its blocks.
    block : int
        One of those whose inside is eliminated.
    inside : ndarray of int
        Columns inside, counted from the start of a block.
    blocks : ndarray of int
        All blocks like it.
    """

    fill = 0

    def __init__(self, pattern, starts, block, inside, blocks):
        self._inside, self._blocks, self._plans = inside, blocks, []
        indptr, indices, n_blocks = pattern.indptr, pattern.indices, len(starts[0]) - 1
        column_starts, row_starts = starts
        rows = np.arange(row_starts[block], row_starts[block + 1])
        self._rows = np.repeat(rows - rows[0], np.diff(indptr[rows[0]:rows[-1] + 2]))
        entries = indices[indptr[rows[0]]:indptr[rows[-1] + 1]].astype(np.int64) - column_starts[block]
        own = np.arange(column_starts[block + 1] - column_starts[block])
        outside = np.concatenate([np.unique(entries[entries < 0]), np.setdiff1d(own, inside)])
        self._columns = np.concatenate([inside, outside])
        order = np.argsort(self._columns)
        self._entries = order[np.searchsorted(self._columns, entries, sorter=order)]
        self._shape, n_left = (len(rows), len(self._columns)), len(rows) - len(inside)
        is_inside = np.zeros(n_blocks, np.int8)
        is_inside[blocks] = 1
        starts = [np.concatenate([[0], np.cumsum(np.diff(s) - len(inside) * is_inside)])
                  for s in (row_starts, column_starts)]
        self._chain = condensed_loops.Chain(indptr, indices, column_starts, row_starts, is_inside, outside, *starts,
                                  np.empty(column_starts[-1], np.int32))
        counts = np.diff(indptr[row_starts])
        counts[blocks] = n_left * len(outside)
        size = np.int32 if counts.sum() < 2**31 else np.int64
        self._indptr, reduced = np.zeros(starts[0][-1] + 1, size), np.empty(counts.sum(), size)
        condensed_loops.reduce_pattern(self._chain, inside, n_left, self._indptr, reduced)
        self._data, self._nodes = np.empty(len(reduced)), self._lu_of_nodes(self._indptr, reduced, starts[1], starts[0])
        self._kept_columns = np.flatnonzero(self._chain.reduced >= 0)
        others = np.flatnonzero(is_inside == 0)
        self._other_rows, self._other_reduced = (
            np.concatenate([np.arange(s[e], s[e] + row_starts[e + 1] - row_starts[e]) for e in others] or [[]]
                           ).astype(np.int64) for s in (row_starts, starts[0]))

    def _lu_of_nodes(self, *pattern):
        return ChainLU(*pattern)

    def factor(self, data):
        """Factor the matrix with the numbers `data`; whether it could."""
        self.fill = 0
        if not self._eliminate(data):
            return False
        try:
            self._nodes.factor(self._data)
        except SolveError:
            return False
        self.fill = self._nodes.fill + sum(len(group.factors) for _, group in self._groups)
        return True

    def _eliminate(self, data):
        """Eliminate the inside of all elements; whether there are pivots."""
        blocks, self._groups, taken = self._blocks, [], []
        condensed_loops.copy_others(self._chain, data, self._indptr, self._data)
        for number in range(LIMITS.most_plans):
            new = number == len(self._plans)
            if new:
                plan = self._plan_for(blocks, data)
                if plan is None:
                    break
                self._plans.append([plan, None])
            plan, group = self._plans[number]
            if group is None or not np.array_equal(group.blocks, blocks):
                group = self._plans[number][1] = condensed_loops.group_for(plan, blocks, self._columns)
            self._groups.append((plan, group))
            n_bad = condensed_loops.eliminate_inside(self._chain, plan, group, data, LIMITS.largest, self._indptr,
                                           self._data)
            taken.append(len(blocks) - n_bad)
            if n_bad == 0:
                self._arrange(taken)
                return True
            if new and taken[-1] == 0:
                break
            blocks = blocks[group.good[:len(blocks)] == 0.0]
        self._plans.clear()
        return False

    def _arrange(self, taken):
        """Plans that take most elements come first."""
        if max(taken) > taken[0]:
            self._plans[:len(taken)] = [self._plans[i] for i in np.argsort(np.negative(taken), kind="stable")]

    def _plan_for(self, blocks, data):
        """A plan for some of these blocks at least; None where their inside is singular."""
        chosen = blocks[np.unique(np.linspace(0, len(blocks) - 1, LIMITS.samples).astype(int))]
        samples = np.zeros((len(chosen), *self._shape))
        starts = self._chain.indptr[self._chain.row_starts[chosen]].astype(np.int64)
        samples[:, self._rows, self._entries] = data[starts[:, None] + np.arange(len(self._rows))]
        present = np.zeros(self._shape, bool)
        present[self._rows, self._entries] = True
        order = choose_pivots(samples, present, len(self._inside), LIMITS.good)
        return order and make_plan(order, self._rows, self._entries, self._shape, len(self._inside))

    def solve(self, b):
        """Solve A x = b, shape (n,)."""
        return self._inwards(self._nodes.solve(self._outwards(b)))

    def solve_transposed(self, b):
        """Solve A^T x = b, shape (n,)."""
        return self._inwards(self._nodes.solve_transposed(self._outwards(b, True)), True)

    def _outwards(self, b, transposed=False):
        """The right-hand side of what is left."""
        if transposed:
            reduced = b[self._kept_columns]
            for plan, group in self._groups:
                condensed_loops.forward_transposed(self._chain, plan, group, b, group.good, reduced)
            return reduced
        reduced = np.empty(len(self._indptr) - 1)
        reduced[self._other_reduced] = b[self._other_rows]
        for plan, group in self._groups:
            condensed_loops.forward(self._chain, plan, group, b, reduced)
        return reduced

    def _inwards(self, reduced, transposed=False):
        """The whole solution from that of what is left, for the right-hand side seen last."""
        if transposed:
            x = np.empty(len(self._chain.indptr) - 1)
            x[self._other_rows] = reduced[self._other_reduced]
            for plan, group in self._groups:
                condensed_loops.backward_transposed(self._chain, plan, group, reduced, x)
            return x
        x = np.empty(len(self._chain.reduced))
        x[self._kept_columns] = reduced
        for plan, group in self._groups:
            condensed_loops.backward(self._chain, plan, group, reduced, x)
        return x


# One row, in the order of elimination: its local number; updates from, and how many; groups of these from, and how
# many; place of its pivot, the local column of that, and how many numbers of the row come behind it, and from where on
# their local columns stand in `columns_behind` (-1, 0, 0, 0: it is left)
ROW = np.dtype([(name, np.int64) for name in (
    "row", "first", "n_updates", "first_group", "n_groups", "pivot", "column", "n_behind", "behind")])
# One update of it by the row of a pivot: number of that row in the order, place of the multiplier, which comes behind
# that of the update before, and of what it takes by itself where the table starts, and how many targets
UPDATE = np.dtype([(name, np.int64) for name in ("by", "factor", "start", "n")])
# Updates that follow each other: how many, and of what they take together where the table starts, and how many targets
GROUP = np.dtype([(name, np.int64) for name in ("n_updates", "start", "n")])


class Plan(Record):
    """Elimination of the inside of an element as a list. All places are multiples of 8, those of vectors of 8 elements.

    What stays as factors comes first, then the rows that are left, dense.
    """

    rows: np.ndarray  # ROW
    updates: np.ndarray  # UPDATE
    groups: np.ndarray  # GROUP
    table: np.ndarray  # int32: places of entries, as in `take_one_row`
    columns_behind: np.ndarray  # int32: local columns of the entries behind pivots, which stand there one by one
    rows_taken: np.ndarray  # int32: for each update, the local row of its pivot
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
    list_rows, updates, groups, table, behind = np.zeros(n_rows, ROW), [], [], [], []

    def noted(row, by, columns):
        """Where the places for these updates of a row in some columns start in the table, and how many targets."""
        columns = sorted(columns)
        parts = [place[row, [steps[n][1] for n in by]], place[row, columns], *(place[steps[n][0], columns] for n in by)]
        table.extend(np.concatenate(parts))
        return len(table) - sum(map(len, parts)), len(columns)

    columns_behind = [frozenset(further.tolist()) for *_, further in steps]
    for i, (row, column, _, further) in enumerate(steps):
        by = [n for n in range(min(i, n_inside)) if row in steps[n][2]]
        first = len(updates), len(by), len(groups)
        for size in rows_at_once([columns_behind[n] for n in by]):
            some, by = by[:size], by[size:]
            common = frozenset.intersection(*(columns_behind[n] for n in some)) if size > 1 else frozenset()
            for n in some:
                updates.append((n, place[row, steps[n][1]] * LANES, *noted(row, [n], columns_behind[n] - common)))
            groups.append((size, *noted(row, some, common)))
        pivot = (-1, 0, 0, 0)
        if column >= 0:
            pivot = place[row, column] * LANES, column * LANES, len(further), len(behind)
        list_rows[i] = (row * LANES, *first, len(groups) - first[2], *pivot)
        behind.extend(further)
    n_places, inside = n_kept + len(left) * (n_columns - n_inside), columns < n_inside
    filled = np.zeros(n_places, bool)
    filled[place[rows, columns]] = True
    places = np.full(-(-len(rows) // LANES) * LANES, n_places)  # behind: nobody reads it
    places[:len(rows)] = place[rows, columns]

    def vectors(numbers):
        return np.ascontiguousarray(np.asarray(numbers) * LANES, np.int32)

    return Plan(list_rows, np.array(updates, UPDATE), np.array(groups, GROUP), vectors(table),
                vectors(behind), vectors([steps[n][0] for n, *_ in updates]), vectors(places),
                vectors(place[rows, columns][inside]), vectors(columns[inside]), vectors(np.flatnonzero(~filled)),
                left * LANES, n_kept, n_places, len(rows), n_rows, n_inside, n_columns - n_inside)


def rows_at_once(sources):
    """How many of the updates of a row, by rows of pivots with these columns, to take at once, in turn: 1, 2 or 4.

    What several have in common is read and written once for all of them; the sum of loads and stores is least.
    """
    best = [(0, ())]
    for i in range(1, len(sources) + 1):
        found = []
        for n in (n for n in (1, 2, 4) if n <= i):
            (taken, before), some = best[i - n], sources[i - n:i]
            common = len(frozenset.intersection(*some))
            found.append((taken + 3 * sum(map(len, some)) - 2 * (n - 1) * common, (*before, n)))
        best.append(min(found))
    return best[-1][1]
