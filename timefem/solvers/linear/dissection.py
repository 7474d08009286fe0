"""Multifrontal LU with row pivoting, on LAPACK, in an order by nested dissection.

Cuts are in time and in space, whichever separates by fewer unknowns. Unknowns are taken together in cells: those of one
block in time that stand equally far from one end of the system, seen as a graph. Two halves of a set of cells are
separated by those cells of one half that share a row with the other (A. George, SIAM J. Numer. Anal. 10, 1973; with
rows as cliques, so that pivots are free).

A front holds all rows that touch its columns, of its own and of what is left of its children; so any of them can be a
pivot, and the size of every front is known beforehand (row merging: George & Ng, SIAM J. Sci. Stat. Comput. 8, 1987;
fronts: Duff & Reid, ACM TOMS 9, 1983).
"""

from typing import NamedTuple

import numpy as np

from ...errors import InputError, SingularMatrix, SolveError
from ...memory import Late

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


# ---- multifrontal LU with row pivoting, on LAPACK

SINGLE_ABOVE = 4e8  # numbers: larger factors are rounded to single precision, 3.2 GB become 1.6; solves are refined
ROUNDING = np.finfo(float).eps  # times columns of a front: of a pivot, relative to the largest entry of its column


class DissectionLU:
    """LU factors of a sparse matrix in time order, for one pattern and many matrices.

    With a bound on the numbers that are kept, subtrees of fronts ("pieces") are factored one after the other, each with
    the right-hand side of a solve, and only what is left of them is kept; their factors are made again on the way
    back. Fronts above the pieces are kept.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`.
    fronts : list of Front
        From `dissect`.
    most : float, optional
        Numbers that may be kept; default: all of them.

    Raises
    ------
    InputError
        Where they do not do; says how many would.
    """

    def __init__(self, pattern, fronts, most=np.inf):
        self._pattern, self._fronts = pattern, fronts
        self._pieces, self.kept = pieces(fronts, most)
        self._inside = {i for start, stop in self._pieces for i in range(start, stop)}
        n = len(pattern.indptr) - 1
        counts, entries, self._take, self._places, self._maps = np.diff(pattern.indptr), np.arange(n), [], [], []
        place = np.empty(n, int)
        for f in fronts:
            place[f.columns] = np.arange(len(f.columns))
            place[f.further] = len(f.columns) + np.arange(len(f.further))
            sizes = counts[f.rows]
            starts = np.cumsum(sizes) - sizes
            entries = np.arange(sizes.sum()) + np.repeat(pattern.indptr[f.rows] - starts, sizes)
            row = np.repeat(np.arange(len(f.rows)), sizes)
            self._take.append(_short(entries, len(pattern.indices)))
            self._places.append(_short(row + f.n_rows * place[pattern.indices[entries]],
                                       f.n_rows * (len(f.columns) + len(f.further))))
            self._maps.append([place[fronts[c].further] for c in f.children])
        self._factors = None
        self._kept_as = np.float32 if self.fill > SINGLE_ABOVE and not self._pieces else np.float64

    @property
    def fill(self):
        """Numbers stored for the factors."""
        return sum(f.size for f in self._fronts)

    def factor(self, data, finite=False):
        """Factor the matrix with the CSR values `data`, known to be `finite` or not; with pieces in the first solve.

        Raises
        ------
        SingularMatrix
        SolveError
            When it is not finite.
        """
        if not (finite or np.all(np.isfinite(data))):
            raise SolveError("the matrix is not finite")
        largest = np.maximum.reduceat(np.abs(data), self._pattern.indptr[:-1])
        self._scale = 1 / np.where(largest > 0, largest, 1)
        self._data = data * np.repeat(self._scale, np.diff(self._pattern.indptr))
        self._sizes = np.zeros(len(self._scale))
        np.maximum.at(self._sizes, self._pattern.indices, np.abs(self._data))
        self._factors, left = [None] * len(self._fronts), {}
        if not self._pieces:
            for i in range(len(self._fronts)):
                self._eliminate(i, left)
            self._data = None

    def _eliminate(self, i, left):
        """Factor a front, with what is left of its children, and leave what is left of it."""
        f = self._fronts[i]
        m, k, w = f.n_rows, len(f.columns), len(f.columns) + len(f.further)
        flat = np.zeros(m * w)
        flat[self._places[i]] = self._data[self._take[i]]
        front, at = flat.reshape(w, m).T, len(f.rows)
        for c, columns in zip(f.children, self._maps[i], strict=True):
            rest = left.pop(c)
            front[at:at + len(rest), columns] = rest
            at += len(rest)
        own = front[:, :k].copy(order="F")
        own, pivots, _ = scipy.linalg.lapack.dgetrf(own, overwrite_a=True)
        small = np.abs(np.diagonal(own)) <= ROUNDING * max(w, 16) * self._sizes[f.columns]
        if small.any():
            self._factors = None
            raise SingularMatrix(self._message(f.columns[np.flatnonzero(small)[0]]))
        order = _permutation(pivots, m)
        beside = front[order, k:] if w > k else np.zeros((m, 0))
        upper = scipy.linalg.blas.dtrsm(1.0, own[:k], beside[:k], lower=1, diag=1) if w > k else beside[:k]
        if m > k:
            left[i] = beside[k:] - own[k:] @ upper
        self._factors[i] = (own.astype(self._kept_as, "F", copy=False), order,
                            upper.astype(self._kept_as, "F", copy=False))

    def solve(self, b):
        """Solve A x = b, shape (n,)."""
        b, x, kept, given = b * self._scale, np.empty(len(b)), [], {}

        def forward(i, f, own, order, upper):
            k = len(f.columns)
            v = np.concatenate([b[f.rows], *(given.pop(c) for c in f.children)])[order]
            top = scipy.linalg.blas.dtrsv(own[:k], v[:k], lower=1, diag=1)
            if f.n_rows > k:
                given[i] = v[k:] - own[k:] @ top
            kept.append(top)

        def backward(i, f, own, order, upper):
            x[f.columns] = scipy.linalg.blas.dtrsv(own[:len(f.columns)], kept[i] - upper @ x[f.further])

        self._sweep(forward, backward)
        return x

    def solve_transposed(self, b):
        """Solve A^T x = b, shape (n,), on the same factors."""
        b, x, kept, given = b.astype(float), np.empty(len(b)), [], {}

        def forward(i, f, own, order, upper):
            top = scipy.linalg.blas.dtrsv(own[:len(f.columns)], b[f.columns], trans=1)
            b[f.further] -= top @ upper
            kept.append(top)

        def backward(i, f, own, order, upper):
            k, below = len(f.columns), given.pop(i, np.zeros(0))
            v = np.empty(f.n_rows)
            top = scipy.linalg.blas.dtrsv(own[:k], kept[i] - below @ own[k:], lower=1, trans=1, diag=1)
            v[order] = np.concatenate([top, below])
            x[f.rows], at = v[:len(f.rows)], len(f.rows)
            for c in f.children:
                n = self._fronts[c].n_rows - len(self._fronts[c].columns)
                given[c], at = v[at:at + n], at + n

        self._sweep(forward, backward)
        return x * self._scale

    def _sweep(self, forward, backward):
        """Call `forward` with all fronts, children first, and `backward` with all, parents first."""
        left, known, ends = {}, self._factors[-1] is not None, {stop - 1: start for start, stop in self._pieces}
        for i, f in enumerate(self._fronts):
            if self._factors[i] is None:
                self._eliminate(i, left)
            forward(i, f, *self._factors[i])
            if i in self._inside:
                self._factors[i] = None
            if known and i in ends:
                left.clear()  # what is above is factored
        for i in range(len(self._fronts) - 1, -1, -1):
            if i in ends:
                left.clear()
                for j in range(ends[i], i + 1):
                    self._eliminate(j, left)
            backward(i, self._fronts[i], *self._factors[i])
            if i in self._inside:
                self._factors[i] = None

    def _message(self, column):
        block = np.searchsorted(self._pattern.column_starts, column, side="right") - 1
        n = len(self._pattern.column_starts) - 1
        return (f"singular matrix (to working precision) in block {block} of {n}, which is the number of the time "
                f"element: no pivot for column {column}; constraints that repeat each other, unknowns without an "
                "equation, missing conditions at an end, or unknowns far from a solution make it so")


def _short(numbers, most):
    return numbers.astype(np.int32) if most < 2**31 else numbers


def pieces(fronts, most):
    """Subtrees of fronts whose factors are not kept, so that at most so many numbers are.

    Kept at a time are the fronts above them, what is left of all pieces, and the factors of the largest piece.

    Returns
    -------
    pieces : list of (int, int)
        First front and the one behind the last one of each; none where all factors may be kept.
    kept : float
        Numbers kept at most.
    """
    first, sizes = np.arange(len(fronts)), np.array([f.size for f in fronts], float)
    for i, f in enumerate(fronts):
        first[i] = min([i, *first[f.children]])
    if sizes.sum() <= most:
        return [], sizes.sum()
    before = np.concatenate([[0.0], np.cumsum(sizes)])

    def weight(i):
        return before[i + 1] - before[first[i]]

    def remains(i):
        f = fronts[i]
        return float(f.n_rows - len(f.columns)) * len(f.further)

    roots = sorted(set(range(len(fronts))) - {c for f in fronts for c in f.children}, key=weight)
    above, rest, best = 0.0, sum(map(remains, roots)), np.inf
    while True:
        i = max(roots, key=weight)
        best = min(best, above + rest + weight(i))
        if best <= most:
            return [(int(first[i]), i + 1) for i in sorted(roots)], best
        if not fronts[i].children:
            raise InputError(f"the factors need at least {8e-9 * best:.2g} GB of memory; allow more, or take fewer "
                             "nodes or elements")
        roots.remove(i)
        roots += fronts[i].children
        above, rest = above + sizes[i], rest - remains(i) + sum(map(remains, fronts[i].children))


def _permutation(pivots, m):
    """Order of m rows after LAPACK's interchanges."""
    order = np.arange(m)
    for i, j in enumerate(pivots.tolist()):
        if i != j:
            order[i], order[j] = order[j], order[i]
    return order
