"""Elimination of the inside of elements, against the time-chain LU and dense solves."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from timefem.cases import find_case
from timefem.errors import SingularMatrix, SolveError
from timefem.solvers.linear.time_chain import condensed_lu as condensation
from timefem.solvers.linear.time_chain.condensed_lu import CondensedLU, Limits
from timefem.solvers.linear.time_chain.lu import ChainLU


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(condensation, "LIMITS", Limits(pays_from=0))


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def elements(n, n_inside, n_node, rng, like=None, density=1.0):
    """Chain of elements with rows of their own: [node before | inside | node], and n_node rows at the start.

    Numbers of all elements are near those of `like` elements, one after the other.
    """
    size = n_inside + n_node
    own = rng.uniform(-1, 1, (like or n, size, n_node + size)) * (rng.random((size, n_node + size)) < density)
    starts = np.append(0, n_node + size * np.arange(n + 1))
    matrix = sp.lil_matrix((starts[-1], starts[-1]))
    matrix[:n_node, :n_node] = np.eye(n_node)
    for e in range(n):
        block = own[e % len(own)] * rng.uniform(0.9, 1.1, (size, n_node + size))
        matrix[starts[e + 1]:starts[e + 2], starts[e + 1] - n_node:starts[e + 2]] = block
    matrix = matrix.tocsr()
    return SimpleNamespace(indptr=matrix.indptr, indices=matrix.indices, column_starts=starts,
                           row_starts=starts), matrix


def backward_error(matrix, x, b):
    return np.abs(b - matrix @ x).max() / (abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max())


def check(pattern, matrix, b, bound):
    lu = CondensedLU(pattern)
    lu.factor(matrix.data)
    for solve, a in ((lu.solve, matrix), (lu.solve_transposed, matrix.T.tocsr())):
        x = solve(b)
        assert backward_error(a, x, b) < bound
        x = x + solve(b - a @ x)
        assert backward_error(a, x, b) < 1e-15
    return lu


def tangent(problem, element, n):
    """Pattern and matrix of the tangent at the end of a global solve."""
    kept = {}

    class Kept(tf.TimeChain):
        def make(self, pattern):
            kept["pattern"], kept["solver"] = pattern, super().make(pattern)
            return kept["solver"]

    sol = tf.solve(problem, element, n, driver="global", linear=Kept(), progress=False)
    assert sol.success
    pattern, data = kept["pattern"], kept["solver"]._matrix.data
    return pattern, sp.csr_matrix((data.copy(), pattern.indices, pattern.indptr)), sol


@pytest.mark.parametrize("case, h, k, together", [
    ("heavy-top", 0.002, 2, 1), ("spinning-box", 0.02, 3, 1), ("spinning-box", 0.02, 2, 2), ("heavy-top", 0.0005, 1, 3),
    ("spinning-box", 0.005, 1, 4)])
def test_tangents(case, h, k, together, rng):
    n = 16 * together + 9
    pattern, matrix, _ = tangent(find_case(case).make(t_end=n * h), tf.MixedGalerkin(k), n)
    b = rng.standard_normal(matrix.shape[0])
    lu = check(pattern, matrix, b, 1e-13)
    assert lu._lu is lu._inside
    assert len(lu._inside._chain.inside) == -(-(n + 1) // together)
    chain = ChainLU(pattern.indptr, pattern.indices, pattern.column_starts, pattern.row_starts)
    chain.factor(matrix.data)
    assert together == 3 or lu.fill < chain.fill  # few elements that need lists of their own fill up eight
    x, y = (one.solve(b) + one.solve(b - matrix @ one.solve(b)) for one in (lu, chain))
    assert np.abs(x - y).max() < 1e-11 * np.abs(y).max()


def test_solutions_are_the_same(monkeypatch):
    problem = find_case("heavy-top").make(t_end=0.1)
    solutions = []
    for pays_from in (0, 10**9):
        monkeypatch.setattr(condensation, "LIMITS", Limits(pays_from=pays_from))
        solutions.append(tf.solve(problem, tf.MixedGalerkin(2), 50, driver="global", progress=False))
    first, second = (sol.nodal.state for sol in solutions)
    assert not np.array_equal(first, second)  # by two ways
    assert np.abs(first - second).max() < 1e-12 * np.abs(second).max()


@pytest.mark.parametrize("like", [1, 3, 7])
@pytest.mark.parametrize("n", [16, 37])
def test_elements_that_need_other_orders(n, like, rng):
    pattern, matrix = elements(n, 9, 4, rng, like=like, density=0.6)
    lu = check(pattern, matrix, rng.standard_normal(matrix.shape[0]), 1e-12)
    assert lu._lu is lu._inside


def test_no_order_in_common(rng):
    """Elements of random numbers: a list for each at worst, then the time chain takes all."""
    pattern, matrix = elements(60, 12, 4, rng)
    check(pattern, matrix, rng.standard_normal(matrix.shape[0]), 1e-12)


def test_factors_again(rng):
    """Lists are kept, those that take most elements come first, and factors are those of the last numbers."""
    pattern, matrix = elements(40, 8, 3, rng, like=1)
    lu, b = CondensedLU(pattern), rng.standard_normal(matrix.shape[0])
    lu.factor(matrix.data)
    for like in (5, 2, 5):
        other = elements(40, 8, 3, rng, like=like)[1]
        lu.factor(other.data)
        np.testing.assert_allclose(other @ (x := lu.solve(b)), b, rtol=0, atol=1e-8 * np.abs(x).max())
    with pytest.raises(SolveError, match="not finite"):
        lu.factor(np.full_like(matrix.data, np.nan))
    with pytest.raises(SolveError, match="no factors"):
        lu.solve(b)
    lu.factor(matrix.data)
    several = np.stack([b, 2 * b], axis=1)
    np.testing.assert_array_equal(lu.solve(several), np.stack([lu.solve(b), lu.solve(2 * b)], axis=1))


@pytest.mark.parametrize("size", [1.0, 1e-8, 1e8])
def test_singular_inside(size, rng):
    """Two equal columns inside one element: the block is named as by the time chain."""
    pattern, matrix = elements(30, 6, 3, rng, like=2)
    matrix = (matrix * size).tolil()
    matrix[:, 3 + 9 * 20 + 1] = matrix[:, 3 + 9 * 20 + 2]
    matrix = matrix.tocsr()
    with pytest.raises(SingularMatrix, match="block 21 of 31"):
        CondensedLU(pattern).factor(matrix.data)


def test_what_stays_with_the_time_chain(rng):
    """Elements that share rows, short chains, and too little inside."""
    pattern, matrix, _ = tangent(find_case("spinning-box").make(t_end=0.4), tf.BubnovGalerkin(2), 20)
    assert condensation.condensation(pattern) is None
    check(pattern, matrix, rng.standard_normal(matrix.shape[0]), 1e-13)
    for n, n_inside, n_node in ((12, 6, 3), (20, 2, 40)):
        pattern, _ = elements(n, n_inside, n_node, rng)
        assert condensation.condensation(pattern) is None
