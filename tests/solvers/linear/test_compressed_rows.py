"""Products with compressed rows against those of SciPy."""

import numpy as np
import scipy

from timefem.sparse import CompressedRows


def test_products_are_those_of_scipy():
    rng = np.random.default_rng(0)
    a = scipy.sparse.random_array((40, 40), density=0.2, rng=rng, format="csr")
    own, x = CompressedRows(a.indptr, a.indices, a.data), rng.normal(size=40)
    np.testing.assert_allclose(own @ x, a @ x, rtol=0, atol=1e-14)
    np.testing.assert_allclose(own.T @ x, a.T @ x, rtol=0, atol=1e-14)
    own.data = 2 * a.data
    np.testing.assert_allclose(own @ x, 2 * (a @ x), rtol=0, atol=1e-14)
