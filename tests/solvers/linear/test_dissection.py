"""Nested dissection of space and time against SuperLU and the time chain, its growth, and the choice between them."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from tests.solvers.linear.test_time_chain import galerkin
from timefem.cases import find_case
from timefem.errors import InputError, SingularMatrix
from timefem.solvers.linear import dissection as lu
from timefem.solvers.linear.dissection import DissectionLU, dissect, work_of_piece
from timefem.solvers.linear.time_chain import solver as time_chain
from timefem.solvers.linear.time_chain.solver import EmbeddedSolver


def grid(n_space, n_time, size, rng):
    """A matrix on a grid: rows touch both neighbours in space, and in time."""
    line = [sp.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=(-1, 0, 1)) for n in (n_time, n_space)]
    pattern = sp.kron(line[0], sp.eye_array(n_space)) + sp.kron(sp.eye_array(n_time), line[1])
    matrix = sp.csr_array(sp.kron(pattern, np.ones((size, size))))
    matrix.data = rng.uniform(-1, 1, matrix.nnz)
    matrix.sort_indices()
    return matrix, np.arange(n_time + 1) * n_space * size


def pattern_of(matrix, starts):
    return SimpleNamespace(indptr=matrix.indptr, indices=matrix.indices, column_starts=starts, row_starts=starts)


def solver_of(pattern, fronts):
    return EmbeddedSolver(pattern, DissectionLU(pattern, fronts), "space and time")


@pytest.mark.parametrize("shape", [(1, 3, 2), (4, 9, 3), (12, 20, 3), (30, 8, 4), (3, 60, 5)])
def test_solves_and_transposed_solves(shape):
    rng = np.random.default_rng(sum(shape))
    matrix, starts = grid(*shape, rng)
    pattern = pattern_of(matrix, starts)
    fronts = dissect(pattern)
    solver = solver_of(pattern, fronts)
    assert sorted(np.concatenate([f.columns for f in fronts])) == list(range(matrix.shape[0]))
    for _ in range(2):  # a second matrix of the same pattern
        data = rng.uniform(-1, 1, matrix.nnz)
        solver.factor(data)
        b = rng.uniform(-1, 1, matrix.shape[0])
        for transposed in (False, True):
            _, error = solver.solve_checked(b, transposed)
            assert error < 1e-14
    assert solver.factor_size >= matrix.nnz / 2


@pytest.mark.long
@pytest.mark.parametrize("share", [0.9, 0.5, 0.3])
def test_factors_that_do_not_fit_are_made_twice(share):
    """The same answers; what is kept at any moment stays below the bound."""
    rng = np.random.default_rng(7)
    matrix, starts = grid(6, 120, 4, rng)
    pattern = pattern_of(matrix, starts)
    fronts = dissect(pattern)
    whole = DissectionLU(pattern, fronts)
    bounded = DissectionLU(pattern, fronts, share * whole.fill)
    assert bounded.kept <= share * whole.fill and bounded._pieces
    b, most, eliminate = rng.uniform(-1, 1, matrix.shape[0]), [], bounded._eliminate

    def watched(i, left):
        eliminate(i, left)
        most.append(sum(own.size + upper.size for own, _, upper in filter(None, bounded._factors))
                    + sum(rest.size for rest in left.values()))

    bounded._eliminate = watched
    for _ in range(2):
        data = rng.uniform(-1, 1, matrix.nnz)
        whole.factor(data)
        bounded.factor(data)
        for _ in range(2):  # the fronts above the pieces are kept between solves
            np.testing.assert_array_equal(bounded.solve(b), whole.solve(b))
            np.testing.assert_array_equal(bounded.solve_transposed(b), whole.solve_transposed(b))
    assert 0.3 * bounded.kept < max(most) <= bounded.kept
    bounded.factor(np.zeros(matrix.nnz))
    with pytest.raises(SingularMatrix):
        bounded.solve(b)


def test_too_little_memory_says_how_much_would_do():
    matrix, starts = grid(6, 40, 4, np.random.default_rng(7))
    pattern = pattern_of(matrix, starts)
    with pytest.raises(InputError, match=r"need at least .* GB of memory"):
        DissectionLU(pattern, dissect(pattern), 100)


@pytest.mark.parametrize(("memory", "n_bytes"), [("4 GB", 4e9), ("500MB", 5e8), (1e6, 1e6), ("2 kB", 2000), ("7 B", 7)])
def test_memory_is_read(memory, n_bytes):
    assert time_chain.bytes_of(memory) == n_bytes


@pytest.mark.parametrize(("options", "message"), [
    ({"memory": "much"}, "like '4 GB'"), ({"memory": -1}, "memory"),
    ({"memory": "4 GB", "order": "time"}, "dissection")])
def test_memory_that_is_none_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        tf.TimeChain(**options)


def test_solve_in_bounded_memory():
    """A long mesh, of which the factors do not fit: the same motion."""
    problem = find_case("reorientation").make()
    reference = tf.solve(problem, tf.MixedGalerkin(1), 200)
    sol = tf.solve(problem, tf.MixedGalerkin(1), 200, driver=tf.Global(tf.TimeChain(memory="400 kB")))
    assert sol.success and sol.statistics["ordering"] == "space and time"
    np.testing.assert_allclose(sol.z, reference.z, rtol=0, atol=1e-10 * np.abs(reference.z).max())


def test_large_factors_are_rounded_and_solves_refined(monkeypatch):
    rng = np.random.default_rng(4)
    matrix, starts = grid(12, 20, 3, rng)
    pattern = pattern_of(matrix, starts)
    monkeypatch.setattr(lu, "SINGLE_ABOVE", 0)
    solver = solver_of(pattern, dissect(pattern))
    solver.factor(matrix.data)
    b = rng.uniform(-1, 1, matrix.shape[0])
    for transposed in (False, True):
        assert 1e-13 < solver.backward_error((solver.solve_transposed if transposed else solver.solve)(b), b,
                                             transposed)[0] < 1e-5
        assert solver.solve_checked(b, transposed)[1] < 1e-11


def test_tangents_without_a_diagonal():
    """Elements whose interior unknowns have no equations of their own: pivots stand elsewhere."""
    matrix, column_starts, row_starts = galerkin(9, 3, 4, np.random.default_rng(1))
    dense = matrix.toarray()
    for r, c in zip(row_starts[1:-1], column_starts[1:-1], strict=True):
        dense[r:r + 3, c:c + 3] = 0
    matrix = sp.csr_array(dense)
    pattern = pattern_of(matrix, column_starts)
    solver = solver_of(pattern, dissect(pattern))
    solver.factor(matrix.data)
    assert solver.solve_checked(np.ones(matrix.shape[0]))[1] < 1e-14


def test_singular_matrices():
    rng = np.random.default_rng(2)
    matrix, starts = grid(8, 12, 3, rng)
    pattern = pattern_of(matrix, starts)
    solver, dense = solver_of(pattern, dissect(pattern)), matrix.toarray()
    dense[:, 52] = dense[:, 51]
    with pytest.raises(SingularMatrix, match="singular matrix"):
        solver.factor(dense[matrix.nonzero()])
    empty = sp.csr_array(dense * (np.arange(dense.shape[0]) != 7)[:, None])
    assert dissect(pattern_of(empty, starts)) is None


def test_work_and_fill_of_a_square_grid():
    """By the theory of n x n points the work grows with n^3, the fill with n^2 log n; in time order with n^4, n^3."""
    rng, work, fill = np.random.default_rng(3), [], []
    for n in (20, 40, 80):
        fronts = dissect(pattern_of(*grid(n, n, 2, rng)))
        work.append(sum(f.work for f in fronts))
        fill.append(sum(f.size for f in fronts))
    assert 2.5 < np.log2(work[2] / work[1]) < 3.5 and 1.9 < np.log2(fill[2] / fill[1]) < 2.6


@pytest.mark.long
def test_a_piece_tells_the_work_of_a_long_pattern(monkeypatch):
    """Nothing long is ordered in vain: a piece in the middle tells when the chain takes less work."""
    rng = np.random.default_rng(5)
    for n_space in (12, 20):
        pattern = pattern_of(*grid(n_space, 400, 6, rng))
        whole = sum(f.work for f in dissect(pattern))
        assert 0.6 * whole < work_of_piece(pattern, 64) * 400 / 64 < whole
    monkeypatch.setattr(time_chain, "WIDE", 12)
    monkeypatch.setattr(time_chain, "dissect", lambda pattern: pytest.fail("ordered in vain"))
    assert tf.TimeChain().make(pattern_of(*grid(2, 400, 6, rng))).ordering == "time"


def test_the_order_is_chosen_and_told():
    wide = find_case("flying-beam").make(t_end=0.4, elements_space=20, degree_space=1)
    narrow = find_case("flying-beam").make(t_end=0.4, elements_space=2, degree_space=1)

    def run(problem, order):
        return tf.solve(problem, tf.MixedGalerkin(1), 20, driver=tf.Global(linear=tf.TimeChain(order)), progress=False)

    solutions = {order: run(wide, order) for order in ("time", "dissection")}
    assert solutions["time"].statistics["ordering"] == "time"
    assert solutions["dissection"].statistics["ordering"] == "space and time"
    np.testing.assert_allclose(solutions["dissection"].z, solutions["time"].z, rtol=0,
                               atol=1e-9 * np.abs(solutions["time"].z).max())
    assert run(narrow, "auto").statistics["ordering"] == "time"
    with pytest.raises(InputError, match="order must be one of"):
        tf.TimeChain("space")


@pytest.mark.long
def test_wide_patterns_are_dissected():
    matrix, starts = grid(60, 60, 6, np.random.default_rng(4))
    solver = tf.TimeChain().make(pattern_of(matrix, starts))
    assert solver.ordering == "space and time"
    solver.factor(matrix.data)
    assert solver.solve_checked(np.ones(matrix.shape[0]))[1] < 1e-13


@pytest.mark.parametrize("element", [tf.BubnovGalerkin(3), tf.MixedGalerkin(3)], ids=lambda e: e.name)
@pytest.mark.parametrize("driver, n_elements", [(tf.Windows(4), 5), (tf.Global(), 1)])
def test_one_wide_element(element, driver, n_elements):
    """A last window, or a mesh, of a single element: a block at the end is empty."""
    problem = find_case("four-bar").make(t_end=0.01 * n_elements)
    found = tf.solve(problem, element, n_elements, driver=driver)
    assert found.success
    wanted = tf.solve(problem, tf.MixedGalerkin(3), 4 * n_elements)
    np.testing.assert_allclose(found.z[-1], wanted.z[-1], rtol=0, atol=1e-3)
