"""Multifrontal LU with row pivoting, on LAPACK.

A front holds all rows that touch its columns, of its own and of what is left of its children; so any of them can be a
pivot, and the size of every front is known beforehand (row merging: George & Ng, SIAM J. Sci. Stat. Comput. 8, 1987;
fronts: Duff & Reid, ACM TOMS 9, 1983).
"""

import numpy as np

from ....errors import InputError, SingularMatrix, SolveError
from ....late import Late

scipy = Late("scipy")

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
