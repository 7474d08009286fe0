"""Order of elimination of a sparse matrix as a tree of small dense matrices, its fronts, and where everything stands
that the loops of `fronts` work on.

A front holds all rows that touch its own columns. These are eliminated with pivots from any of its rows; the rows that
are left, in the columns of fronts further up, join the rows of its parent. So the pivots are free as in dense LU, and
yet the size of every front is known beforehand (row merging: George & Ng, SIAM J. Sci. Stat. Comput. 8, 1987).
"""

import pickle
from typing import NamedTuple

import numpy as np

from ....kernels.loops import compiled
from ....kernels.record import Record
from ....kernels.store import digest, sources, store
from .fronts import FRONT, Fronts

__all__ = ["find_fronts", "fronts_of"]


LEFT, WIDTH, AREA = range(3)  # measures of a front: width of what it leaves, its width, its area
GONE = np.iinfo(np.int64).max


class Groups(Record):
    """Rows and columns by groups, what the search changes, and what it fills in.

    Pieces are groups of rows: at first those given, then what is left of each front, with numbers that go on.
    """

    measure: int
    sizes: np.ndarray  # (n_columns,) columns per group
    counts: np.ndarray  # (n_pieces + n_columns,) rows per piece; those of the fronts are filled in
    starts: np.ndarray  # (n_pieces + n_columns + 1,)
    touched: np.ndarray  # columns of each piece; those of the fronts are filled in: what is further up
    begins: np.ndarray  # (n_columns,)
    ends: np.ndarray
    touching: np.ndarray  # (nnz,) pieces of each column; changed
    scores: np.ndarray  # (n_columns,) changed
    in_front: np.ndarray  # (n_pieces + n_columns,) of -1; changed
    seen: np.ndarray  # (n_columns,) of -1; changed
    own_starts: np.ndarray  # (n_columns + 1,) filled in
    own: np.ndarray  # (n_columns,) filled in: columns eliminated in each front
    piece_starts: np.ndarray  # (n_columns + 1,) filled in
    pieces: np.ndarray  # (n_pieces + n_columns,) filled in: pieces that enter each front


@compiled(interpreted=True, _nrt=False)
def _measured(groups, c, stamp):
    """Measure of the front that would eliminate column c; `stamp` is one that no other call had."""
    measure, sizes, counts, starts, touched = (groups.measure, groups.sizes, groups.counts, groups.starts,
                                               groups.touched)
    begins, ends, touching = groups.begins, groups.ends, groups.touching
    in_front, seen = groups.in_front, groups.seen
    total, rows = 0, 0
    for i in range(begins[c], ends[c]):
        in_front[touching[i]] = stamp
        rows += counts[touching[i]]
    for i in range(begins[c], ends[c]):
        p = touching[i]
        for k in range(starts[p], starts[p + 1]):
            d = touched[k]
            if seen[d] == stamp:
                continue
            seen[d] = stamp
            m = begins[d] if measure == LEFT else ends[d]
            while m < ends[d] and in_front[touching[m]] == stamp:
                m += 1
            if measure != LEFT or m < ends[d]:
                total += sizes[d]
    return total * rows if measure == AREA else total


@compiled(interpreted=True, _nrt=False)
def eliminate(groups):
    """Eliminate columns in the order of what makes the smallest front; returns the number of fronts, or -1 where
    `touched` has not enough room."""
    sizes, counts, starts, touched = groups.sizes, groups.counts, groups.starts, groups.touched
    begins, ends, touching, scores = groups.begins, groups.ends, groups.touching, groups.scores
    in_front, seen, own_starts, own = groups.in_front, groups.seen, groups.own_starts, groups.own
    piece_starts, pieces = groups.piece_starts, groups.pieces
    n_columns, n_fronts, done, stamp = sizes.shape[0], 0, 0, 0
    n_given = counts.shape[0] - n_columns
    for c in range(n_columns):
        scores[c] = _measured(groups, c, stamp)
        stamp += 1
    while done < n_columns:
        c, new, n_rows, n_own = np.argmin(scores), n_given + n_fronts, 0, 0
        at_piece, at = piece_starts[n_fronts], starts[new]
        for i in range(begins[c], ends[c]):
            p = touching[i]
            in_front[p] = stamp
            pieces[at_piece] = p
            at_piece += 1
            n_rows += counts[p]
        for i in range(piece_starts[n_fronts], at_piece):
            for k in range(starts[pieces[i]], starts[pieces[i] + 1]):
                d = touched[k]
                if seen[d] == stamp:
                    continue
                seen[d] = stamp
                left = begins[d]  # pieces that are not in this front come first
                for m in range(begins[d], ends[d]):
                    if in_front[touching[m]] != stamp:
                        touching[left] = touching[m]
                        left += 1
                ends[d] = left
                if left == begins[d]:
                    own[done], scores[d] = d, GONE
                    n_own += sizes[d]
                    done += 1
                elif at == touched.shape[0]:
                    return -1
                else:
                    touched[at] = d
                    at += 1
        counts[new] = max(n_rows - n_own, 0)
        starts[new + 1], piece_starts[n_fronts + 1], own_starts[n_fronts + 1] = at, at_piece, done
        stamp += 1
        n_fronts += 1
        if counts[new] > 0:
            for k in range(starts[new], at):
                d = touched[k]
                touching[ends[d]] = new
                ends[d] += 1
        for k in range(starts[new], at):
            d = touched[k]
            scores[d] = _measured(groups, d, stamp)
            stamp += 1
    return n_fronts


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


def fronts_of(rows, columns, n):
    """The `Fronts` of a square pattern of n rows without repetition, and the place of each of its entries in the flat
    matrix; -1 for all when the pattern is singular.

    They are kept on disk: for long chains of bodies they take longer than all else of a known model.
    """
    pattern = (v.astype(np.int32, copy=False).tobytes() for v in (rows, columns))  # half as much to take a digest of
    name = digest("fronts", n, *pattern, sources("solvers/linear/element", "kernels/record.py"))
    fronts, targets = pickle.loads(store().once(name, lambda: pickle.dumps(_stored(rows, columns, n))))
    return fronts, targets


def _stored(rows, columns, n):
    fronts, targets = find_fronts(rows.astype(np.int64), columns.astype(np.int64), n)
    return fronts, targets.astype(np.int32) if fronts.size < 2**31 else targets


def find_fronts(rows, columns, n):
    """`fronts_of`, found anew."""
    explicit, own_columns = _explicit(rows, columns, n)
    core_rows = np.setdiff1d(np.arange(n), [r for r, _ in explicit])
    core_columns = np.setdiff1d(np.arange(n), [c for _, c in explicit])
    new_row, new_column = np.full(n, -1), np.full(n, -1)
    new_row[core_rows], new_column[core_columns] = np.arange(len(core_rows)), np.arange(len(core_columns))
    in_core = new_row[rows] >= 0
    tree = front_tree(new_row[rows[in_core]], new_column[columns[in_core]], len(core_rows))
    singular, tree = tree is None, tree or []
    table, targets, size = np.zeros(len(tree), FRONT), np.full(len(rows), -1), 0
    front_of, place_of, sums = np.zeros(n, int), np.zeros(n, int), np.zeros(5, int)
    for number, f in enumerate(tree):
        entering = core_rows[f.rows]
        front_of[entering], place_of[entering] = number, np.arange(len(entering))
        table[number] = (size, sums[0], f.height, f.n_rows, len(f.rows), len(f.columns), f.width, *sums[1:4], -1, 0)
        at = len(f.rows)
        for child in f.children:
            table["parent"][child], table["at"][child] = number, at
            at += tree[child].n_rows - len(tree[child].columns)
        size += f.height * f.width
        sums += (f.height, len(f.rows), f.width, len(f.further), 0)
    front_columns = np.array([c for f in tree for c in (*f.columns, *f.further)], int)
    place = _places(front_columns, table, n)
    further = np.array([c for f in tree for c in f.further], int)
    above = np.repeat(table["parent"], table["width"] - table["n_own"])
    if not singular:
        front = front_of[rows[in_core]]
        targets[in_core] = (table["matrix"][front] + place_of[rows[in_core]]
                            + place(front, new_column[columns[in_core]]) * table["height"][front])
    starts, entries = [0], []
    for row, column in explicit:
        found = own_columns[row]
        entries += [column, *(c for c in found if c != column)]
        starts.append(len(entries))
    by_entry = np.repeat([r for r, _ in explicit], np.diff(starts)).astype(int) * n + np.array(entries, int)
    order = np.argsort(by_entry)
    if not singular:
        targets[~in_core] = size + order[np.searchsorted(by_entry[order], rows[~in_core] * n + columns[~in_core])]
    record = Fronts(
        table, core_rows[np.array([i for f in tree for i in f.rows], int)], core_columns[front_columns],
        place(above, further), *(np.array(a, np.int64) for a in ([r for r, _ in explicit], starts, entries)),
        size + np.arange(len(entries)), size + len(entries), int(singular))
    return record, targets


def _places(columns, table, n):
    """Function of fronts and columns: places of the columns in the fronts; 0 in front -1, which is none."""
    front = np.repeat(np.arange(len(table)), table["width"])
    keys = front * n + columns
    order = np.argsort(keys)
    keys, within = keys[order], (np.arange(len(keys)) - table["columns"][front])[order]

    def place(fronts, columns):
        found = np.minimum(np.searchsorted(keys, fronts * n + columns), len(keys) - 1)
        return np.where(fronts >= 0, within[found], 0) if len(keys) else np.zeros(len(fronts), int)

    return place


def _explicit(rows, columns, n):
    """Rows and columns of explicit unknowns, those that depend on the core alone first, and sorted columns of each of
    these rows."""
    order = np.lexsort((columns, rows))
    ends = np.cumsum(np.bincount(rows, minlength=n)).tolist()
    by_row = columns[order].tolist()
    # how many rows have a column, and the sum of their numbers: the number itself where it is one
    count = np.bincount(columns, minlength=n).tolist()
    total = np.bincount(columns, weights=rows, minlength=n).astype(int).tolist()
    explicit, found, waiting = [], {}, [c for c in range(n) if count[c] == 1]
    while waiting:
        column = waiting.pop()
        if count[column] != 1:
            continue
        row = total[column]
        explicit.append((row, column))
        found[row] = by_row[ends[row - 1] if row else 0:ends[row]]
        for c in found[row]:
            count[c] -= 1
            total[c] -= row
            if count[c] == 1:
                waiting.append(c)
    return explicit[::-1], found
