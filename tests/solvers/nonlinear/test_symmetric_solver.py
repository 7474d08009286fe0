"""Symmetric factors of a chain of blocks, and the LU where pivots inside blocks do not do."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy

from timefem.errors import SingularMatrix, SolveError
from timefem.solvers.linear import linear_options
from timefem.solvers.nonlinear.saddle_point import SymmetricSolver


def chain(blocks, couplings):
    """The symmetric matrix with these diagonal blocks and these below them, its pattern, the block of each unknown."""
    n, m = len(blocks), len(blocks[0])
    whole = [[None] * n for _ in range(n)]
    for e, block in enumerate(blocks):
        whole[e][e] = block
        if e:
            whole[e][e - 1], whole[e - 1][e] = couplings[e - 1], couplings[e - 1].T
    a = scipy.sparse.block_array([[None if b is None else scipy.sparse.csr_array(b) for b in row] for row in whole])
    a = scipy.sparse.csr_matrix(a)
    a.sort_indices()
    starts = m * np.arange(n + 1)
    return a, SimpleNamespace(indptr=a.indptr, indices=a.indices, column_starts=starts, row_starts=starts), \
        np.repeat(np.arange(n), m)


def solver_of(blocks, couplings):
    a, pattern, numbers = chain(blocks, couplings)
    return a, SymmetricSolver(pattern, numbers, linear_options("chain").make(pattern))


def symmetric(rng, n):
    a = rng.normal(size=(n, n))
    return a + a.T


def test_solution_by_symmetric_factors():
    rng = np.random.default_rng(0)
    a, solver = solver_of([symmetric(rng, 5) for _ in range(12)], rng.normal(size=(11, 5, 5)))
    solver.factor(a.data)
    assert not solver._by_lu
    b = rng.normal(size=60)
    x, error = solver.solve_checked(b, refine_above=1e-12)
    assert error <= 1e-12
    assert np.allclose(x, np.linalg.solve(a.toarray(), b), rtol=0, atol=1e-9 * np.abs(x).max())
    assert np.allclose(a @ solver.solve_transposed(b), b, atol=1e-8)


@pytest.mark.parametrize("size", [0.0, 1e-14, 1e-9])
def test_pivots_of_other_blocks_come_from_the_lu(size):
    rng = np.random.default_rng(1)
    blocks = [size * symmetric(rng, 3), *(symmetric(rng, 3) for _ in range(5))]
    a, solver = solver_of(blocks, rng.normal(size=(5, 3, 3)))  # regular with a first block that is not
    solver.factor(a.data)
    b = rng.normal(size=18)
    x, error = solver.solve_checked(b, refine_above=1e-12)
    assert error <= 1e-12
    assert np.allclose(x, np.linalg.solve(a.toarray(), b), rtol=0, atol=1e-9 * np.abs(x).max())


def test_factors_that_give_no_solution_are_left(monkeypatch):
    rng = np.random.default_rng(2)
    a, solver = solver_of([symmetric(rng, 4) for _ in range(6)], rng.normal(size=(5, 4, 4)))
    solver.factor(a.data)
    monkeypatch.setattr(solver._ldl, "solve", lambda b: np.zeros_like(b))
    b = rng.normal(size=24)
    x, error = solver.solve_checked(b, refine_above=1e-12)
    assert error <= 1e-12 and np.allclose(a @ x, b)


@pytest.mark.parametrize("place", [0, 9, 17])
def test_singular_matrices_are_told(place):
    rng = np.random.default_rng(3)
    a, pattern, numbers = chain([symmetric(rng, 3) for _ in range(6)], rng.normal(size=(5, 3, 3)))
    row = np.repeat(np.arange(18), np.diff(a.indptr))
    a.data[(row == place) | (a.indices == place)] = 0  # an unknown without an equation
    solver = SymmetricSolver(pattern, numbers, linear_options("chain").make(pattern))
    with pytest.raises(SingularMatrix, match="singular matrix"):
        solver.factor(a.data)


def test_singular_up_to_rounding():
    rng = np.random.default_rng(4)
    first = rng.normal(size=(4, 3))
    blocks = [first @ np.diag([1.0, 2.0, -1.0]) @ first.T for _ in range(5)]  # each of rank 3, and not coupled
    a, solver = solver_of(blocks, np.zeros((4, 4, 4)))
    with pytest.raises(SingularMatrix):
        solver.factor(a.data)


def test_not_finite():
    rng = np.random.default_rng(5)
    a, solver = solver_of([symmetric(rng, 3) for _ in range(4)], rng.normal(size=(3, 3, 3)))
    a.data[7] = np.nan
    with pytest.raises(SolveError, match="not finite"):
        solver.factor(a.data)
