"""Fronts of a pattern: where everything stands that the loops of `fronts` work on."""

import pickle

import numpy as np

from ....kernels.store import digest, sources, store
from .fronts import FRONT, Fronts
from .tree import front_tree

__all__ = ["find_fronts", "fronts_of"]


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
