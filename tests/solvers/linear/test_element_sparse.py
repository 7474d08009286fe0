"""The sparse march against the dense one, its failures, and its growth with the number of bodies."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.linear.element.code import DONE, FULL, SINGULAR
from timefem.solvers.linear.element.sparse import enlarged, solve_sparse, sparse_lu
from timefem.solvers.march import march

path = Path(__file__).parents[3] / "benchmarks" / "bench_chain_of_bodies.py"
spec = importlib.util.spec_from_file_location("bench_chain_of_bodies", path)
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


@pytest.fixture
def solve(monkeypatch):
    """`tf.solve` with the tangent named first."""
    def run(tangent, *arguments, **options):
        monkeypatch.setattr(march, "SPARSE_FROM", {"sparse": 0, "dense": 10**9}[tangent])
        return tf.solve(*arguments, **options)
    return run


def factors(lu):
    """The factors as SciPy matrices."""
    n = len(lu.order)
    size = lu.lower_starts[n], lu.upper_starts[n]
    lower = sp.csc_array((lu.lower[:size[0]], lu.steps[lu.lower_rows[:size[0]]], lu.lower_starts), shape=(n, n))
    upper = sp.csc_array((lu.upper[:size[1]], lu.upper_steps[:size[1]], lu.upper_starts), shape=(n, n))
    return lower, upper + sp.diags_array(lu.diagonal)


def random_matrix(n, rng):
    """Pattern and values of a sparse matrix with zeros on its diagonal, so that rows must be interchanged."""
    matrix = sp.random_array((n, n), density=min(1, 4 / n), rng=rng) + sp.diags_array(np.ones(n - 1), offsets=1) \
        + sp.csc_array(([1.0], ([n - 1], [0])), shape=(n, n))
    rows, columns = matrix.nonzero()
    shuffled = rng.permutation(len(rows))
    return rows[shuffled], columns[shuffled]


@pytest.mark.parametrize("n", [1, 2, 7, 60, 300])
def test_lu_solves_matrix_after_matrix(n):
    rng = np.random.default_rng(n)
    rows, columns = random_matrix(n, rng) if n > 1 else (np.zeros(1, int), np.zeros(1, int))
    lu, places = sparse_lu(rows, columns, n)
    weights, values = 10.0 ** rng.uniform(-2, 2, n), rng.standard_normal(len(rows))
    kept = 0
    for change in (0.0, 1e-6, 0.3, 1.0, 1e-6):  # pivots are kept, kept in part, and found anew
        values = (1 - change) * values + change * rng.standard_normal(len(rows))
        data, b, x, before = np.zeros(len(rows)), rng.standard_normal(n), np.zeros(n), lu.pivots.copy()
        data[places] = values
        code = solve_sparse(lu, data, b.copy(), weights, x)
        if code == FULL:
            lu = enlarged(lu, 2 * n * n)
            code = solve_sparse(lu, data, b.copy(), weights, x)
        matrix = sp.csc_array((values, (rows, columns)), shape=(n, n))
        assert code == DONE
        lower, upper = factors(lu)
        size = np.abs(matrix.toarray()).max()
        np.testing.assert_allclose((lower @ upper).toarray(), matrix.toarray()[lu.pivots][:, lu.order], rtol=0,
                                   atol=1e-9 * size)
        backward = np.abs(matrix @ x - b) / (abs(matrix) @ np.abs(x) + np.abs(b))
        assert backward.max() < 1e-9
        kept += np.array_equal(before, lu.pivots)
    assert kept >= 2


def test_lu_says_why_it_fails():
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    lu, places = sparse_lu(rows, columns, 2)
    for values, code in (([1, 2, 2, 4], SINGULAR), ([1, np.nan, 2, 4], SINGULAR), ([1, 2, 2, 5], DONE)):
        data, x = np.zeros(4), np.zeros(2)
        data[places] = values
        assert solve_sparse(lu, data, np.array([3.0, 7.0]), np.ones(2), x) == code
    np.testing.assert_allclose(x, [1, 1], rtol=0, atol=1e-14)
    assert solve_sparse(enlarged(lu, 3), data, np.ones(2), np.ones(2), x) == FULL


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("degree", [1, 2])
def test_sparse_and_dense_agree(solve, rotation, degree):
    p, element = bench.chain(6, rotation, t_end=0.5, tilt=1.0), tf.MixedGalerkin(degree)
    dense, sparse = (solve(tangent, p, element, 60) for tangent in ("dense", "sparse"))
    assert dense.success and sparse.success
    assert np.abs(dense.z[-1] - dense.z[0]).max() > 0.3  # it does move
    np.testing.assert_allclose(sparse.z, dense.z, rtol=0, atol=1e-10)
    size = np.abs(dense.nodal_multipliers).max()
    np.testing.assert_allclose(sparse.nodal_multipliers, dense.nodal_multipliers, rtol=0, atol=1e-9 * size)
    assert sparse.statistics["newton_iterations"] == dense.statistics["newton_iterations"]


@pytest.mark.parametrize("problem", [spinning_box, pendulum])
def test_one_body_and_the_line_search(solve, problem):
    p = problem(t_end=1)
    dense = solve("dense", p, tf.MixedGalerkin(1), 40)
    for search in (False, True):
        sparse = solve("sparse", p, tf.MixedGalerkin(1), 40, newton=tf.Newton(line_search=search))
        np.testing.assert_allclose(sparse.z, dense.z, rtol=0, atol=1e-9 * np.abs(dense.z).max())


def test_systems_of_many_bodies_are_sparse_by_themselves(monkeypatch):
    used = []
    make = march._matrix
    monkeypatch.setattr(march, "_matrix", lambda *a: used.append(make(*a)[0]) or make(*a))
    for n in (2, 10):
        assert tf.solve(bench.chain(n, t_end=0.02), tf.MixedGalerkin(1), 2).success
    assert used[0] is None and len(used[1].order) == 220


def test_factors_that_outgrow_their_room(solve, monkeypatch):
    p, element = bench.chain(4, t_end=0.3), tf.MixedGalerkin(1)
    expected = solve("sparse", p, element, 30)
    make = march._matrix

    def cramped(plan, n):
        lu, *rest = make(plan, n)
        return enlarged(lu, n + 10), *rest

    monkeypatch.setattr(march, "_matrix", cramped)
    np.testing.assert_array_equal(solve("sparse", p, element, 30).z, expected.z)


def test_failures_are_the_same(solve):
    p = spinning_box(t_end=40)
    mesh = np.concatenate([np.linspace(0, 1, 41), [3, 40]])  # the last elements are far too long
    dense, sparse = (solve(tangent, p, tf.MixedGalerkin(1), mesh=mesh, newton=tf.Newton(max_iterations=6))
                     for tangent in ("dense", "sparse"))
    assert not sparse.success and len(sparse.status.residual_history) > 2
    for name in ("reason", "element", "time"):
        assert getattr(sparse.status, name) == getattr(dense.status, name)
    np.testing.assert_allclose(sparse.status.residual_history[:3], dense.status.residual_history[:3], rtol=1e-6)
    np.testing.assert_allclose(sparse.z, dense.z, rtol=0, atol=1e-9)


def test_singular_tangent(solve, monkeypatch):
    make = march.step_plan

    def spoilt(plan, targets):
        step = make(plan, targets)
        step.plan.pair_tables[:] = 0
        return step

    monkeypatch.setattr(march, "step_plan", spoilt)
    solution = solve("sparse", bench.chain(3), tf.MixedGalerkin(1), 10)
    assert solution.status.reason == "singular tangent" and solution.status.element == 0


@pytest.mark.parametrize("degree", [1, 2])
def test_pattern_and_fill_grow_like_the_chain(solve, monkeypatch, degree):
    used = []
    make = march._matrix

    def kept(plan, n):
        used.append(make(plan, n))
        return used[-1]

    monkeypatch.setattr(march, "_matrix", kept)
    pattern, fill = [], []
    for n in (20, 40, 80):
        assert solve("sparse", bench.chain(n, t_end=0.02), tf.MixedGalerkin(degree), 2).success
        lu = used[-1][0]
        pattern.append(len(lu.rows) / n)
        fill.append((lu.lower_starts[-1] + lu.upper_starts[-1]) / n)
    assert np.ptp(pattern) < 0.05 * pattern[0]
    assert max(fill) < 1.3 * fill[0] and max(fill) < 3 * max(pattern)


def test_tangent_entries_of_a_plan_are_without_repetition():
    plan = ElementPlan(bench.chain(5).system, tf.MixedGalerkin(2))
    places = plan.tangent_rows * plan.columns.n_local + plan.tangent_columns
    assert len(np.unique(places)) == len(places) == plan.arrays.n_tangent
