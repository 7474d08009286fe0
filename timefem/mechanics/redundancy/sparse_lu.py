"""LU factors of sparse matrices by SuperLU, safe for singular ones."""

import numpy as np

from ...kernels.loops import compiled
from ...late import Late

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
