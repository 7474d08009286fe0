"""Compiled search for an order of elimination: `tree` explains what it is for."""

import numpy as np

from ....kernels.loops import compiled
from ....kernels.record import Record

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
