"""Norms of large sparse matrices without copies: a copy of the numbers costs as much as the assembly."""

import numpy as np

from ...kernels.loops import compiled


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
