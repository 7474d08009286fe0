"""Blocks of the inverse of a symmetric block-tridiagonal matrix, by a sweep forwards and one backwards, over ranks.

`S_e = K_ee - B_e C_(e-1) B_e^T`, `C_e` the corner of `S_e^-1` that the next block is coupled to,
`Z_ee = S_e^-1 + S_e^-1 E X_e E^T S_e^-1`, `X_e = B_(e+1)^T Z_(e+1,e+1) B_(e+1)`.

Of a slab A of blocks, which is coupled by C to copies x' of what is before it and by E to the multipliers of
`x - x' = 0` behind it, `Z = A^-1 + W M^-1 W^T` with `W = A^-1 [C E]`, and M what eliminating all slabs leaves between
them.
"""

from itertools import pairwise

import numpy as np
import scipy

from ....errors import SolveError


class Selected:
    """Diagonal blocks of the inverse, and those that couple a block to what it sees of the one before.

    Parameters
    ----------
    blocks : ndarray of int, shape (n,)
        Of each unknown, rising from 0.
    rows, columns : ndarray of int
        Places of the entries, of one triangle.
    values : ndarray
    border : int
        Unknowns n, n + 1, ... of the block before the first one.
    last : ndarray of int
        Unknowns of the last block that what follows is coupled to.
    first : int
        Number of the first block, for messages.

    Attributes
    ----------
    members : list of ndarray
        Unknowns of each block.
    held : list of ndarray
        Places in each block of those that the next one is coupled to.
    inverses, couplings : list of ndarray
        S_e^-1 and B_e.
    log_determinant : float
        Of the magnitude of the determinant.
    """

    def __init__(self, blocks, rows, columns, values, border=0, last=(), first=0):
        every = np.concatenate([blocks, np.full(border, -1)])
        r, c = np.where(every[rows] >= every[columns], rows, columns), \
            np.where(every[rows] >= every[columns], columns, rows)
        high, low = every[r], every[c]
        self.members, place, self.held, number = numbered(every, r, c, border, last)
        self.place, size = place[:len(blocks)], np.array([len(own) for own in self.members])
        before = np.concatenate([[border], [len(own) for own in self.held[:-1]]]).astype(int)
        inside = high == low
        off = inside & (r != c)
        own = _filled(size, size, *(np.concatenate([x[inside], y[off]]) for x, y in (
            (high, high), (place[r], place[c]), (place[c], place[r]), (values, values))))  # both triangles
        self.couplings = _filled(size, before, high[~inside], place[r[~inside]], number[c[~inside]], values[~inside])
        self.log_determinant, self.inverses, corner = 0.0, [], np.zeros((border, border))
        for e, (block, coupling) in enumerate(zip(own, self.couplings, strict=True)):
            if e and len(corner):
                block -= coupling @ corner @ coupling.T
            inverse, log = _inverse(block)
            if not np.isfinite(log):
                raise SolveError(f"block {first + e} of the least squares is singular: something there has neither a "
                                 "prior nor a measurement")
            self.log_determinant += log
            self.inverses.append(inverse)
            held = self.held[e]
            corner = inverse[held[:, None], held]

    def backwards(self):
        """Diagonal blocks Z_ee of the inverse, and Z_(e-1,e) of what is held of the block before."""
        n_blocks = len(self.inverses)
        found, beside, last = [None] * n_blocks, [None] * n_blocks, None
        for e in range(n_blocks - 1, -1, -1):
            inverse, held = self.inverses[e], self.held[e]
            if last is not None:
                edge = inverse[:, held]
                inverse = inverse + edge @ last @ edge.T
            found[e] = inverse
            if e:
                own = self.held[e - 1]
                last = self.couplings[e].T @ inverse
                beside[e] = -self.inverses[e - 1][own[:, None], own] @ last
                last = last @ self.couplings[e]
        beside[0] = np.zeros((0, len(found[0])))
        return found, beside

    def solved(self, right):
        """`A^-1 b`, of b block by block, in the same form."""
        y, carried = [], None
        for e, b in enumerate(right):
            y.append(b if carried is None else b - self.couplings[e] @ carried)
            carried = self.inverses[e][self.held[e]] @ y[-1]
        following = None
        for e in range(len(right) - 1, -1, -1):
            if following is not None:
                y[e] = y[e].copy()
                y[e][self.held[e]] -= following
            y[e] = self.inverses[e] @ y[e]
            following = self.couplings[e].T @ y[e] if e else None
        return y


def numbered(blocks, rows, columns, border=0, last=()):
    """Members of each block, places of the unknowns in their blocks, of those that are held, and numbers among these.

    The last `border` unknowns are those of the block -1, all of which are held; `last` are held in the last block.
    """
    n, held = len(blocks) - border, np.zeros(len(blocks), bool)
    order, starts = np.argsort(blocks[:n], kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(blocks[:n]))])
    place, number = np.empty(len(blocks), int), np.full(len(blocks), -1)
    place[order] = np.arange(n) - starts[blocks[order]]
    before = np.where(blocks[rows] > blocks[columns], columns, rows)[blocks[rows] != blocks[columns]]
    held[before] = held[np.asarray(last, int)] = True
    members = [order[a:b] for a, b in pairwise(starts)]
    places = [np.flatnonzero(held[own]) for own in members]
    for own, some in zip(members, places, strict=True):
        number[own[some]] = np.arange(len(some))
    number[n:] = np.arange(border)
    return members, place, places, number


def shared(comm, own, border):
    """Diagonal blocks and those beside them of the whole matrix, and the logarithm of its determinant, on all ranks.

    Parameters
    ----------
    comm : mpi4py communicator
    own : Selected
        Of the slab of this rank.
    border : int
        Of this rank.
    """
    widths = comm.allgather(border)
    starts = 2 * np.cumsum([0, *widths])
    copies = [np.arange(a, a + w) for a, w in zip(starts, widths, strict=False)]

    def unknowns(rank):
        following = copies[rank + 1] + widths[rank + 1] if rank + 1 < comm.size else np.zeros(0, int)
        return np.concatenate([copies[rank], following])

    n_last = len(unknowns(comm.rank)) - border
    ends = [np.zeros((len(m), border + n_last)) for m in own.members]
    ends[0][:, :border] = own.couplings[0]
    ends[-1][own.held[-1][:n_last], border + np.arange(n_last)] = 1.0
    reached = own.solved(ends)
    inner = -(ends[0].T @ reached[0]) - (ends[-1].T @ reached[-1] if len(ends) > 1 else 0.0)
    between = np.zeros((starts[-1],) * 2)
    logs = own.log_determinant
    for rank, (matrix, log) in enumerate(comm.allgather((inner, own.log_determinant))):
        between[np.ix_(unknowns(rank), unknowns(rank))] += matrix
        logs += log if rank != comm.rank else 0.0
    for x in copies:
        between[x, x + len(x)] -= 1.0
        between[x + len(x), x] -= 1.0
    inverse = np.linalg.inv(between) if len(between) else between
    logs += float(np.linalg.slogdet(between)[1]) if len(between) else 0.0
    here = inverse[np.ix_(unknowns(comm.rank), unknowns(comm.rank))]
    blocks, beside = own.backwards()
    weighted = [w @ here for w in reached]
    blocks = [z + y @ w.T for z, w, y in zip(blocks, reached, weighted, strict=True)]
    for e in range(1, len(blocks)):
        beside[e] = beside[e] + weighted[e - 1][own.held[e - 1]] @ reached[e].T
    beside[0] = -weighted[0][:, :border].T
    told = comm.allgather((blocks, beside))
    return [z for own, _ in told for z in own], [z for _, own in told for z in own], logs


def _filled(rows, columns, blocks, i, j, values):
    """Matrices of given shapes with entries added at their places."""
    starts = np.concatenate([[0], np.cumsum(rows * columns)])
    flat = np.bincount(starts[blocks] + i * columns[blocks] + j, values, starts[-1])
    return [flat[a:b].reshape(m, n) for (a, b), m, n in zip(pairwise(starts), rows, columns, strict=True)]


def _inverse(block):
    """The inverse of a symmetric matrix, and the logarithm of the magnitude of its determinant."""
    factors, pivots, failed = scipy.linalg.lapack.dgetrf(block)
    if failed:
        return block, np.nan
    log = float(np.log(np.abs(factors.diagonal())).sum())
    inverse, _ = scipy.linalg.lapack.dgetri(factors, pivots, lwork=64 * max(len(block), 1), overwrite_lu=1)
    return (inverse + inverse.T) / 2, log
