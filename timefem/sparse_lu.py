"""LU factors of sparse matrices by SuperLU, safe for singular ones."""

from .late import Late

scipy = Late("scipy")


def sparse_lu(matrix, permc_spec=None, **options):
    """`scipy.sparse.linalg.splu` of a square matrix in CSC.

    Raises
    ------
    RuntimeError
        For a singular matrix, also by where its entries stand: of some of these SuperLU writes beside its memory
        and ends the process.
    """
    if scipy.sparse.csgraph.structural_rank(matrix) < matrix.shape[0]:
        raise RuntimeError("Factor is singular by structure")
    return scipy.sparse.linalg.splu(matrix, permc_spec, **options)
