"""Matrices: factors of singular ones are refused, however they are singular; balance in any unit."""

import numpy as np
import pytest
import scipy.sparse

from timefem.sparse import balanced, sparse_lu, structural_rank


def saddle_points(rng, n=60):
    """Matrices of motions and constraints, some of which stand in too few columns, or repeat others."""
    for k in range(n):
        rows = scipy.sparse.random(12, 26, 0.15, random_state=rng).tolil()
        for _ in range(k % 4):
            rows[int(rng.integers(12))] = 0.5 * rows[int(rng.integers(12))]
        mass = scipy.sparse.random(26, 26, 0.1, random_state=rng)
        yield scipy.sparse.block_array([[mass + mass.T, rows.T], [rows, None]], format="csc")


def test_singular_by_structure():
    """Without a look at where entries stand these may end the process."""
    refused = 0
    for matrix in saddle_points(np.random.default_rng(0)):
        full = scipy.sparse.csgraph.structural_rank(matrix) == matrix.shape[0]
        try:
            factors = sparse_lu(matrix)
        except RuntimeError as error:
            refused += not full
            assert "singular" in str(error)
        else:
            assert full and np.isfinite(factors.U.diagonal()).all()
    assert refused > 10
    with pytest.raises(RuntimeError, match="by structure"):
        sparse_lu(scipy.sparse.csc_array([[1.0, 2.0], [0.0, 0.0]]))


def test_structural_ranks_are_those_of_scipy():
    rng, full = np.random.default_rng(2), 0
    for n in rng.integers(1, 12, 300):
        matrix = scipy.sparse.random(n, n, rng.uniform(0.05, 0.6), format="csc", random_state=rng)
        full += (rank := structural_rank(matrix)) == n
        assert rank == scipy.sparse.csgraph.structural_rank(matrix)
    assert 50 < full < 250


def test_structural_ranks_take_no_time():
    """SciPy's search did not end within minutes where equations stand far from what they determine, as those of phases
    do."""
    rng, n = np.random.default_rng(3), 20000
    band = scipy.sparse.diags_array([rng.normal(size=n) for _ in range(5)], offsets=range(-2, 3), shape=(n, n))
    assert structural_rank(band.tocsc()[:, rng.permutation(n)]) == n
    none = band.tocsc() @ scipy.sparse.diags_array((np.arange(n) != n // 2).astype(float))
    none.eliminate_zeros()
    assert structural_rank(none.tocsc()[:, rng.permutation(n)]) == n - 1


def test_factors_are_those_of_superlu():
    rng = np.random.default_rng(1)
    matrix = scipy.sparse.random(30, 30, 0.2, random_state=rng, format="csc") + scipy.sparse.eye_array(30)
    b = rng.normal(size=30)
    np.testing.assert_allclose(matrix @ sparse_lu(matrix.tocsc(), "NATURAL").solve(b), b, rtol=0, atol=1e-10)


@pytest.mark.filterwarnings("error")
def test_balance_of_any_size():
    """Scales beyond the integers, without a warning."""
    matrix = np.array([[0, 1.0], [1e-48, 0]])
    found, scale = balanced(matrix)
    assert np.ptp(np.log2(found[found > 0])) <= 1
    np.testing.assert_array_equal(scale[:, None] * found / scale, matrix)
