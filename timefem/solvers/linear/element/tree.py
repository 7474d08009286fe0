"""Order of elimination of a sparse matrix as a tree of small dense matrices, its fronts.

A front holds all rows that touch its own columns. These are eliminated with pivots from any of its rows; the rows that
are left, in the columns of fronts further up, join the rows of its parent. So the pivots are free as in dense LU, and
yet the size of every front is known beforehand (row merging: George & Ng, SIAM J. Sci. Stat. Comput. 8, 1987).
"""

import heapq
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

LANES = 8
MEASURES = "left", "width", "area"  # of a front, by the smallest of which the order goes
TRIED = 3000  # unknowns, of all trials together: longer searches would cost more than they save
OVERHEAD, PER_VECTOR, PER_COPY = 150.0, 0.35, 0.6  # nanoseconds: of a front, of a product of 8, of a number that moves


class Front(NamedTuple):
    """One front: its own columns, those of fronts further up, the rows that enter here, and the fronts below.

    `n_rows` counts those that enter and those that are left of the fronts below.
    """

    columns: list
    further: list
    rows: list
    children: list
    n_rows: int

    @property
    def width(self):
        return len(self.columns) + len(self.further)

    @property
    def height(self):
        """Rows, rounded up to whole vectors."""
        return -(-self.n_rows // LANES) * LANES


def front_tree(rows, columns, n):
    """Fronts of a square pattern of n rows, children before parents; None when it is singular by its pattern.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (nnz,)
        Without repetition.
    """
    if not n:
        return []
    (row_group, rows_of), (column_group, columns_of) = _groups(rows, columns, n), _groups(columns, rows, n)
    pairs = np.unique(row_group[rows] * n + column_group[columns])
    pairs = list(zip((pairs // n).tolist(), (pairs % n).tolist(), strict=True))
    found = [_eliminate(pairs, rows_of, columns_of, measure) for measure in MEASURES[:max(1, TRIED // n)]]
    if None in found:
        return None
    return min(map(_joined, found), key=tree_cost)


def _groups(lines, others, n):
    """Lines (rows, or columns) of equal pattern: (number of the group of each line, lines per group)."""
    order = np.lexsort((others, lines))
    ends = np.cumsum(np.bincount(lines, minlength=n))
    patterns, found, start = others[order].tobytes(), {}, 0
    numbers = []
    for end in (ends * others.itemsize).tolist():
        numbers.append(found.setdefault(patterns[start:end], len(found)))
        start = end
    members = [[] for _ in found]
    for line, number in enumerate(numbers):
        members[number].append(line)
    return np.array(numbers, int), members


def _eliminate(pairs, row_members, column_members, measure):
    """Fronts in the order of what makes the smallest, by a measure: the width of what they leave, their width,
    or their area.

    Returns None when the pattern is singular.
    """
    sizes = [len(m) for m in column_members]
    bits = [((1 << size) - 1) << start for size, start in zip(sizes, np.cumsum([0, *sizes]).tolist(), strict=False)]
    # pieces of rows: those of equal pattern, and later those that are left of fronts
    touched = [set() for _ in row_members]  # columns of each piece
    touching = [set() for _ in column_members]  # pieces of each column
    for r, c in pairs:
        touched[r].add(c)
        touching[c].add(r)
    masks = [reduce(or_, (bits[c] for c in columns), 0) for columns in touched]
    counts = [len(m) for m in row_members]
    if any(not t for t in touched) or any(not t for t in touching):
        return None
    fronts, of_piece = [], {}

    def score(c):
        pieces = touching[c]
        if measure == "left":
            union = set().union(*map(touched.__getitem__, pieces))
            return sum([sizes[d] for d in union if not touching[d] <= pieces])
        width = reduce(or_, (masks[p] for p in pieces)).bit_count()
        return width if measure == "width" else width * sum(counts[p] for p in pieces)

    scores = [score(c) for c in range(len(sizes))]
    heap = [(s, c) for c, s in enumerate(scores)]
    heapq.heapify(heap)
    while heap:
        value, c = heapq.heappop(heap)
        if scores[c] != value:
            continue
        pieces = touching[c]
        union = set().union(*(touched[p] for p in pieces))
        own = sorted(d for d in union if touching[d] <= pieces)
        further = union.difference(own)
        n_rows, n_own = sum(counts[p] for p in pieces), sum(sizes[d] for d in own)
        entering = sorted(p for p in pieces if p not in of_piece)
        below = sorted(of_piece[p] for p in pieces if p in of_piece)
        fronts.append(Front([i for d in own for i in column_members[d]], sorted(further),
                            [i for p in entering for i in row_members[p]], below, n_rows))
        for d in own:
            scores[d] = None
        piece = len(touched)
        touched.append(further)
        masks.append(reduce(or_, (masks[p] for p in pieces)) & ~reduce(or_, (bits[d] for d in own)))
        counts.append(max(n_rows - n_own, 0))
        if counts[-1]:
            of_piece[piece] = len(fronts) - 1
        for d in further:
            touching[d] = (touching[d] - pieces) | ({piece} if counts[-1] else set())
            if not touching[d]:
                return None
        for d in further:
            scores[d] = score(d)
            heapq.heappush(heap, (scores[d], d))
        for p in pieces:
            touched[p] = ()
    if any(f.n_rows < len(f.columns) or (not f.further and f.n_rows > len(f.columns)) for f in fronts):
        return None
    place = np.empty(sum(sizes), int)
    place[[i for front in fronts for i in sorted(front.columns)]] = np.arange(len(place))
    place = place.tolist()
    return [f._replace(further=sorted([i for d in f.further for i in column_members[d]], key=place.__getitem__))
            for f in fronts]


def _cost(n_columns, width, n_rows):
    """Estimated nanoseconds of a front."""
    vectors = -(-n_rows // LANES)
    return (OVERHEAD + PER_VECTOR * n_columns * vectors * (width - n_columns / 2)
            + PER_COPY * (n_rows - n_columns) * (width - n_columns))


def tree_cost(fronts):
    """Estimated nanoseconds of a factorisation."""
    return sum(_cost(len(f.columns), f.width, f.n_rows) for f in fronts)


def _joined(fronts):
    """Fronts joined with their parents where that is less work."""
    done, parent = list(fronts), {c: number for number, f in enumerate(fronts) for c in f.children}
    for number, front in enumerate(fronts):
        above = parent.get(number)
        front = done[number]
        if above is None:
            continue
        f = done[above]
        n_own, left = len(front.columns), front.n_rows - len(front.columns)
        n_columns, width, n_rows = n_own + len(f.columns), n_own + f.width, f.n_rows - left + front.n_rows
        if _cost(n_columns, width, n_rows) < _cost(n_own, front.width, front.n_rows) + _cost(
                len(f.columns), f.width, f.n_rows):
            children = [c for c in f.children if c != number] + front.children
            done[above] = Front(front.columns + f.columns, f.further, front.rows + f.rows, children, n_rows)
            done[number] = None
            for c in front.children:
                parent[c] = above
    numbers = np.cumsum([f is not None for f in done]) - 1
    return [f._replace(children=[int(numbers[c]) for c in f.children]) for f in done if f is not None]
