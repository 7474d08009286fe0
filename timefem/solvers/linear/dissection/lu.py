"""Multifrontal LU with row pivoting, on LAPACK.

A front holds all rows that touch its columns, of its own and of what is left of its children; so any of them can be a
pivot, and the size of every front is known beforehand (row merging: George & Ng, SIAM J. Sci. Stat. Comput. 8, 1987;
fronts: Duff & Reid, ACM TOMS 9, 1983).
"""

import numpy as np

from ....errors import SingularMatrix, SolveError
from ....late import Late

scipy = Late("scipy")

SINGLE_ABOVE = 4e8  # numbers: larger factors are rounded to single precision, 3.2 GB become 1.6; solves are refined
ROUNDING = np.finfo(float).eps  # times columns of a front: of a pivot, relative to the largest entry of its column


class DissectionLU:
    """LU factors of a sparse matrix in time order, for one pattern and many matrices.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`.
    fronts : list of Front
        From `dissect`.
    """

    def __init__(self, pattern, fronts):
        self._pattern, self._fronts = pattern, fronts
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
            self._take.append(entries)
            self._places.append(row + f.n_rows * place[pattern.indices[entries]])
            self._maps.append([place[fronts[c].further] for c in f.children])
        self._factors = None
        self._kept_as = np.float32 if self.fill > SINGLE_ABOVE else np.float64

    @property
    def fill(self):
        """Numbers stored for the factors."""
        return sum(f.size for f in self._fronts)

    def factor(self, data, finite=False):
        """Factor the matrix with the CSR values `data`, known to be `finite` or not.

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
        data = data * np.repeat(self._scale, np.diff(self._pattern.indptr))
        self._factors, left, sizes = [], {}, np.zeros(len(self._scale))
        np.maximum.at(sizes, self._pattern.indices, np.abs(data))
        for i, f in enumerate(self._fronts):
            m, k, w = f.n_rows, len(f.columns), len(f.columns) + len(f.further)
            flat = np.zeros(m * w)
            flat[self._places[i]] = data[self._take[i]]
            front, at = flat.reshape(w, m).T, len(f.rows)
            for c, columns in zip(f.children, self._maps[i], strict=True):
                rest = left.pop(c)
                front[at:at + len(rest), columns] = rest
                at += len(rest)
            own = front[:, :k].copy(order="F")
            own, pivots, _ = scipy.linalg.lapack.dgetrf(own, overwrite_a=True)
            small = np.abs(np.diagonal(own)) <= ROUNDING * max(w, 16) * sizes[f.columns]
            if small.any():
                self._factors = None
                raise SingularMatrix(self._message(f.columns[np.flatnonzero(small)[0]]))
            order = _permutation(pivots, m)
            beside = front[order, k:] if w > k else np.zeros((m, 0))
            upper = scipy.linalg.blas.dtrsm(1.0, own[:k], beside[:k], lower=1, diag=1) if w > k else beside[:k]
            if m > k:
                left[i] = beside[k:] - own[k:] @ upper
            self._factors.append((own.astype(self._kept_as, "F", copy=False), order,
                                  upper.astype(self._kept_as, "F", copy=False)))

    def solve(self, b):
        """Solve A x = b, shape (n,)."""
        b, x, kept, left = b * self._scale, np.empty(len(b)), [], {}
        for i, (f, (own, order, _)) in enumerate(zip(self._fronts, self._factors, strict=True)):
            k = len(f.columns)
            v = np.concatenate([b[f.rows], *(left.pop(c) for c in f.children)])[order]
            top = scipy.linalg.blas.dtrsv(own[:k], v[:k], lower=1, diag=1)
            if f.n_rows > k:
                left[i] = v[k:] - own[k:] @ top
            kept.append(top)
        for f, (own, _, upper), top in zip(self._fronts[::-1], self._factors[::-1], kept[::-1], strict=True):
            x[f.columns] = scipy.linalg.blas.dtrsv(own[:len(f.columns)], top - upper @ x[f.further])
        return x

    def solve_transposed(self, b):
        """Solve A^T x = b, shape (n,), on the same factors."""
        b, x, kept, given = b.astype(float), np.empty(len(b)), [], {}
        for f, (own, _, upper) in zip(self._fronts, self._factors, strict=True):
            top = scipy.linalg.blas.dtrsv(own[:len(f.columns)], b[f.columns], trans=1)
            b[f.further] -= top @ upper
            kept.append(top)
        for i in range(len(self._fronts) - 1, -1, -1):
            f, (own, order, _), k = self._fronts[i], self._factors[i], len(self._fronts[i].columns)
            below = given.pop(i, np.zeros(0))
            v = np.empty(f.n_rows)
            top = scipy.linalg.blas.dtrsv(own[:k], kept[i] - below @ own[k:], lower=1, trans=1, diag=1)
            v[order] = np.concatenate([top, below])
            x[f.rows], at = v[:len(f.rows)], len(f.rows)
            for c in f.children:
                n = self._fronts[c].n_rows - len(self._fronts[c].columns)
                given[c], at = v[at:at + n], at + n
        return x * self._scale

    def _message(self, column):
        block = np.searchsorted(self._pattern.column_starts, column, side="right") - 1
        n = len(self._pattern.column_starts) - 1
        return (f"singular matrix (to working precision) in block {block} of {n}, which is the number of the time "
                f"element: no pivot for column {column}; constraints that repeat each other, unknowns without an "
                "equation, missing conditions at an end, or unknowns far from a solution make it so")


def _permutation(pivots, m):
    """Order of m rows after LAPACK's interchanges."""
    order = np.arange(m)
    for i, j in enumerate(pivots.tolist()):
        if i != j:
            order[i], order[j] = order[j], order[i]
    return order
