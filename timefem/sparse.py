"""Sparse matrices: LU factors that are safe for singular ones, products without SciPy's import, and norms."""

import numpy as np

from .kernels.lanes import load, store
from .kernels.loops import compiled
from .memory import Late

scipy = Late("scipy")


def sparse_lu(matrix, permc_spec=None, **options):
    """`scipy.sparse.linalg.splu` of a square matrix in CSC.

    Raises
    ------
    RuntimeError
        For a singular matrix, also by where its entries stand: of some of these SuperLU writes beside its memory
        and ends the process.
    """
    if structural_rank(matrix) < matrix.shape[0]:
        raise RuntimeError("Factor is singular by structure")
    return scipy.sparse.linalg.splu(matrix, permc_spec, **options)


def structural_rank(matrix):
    """How many columns of a square matrix in CSC can have a row each in which they have an entry."""
    n = matrix.shape[0]
    return _rank(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), np.empty((7, n), np.int64))


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def _rank(indptr, indices, work):
    """The method of Pothen and Fan: paths from columns without a row to free rows, which share no columns in a round,
    and look for a free row first. SciPy's takes minutes for some matrices of 5000 rows."""
    column_of, ahead, at, seen, path, through, without = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    n, turn = column_of.shape[0], 0
    column_of[:] = -1
    seen[:] = -1
    for column in range(n):
        ahead[column], without[column] = indptr[column], column
    left, before = n, n + 1
    while 0 < left < before:
        before, left = left, 0
        for k in range(before):
            depth, path[0], at[without[k]], seen[without[k]] = 0, without[k], indptr[without[k]], turn
            while depth >= 0:
                own, end, row = path[depth], indptr[path[depth] + 1], -1
                while ahead[own] < end and row < 0:
                    if column_of[indices[ahead[own]]] < 0:
                        row = indices[ahead[own]]
                    ahead[own] += 1
                if row >= 0:
                    through[depth] = row
                    for i in range(depth + 1):
                        column_of[through[i]] = path[i]
                    break
                while at[own] < end and row < 0:
                    if seen[column_of[indices[at[own]]]] != turn:
                        row = indices[at[own]]
                    at[own] += 1
                if row < 0:
                    depth -= 1
                    continue
                through[depth] = row
                depth += 1
                path[depth] = column_of[row]
                at[path[depth]], seen[path[depth]] = indptr[path[depth]], turn
            else:
                without[left] = without[k]
                left += 1
        turn += 1
    return n - left


# ---- products with a sparse matrix of compressed rows, without SciPy's, which take 0.05 s to import

class CompressedRows:
    """A sparse matrix in compressed rows (CSR).

    Parameters
    ----------
    indptr, indices : ndarray of int
    data : ndarray
        May be replaced.
    """

    def __init__(self, indptr, indices, data):
        self.indptr, self.indices, self.data = indptr, indices, data

    def __matmul__(self, x):
        out = np.empty(len(self.indptr) - 1)
        _product(self.indptr, self.indices, self.data, x, out)
        return out

    @property
    def T(self):
        return _Transposed(self)


class _Transposed:
    def __init__(self, matrix):
        self._matrix = matrix

    def __matmul__(self, x):
        a, out = self._matrix, np.zeros(len(x))
        add_transposed_product(a.indptr, a.indices, a.data, x, out)
        return out


@compiled(_nrt=False, fastmath={"contract"})
def _product(indptr, indices, data, x, out):
    for r in range(len(out)):
        total = 0.0
        for k in range(load(indptr, r), load(indptr, r + 1)):
            total += load(data, k) * load(x, load(indices, k))
        store(out, r, total)


@compiled(_nrt=False, fastmath={"contract"})
def add_transposed_product(indptr, indices, data, x, out):
    """Add `A^T x` in place."""
    for r in range(len(x)):
        value = load(x, r)
        for k in range(load(indptr, r), load(indptr, r + 1)):
            at = load(indices, k)
            store(out, at, load(out, at) + load(data, k) * value)


# ---- norms of large sparse matrices without copies: a copy of the numbers costs as much as the assembly

@compiled(fastmath={"reassoc"})  # sums in any order, for SIMD
def infinity_norm(indptr, data):
    """Largest sum of magnitudes of a row of a CSR matrix; NaN and infinity come through."""
    norm = 0.0
    for r in range(len(indptr) - 1):
        total = 0.0
        for k in range(indptr[r], indptr[r + 1]):
            total += abs(data[k])
        if not total <= norm:
            norm = total
            if np.isnan(norm):
                break
    return norm


@compiled(interpreted=True)
def product_of_magnitudes(indptr, indices, data, v):
    """`|A| |v|` of a CSR matrix."""
    product = np.zeros(len(indptr) - 1)
    for r in range(len(product)):
        for k in range(indptr[r], indptr[r + 1]):
            product[r] += abs(data[k] * v[indices[k]])
    return product


# ---- the 1-norm of a matrix that is known by its products alone

def estimated_norm(operator, **options):
    """`scipy.sparse.linalg.onenormest`, with the same random columns each time, so that studies can be repeated.

    Parameters
    ----------
    operator : LinearOperator
    **options
        As SciPy takes them.

    Returns
    -------
    float, or what `options` ask for besides
    """
    state = np.random.get_state()  # noqa: NPY002, which is what SciPy draws from
    np.random.seed(0)  # noqa: NPY002
    try:
        return scipy.sparse.linalg.onenormest(operator, **options)
    finally:
        np.random.set_state(state)  # noqa: NPY002
