"""Nested dissection of a matrix in time order: cuts in time and in space, whichever separates by fewer unknowns.

Unknowns are taken together in cells: those of one block in time that stand equally far from one end of the system, seen
as a graph. Two halves of a set of cells are separated by those cells of one half that share a row with the other
(A. George, SIAM J. Numer. Anal. 10, 1973; with rows as cliques, so that pivots are free).
"""

from typing import NamedTuple

import numpy as np

from ....late import Late

scipy = Late("scipy")

LEAF = 120  # unknowns that are not cut any more: smaller dense matrices cost more calls than they save work


class Front(NamedTuple):
    """One dense matrix of the elimination.

    Attributes
    ----------
    columns, further : ndarray of int
        Columns to be eliminated, and those of fronts further up.
    rows : ndarray of int
        Rows that enter here.
    children : list of int
        Fronts whose remaining rows come here, behind those.
    n_rows : int
        All of them.
    """

    columns: np.ndarray
    further: np.ndarray
    rows: np.ndarray
    children: list
    n_rows: int

    @property
    def work(self):
        """Multiplications."""
        m, k, p = float(self.n_rows), float(len(self.columns)), float(len(self.further))
        return k * (m - k / 3) * k / 2 + k * p * (m - k / 2)

    @property
    def size(self):
        """Numbers kept."""
        return len(self.columns) * (self.n_rows + len(self.further))


def dissect(pattern):
    """Fronts of a pattern in time order, children first; None when it is singular.

    Parameters
    ----------
    pattern : object with `indptr`, `indices`, `column_starts`
        See `LinearOptions.make`.
    """
    n = len(pattern.indptr) - 1
    if np.diff(pattern.indptr).min(initial=1) == 0 or len(np.unique(pattern.indices)) < n:
        return None
    entries = np.ones(len(pattern.indices), np.int8)
    incidence = scipy.sparse.csr_array((entries, pattern.indices, pattern.indptr), shape=(n, n))
    fronts = _fronts(incidence, pattern.column_starts)
    regular = all(f.n_rows == len(f.columns) or (f.n_rows > len(f.columns) and len(f.further)) for f in fronts)
    return fronts if regular else None


def work_of_piece(pattern, n_blocks):
    """Multiplications by dissection of `n_blocks` blocks in the middle of a pattern, without their neighbours."""
    first = (len(pattern.column_starts) - 1 - n_blocks) // 2
    columns, rows = (starts[first:first + n_blocks + 1] for starts in (pattern.column_starts, pattern.row_starts))
    places = slice(pattern.indptr[rows[0]], pattern.indptr[rows[-1]])
    indptr = pattern.indptr[rows[0]:rows[-1] + 1] - places.start
    piece = scipy.sparse.csr_array((np.ones(places.stop - places.start, np.int8), pattern.indices[places], indptr),
                                   shape=(rows[-1] - rows[0], len(pattern.indptr) - 1))[:, columns[0]:columns[-1]]
    touched = np.bincount(piece.indices, minlength=piece.shape[1]) > 0
    starts = np.concatenate([[0], np.cumsum(touched)])[columns - columns[0]]
    return sum(f.work for f in _fronts(piece[np.diff(piece.indptr) > 0][:, touched], starts))


def _fronts(incidence, starts):
    """Fronts of rows and columns that are in use, children first, whether or not there are as many of both."""
    time = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    cell_of, cells, touching = _cells(incidence, time, _levels(incidence, starts, time))
    members = np.split(np.argsort(cell_of, kind="stable"), np.cumsum(np.bincount(cell_of))[:-1])
    sets, parents = _not_empty(*_cut(np.arange(len(cells)), cells, np.bincount(cell_of), touching))
    number = np.empty(len(cells), int)
    for i, chosen in enumerate(sets):
        number[chosen] = i
    # children come first, and so the first of the fronts that a row touches is the deepest
    deepest = np.minimum.reduceat(number[cell_of[incidence.indices]], incidence.indptr[:-1])
    entering = np.split(np.argsort(deepest, kind="stable"), np.cumsum(np.bincount(deepest, minlength=len(sets)))[:-1])
    fronts, place, below = [], np.argsort(np.argsort(number[cell_of], kind="stable")), [[] for _ in sets]
    for i, (chosen, parent) in enumerate(zip(sets, parents, strict=True)):
        own = np.concatenate([members[c] for c in chosen])
        rows = entering[i]
        seen = [fronts[c].further for c in below[i]]
        if len(rows):
            seen.append(np.unique(incidence[rows].indices))
        every = np.unique(np.concatenate([own, *seen]))
        further = every[number[cell_of[every]] != i]
        further = further[np.argsort(place[further])]
        n_rows = len(rows) + sum(fronts[c].n_rows - len(fronts[c].columns) for c in below[i])
        fronts.append(Front(own, further, rows, below[i], n_rows))
        if parent >= 0 and n_rows > len(own):
            below[parent].append(i)
    return fronts


def _levels(incidence, starts, time):
    """Distance of each column from an end of the system, among columns of the same block."""
    sizes = np.diff(starts)
    usual = np.bincount(sizes[sizes > 0]).argmax()  # blocks at the ends may be empty
    middle = np.flatnonzero(sizes == usual)
    middle = middle[len(middle) // 2]
    part = scipy.sparse.csc_array(incidence)[:, starts[middle]:starts[middle + 1]].astype(float)
    graph = (part.T @ part).tocsr()
    of_block, start = _distances(graph, 0), 0
    for _ in range(2):  # from the far end
        start = int(of_block.argmax())
        of_block = _distances(graph, start)
    levels = np.full(len(time), -1)
    for e in np.flatnonzero(sizes == usual):
        levels[starts[e]:starts[e + 1]] = of_block
    while np.any(levels < 0):  # other blocks, at the ends: as the columns with which they share rows
        known = (levels >= 0).astype(float)
        of_row = incidence @ (known * levels), incidence @ known
        sums, counts = (incidence.T @ v for v in of_row)
        new = (levels < 0) & (counts > 0)
        if not new.any():
            levels[levels < 0] = 0
        levels[new] = np.rint(sums[new] / counts[new])
    return levels


def _distances(graph, start):
    distances = np.full(graph.shape[0], -1)
    reached, step = np.array([start]), 0
    while len(reached):
        distances[reached] = step
        step += 1
        reached = np.unique(graph[reached].indices)
        reached = reached[distances[reached] < 0]
    distances[distances < 0] = 0  # apart from the rest
    return distances


def _cells(incidence, time, levels):
    """Cell of each column, (time, level) of each cell, and which rows (of equal cells, once) touch which cells."""
    csc = scipy.sparse.csc_array(incidence)
    row_time = np.maximum.reduceat(time[incidence.indices], incidence.indptr[:-1])
    shared = np.maximum.reduceat(row_time[csc.indices], csc.indptr[:-1]) > time  # by a later block
    keys = (2 * time + shared) * (levels.max() + 1) + levels
    cells, cell_of = np.unique(keys, return_inverse=True)
    places = cell_of[incidence.indices], incidence.indptr.copy()
    touching = scipy.sparse.csr_array((np.ones(incidence.nnz, np.int32), *places),
                                      shape=(incidence.shape[0], len(cells)))
    touching.sum_duplicates()
    touching.data[:] = 1
    marks = np.random.default_rng(0).integers(1, 2**62, len(cells))
    _, first = np.unique(np.add.reduceat(marks[touching.indices], touching.indptr[:-1]), return_index=True)
    when, level = np.divmod(cells, levels.max() + 1)
    return cell_of, np.stack([when, level], axis=1), scipy.sparse.csc_array(touching[first]).astype(np.float32)


def _cut(chosen, cells, weights, touching):
    """Sets of cells to eliminate together, children first, and the number of the parent of each, -1 for none."""
    sets, parents, stack = [], [], [(chosen, None)]
    order = []  # parents first
    while stack:
        part, parent = stack.pop()
        separator, halves = _separate(part, cells, weights, touching)
        order.append((separator, parent))
        stack += [(half, len(order) - 1) for half in halves]
    last = len(order) - 1
    for separator, parent in reversed(order):
        sets.append(separator)
        parents.append(-1 if parent is None else last - parent)
    return sets, parents


def _separate(part, cells, weights, touching):
    """Separator and the two halves of a set of cells; the whole set and nothing when it is small."""
    whole = weights[part].sum()
    if whole <= LEAF or len(part) < 4:
        return part, ()
    best, sub = None, touching[:, part]
    rows = np.unique(sub.indices)
    sub = sub.tocsr()[rows]
    for axis in (0, 1):
        coordinate = cells[part, axis]
        order = np.argsort(coordinate, kind="stable")
        middle = coordinate[order][np.searchsorted(np.cumsum(weights[part][order]), whole / 2)]
        for limit in (middle, middle - 1):
            upper = coordinate > limit
            if upper.all() or not upper.any():
                continue
            in_upper, in_lower = (sub @ side.astype(np.float32) > 0 for side in (upper, ~upper))
            across = sub[in_upper & in_lower]
            touched = np.zeros(len(part), bool)
            touched[across.indices] = True
            for side in (upper, ~upper):
                separator = touched & side
                size = weights[part[separator]].sum()
                halves = [weights[part[s & ~separator]].sum() for s in (upper, ~upper)]
                cost = size / max(min(halves), 1e-9)
                if min(halves) > 0 and (best is None or cost < best[0]):
                    best = cost, separator, upper
    if best is None or weights[part[best[1]]].sum() > 0.5 * whole:
        return part, ()
    _, separator, upper = best
    return part[separator], (part[upper & ~separator], part[~upper & ~separator])


def _not_empty(sets, parents):
    """The same sets without those that are empty, as between parts that do not touch; their children go to their
    parents."""
    def upwards(i):
        while i >= 0 and not len(sets[i]):
            i = parents[i]
        return i

    kept = [i for i, chosen in enumerate(sets) if len(chosen)]
    number = {i: n for n, i in enumerate(kept)} | {-1: -1}
    return [sets[i] for i in kept], [number[upwards(parents[i])] for i in kept]
