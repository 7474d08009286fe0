"""Products with a sparse matrix of compressed rows, without SciPy's, which take 0.05 s to import."""

import numpy as np

from ...kernels.lanes import load, store
from ...kernels.loops import compiled


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
