"""Order of elimination of a sparse matrix as a tree of small dense matrices, its fronts.

A front holds all rows that touch its own columns. These are eliminated with pivots from any of its rows; the rows that
are left, in the columns of fronts further up, join the rows of its parent. So the pivots are free as in dense LU, and
yet the size of every front is known beforehand (row merging: George & Ng, SIAM J. Sci. Stat. Comput. 8, 1987).
"""

from typing import NamedTuple

import numpy as np

from .elimination_loop import AREA, LEFT, WIDTH, Groups, eliminate

LANES = 8
MEASURES = LEFT, WIDTH, AREA  # of a front, by the smallest of which the order goes
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
    pairs = np.divmod(np.unique(row_group[rows] * n + column_group[columns]), n)
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
    """Fronts in the order of what makes the smallest, by a measure; None when the pattern is singular.

    `pairs` are groups of rows and columns that touch, (2, n_pairs), ascending.
    """
    (touching, touched), room = pairs, 4 * len(pairs[0])
    n_given, sizes = len(row_members), np.array(list(map(len, column_members)))
    n_columns = len(sizes)
    n_pieces = n_given + n_columns
    per_piece, per_column = (np.bincount(a, minlength=n) for a, n in ((touching, n_given), (touched, n_columns)))
    if not (per_piece.all() and per_column.all()):
        return None
    while True:
        counts, own, pieces = np.empty(n_pieces, int), np.empty(n_columns, int), np.empty(n_pieces, int)
        counts[:n_given] = list(map(len, row_members))
        starts, own_starts, piece_starts = (np.zeros(n + 1, int) for n in (n_pieces, n_columns, n_columns))
        starts[1:n_given + 1] = np.cumsum(per_piece)
        further, ends = np.empty(room, int), np.cumsum(per_column)
        further[:len(touched)] = touched
        n_fronts = eliminate(Groups(
            measure, sizes, counts, starts, further, ends - per_column, ends,
            touching[np.argsort(touched, kind="stable")], np.empty(n_columns, int), np.full(n_pieces, -1),
            np.full(n_columns, -1), own_starts, own, piece_starts, pieces))
        if n_fronts >= 0:
            break
        room *= 2
    fronts = []
    for number in range(n_fronts):
        new = n_given + number
        columns, above, entering = (np.sort(a[b[k]:b[k + 1]]).tolist() for a, b, k in (
            (own, own_starts, number), (further, starts, new), (pieces, piece_starts, number)))
        rows = [i for p in entering if p < n_given for i in row_members[p]]
        fronts.append(Front([i for d in columns for i in column_members[d]], above, rows,
                            [p - n_given for p in entering if p >= n_given], int(counts[entering].sum())))
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
