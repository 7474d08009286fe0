"""Compiled search for an order of elimination: `tree` explains what it is for."""

import numpy as np

from ....kernels.loops import compiled

LEFT, WIDTH, AREA = range(3)  # measures of a front: width of what it leaves, its width, its area
GONE = np.iinfo(np.int64).max


@compiled(interpreted=True, _nrt=False)
def _measured(c, measure, sizes, counts, starts, touched, begins, ends, touching, in_front, seen, stamp):
    """Measure of the front that would eliminate column c; `stamp` is one that no other call had."""
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
def eliminate(measure, sizes, counts, starts, touched, begins, ends, touching, scores, in_front, seen, own_starts,
              own, piece_starts, pieces):
    """Eliminate columns in the order of what makes the smallest front; returns the number of fronts, or -1 where
    `touched` has not enough room.

    Pieces are groups of rows: at first those given, then what is left of each front, with numbers that go on.

    Parameters
    ----------
    measure : int
    sizes : (n_columns,) columns per group
    counts : (n_pieces + n_columns,) rows per piece; those of the fronts are filled in
    starts, touched : (n_pieces + n_columns + 1,), (m,)
        Columns of each piece; those of the fronts are filled in: what is further up.
    begins, ends, touching : (n_columns,), (n_columns,), (nnz,)
        Pieces of each column; changed.
    scores : (n_columns,) changed
    in_front, seen : (n_pieces + n_columns,), (n_columns,) of -1; changed
    own_starts, own : (n_columns + 1,), (n_columns,) filled in: columns eliminated in each front
    piece_starts, pieces : (n_columns + 1,), (n_pieces + n_columns,) filled in: pieces that enter each front
    """
    n_columns, n_fronts, done, stamp = sizes.shape[0], 0, 0, 0
    n_given = counts.shape[0] - n_columns
    for c in range(n_columns):
        scores[c] = _measured(c, measure, sizes, counts, starts, touched, begins, ends, touching, in_front, seen, stamp)
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
            scores[d] = _measured(d, measure, sizes, counts, starts, touched, begins, ends, touching, in_front, seen,
                                  stamp)
            stamp += 1
    return n_fronts
