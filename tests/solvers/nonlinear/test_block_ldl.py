"""Block elimination with the inertia: against dense eigenvalues and solutions."""

import numpy as np
import pytest

from timefem.solvers.nonlinear.block_ldl import BlockLDL


def chain(rng, n_blocks=6, n_states=3, n_controls=2, curvature=1.0):
    """A saddle point matrix of a chain x_(e+1) = A x_e + B u_e with blocks (multiplier, control, state)."""
    n, m = n_states, n_controls
    size = 2 * n + m
    matrix, blocks = np.zeros((n_blocks * size,) * 2), np.repeat(np.arange(n_blocks), size)
    for e in range(n_blocks):
        y, w = e * size + np.arange(n), e * size + np.arange(n, size)
        h = rng.standard_normal((m + n, m + n))
        matrix[np.ix_(w, w)] = h + h.T + curvature * np.eye(m + n)
        matrix[np.ix_(y, w)] = np.hstack([rng.standard_normal((n, m)), -np.eye(n)])
        matrix[np.ix_(w, y)] = matrix[np.ix_(y, w)].T
        matrix[y, y] = -1e-9
        if e:
            before = (e - 1) * size + np.arange(n + m, size)
            for rows in (y, w):
                coupling = rng.standard_normal((len(rows), n))
                matrix[np.ix_(rows, before)] = coupling
                matrix[np.ix_(before, rows)] = coupling.T
    order = rng.permutation(len(matrix))
    return matrix[np.ix_(order, order)], blocks[order]


@pytest.mark.parametrize("curvature", [-1.0, 0.0, 2.0, 10.0, 1e8])
def test_solution_and_inertia(curvature):
    rng = np.random.default_rng(0)
    for _ in range(20):
        matrix, blocks = chain(rng, curvature=curvature)
        rows, columns = np.nonzero(np.tril(matrix))
        ldl = BlockLDL(blocks, rows, columns)
        assert ldl.factor(matrix[rows, columns])
        size = np.sqrt(np.abs(matrix).max(axis=1))  # scaled, which keeps the signs: dense eigenvalues are not so exact
        assert ldl.negative == np.sum(np.linalg.eigvalsh(matrix / np.outer(size, size)) < 0)
        x = rng.standard_normal(len(matrix))
        b = matrix @ x
        found = ldl.solve(b)
        found += ldl.solve(b - matrix @ found)
        residual = np.abs(b - matrix @ found).max()
        assert residual <= 1e-14 * (np.abs(matrix).sum(axis=1).max() * np.abs(found).max() + np.abs(b).max())


def test_entries_that_come_twice_are_added():
    ldl = BlockLDL(np.zeros(2, int), np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1]))
    assert ldl.factor(np.array([1.0, 1.0, 1.0, 2.0, 3.0])) and ldl.negative == 0
    np.testing.assert_allclose(ldl.solve(np.array([1.0, 0.0])), [5, -2], rtol=1e-14, atol=0)


def test_pivots_of_order_two_count_one_of_each_sign():
    ldl = BlockLDL(np.zeros(2, int), np.array([1]), np.array([0]))
    assert ldl.factor(np.array([3.0])) and ldl.negative == 1


def test_singular_and_not_finite_blocks():
    ldl = BlockLDL(np.array([0, 1]), np.array([0, 1]), np.array([0, 1]))
    assert not ldl.factor(np.array([1.0, 0.0])) and ldl.negative == -1
    assert not ldl.factor(np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match="blocks 0 and 2 are coupled"):
        BlockLDL(np.array([0, 1, 2]), np.array([0]), np.array([2]))
