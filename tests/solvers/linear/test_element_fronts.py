"""Tangents of an element in fronts against one front for all, failures, growth with the number of bodies."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from timefem.elements.evaluation.plan import ElementPlan
from timefem.kernels.record import aligned
from timefem.solvers.linear.element import fronts as elimination
from timefem.solvers.linear.element import pattern
from timefem.solvers.linear.element.pattern import Front, front_tree
from timefem.solvers.march import march

path = Path(__file__).parents[3] / "benchmarks" / "bench_chain_of_bodies.py"
spec = importlib.util.spec_from_file_location("bench_chain_of_bodies", path)
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


def one_front(rows, columns, n):
    """All rows and columns in one front."""
    return [Front(list(range(n)), [], list(range(n)), [], n)] if n else []


@pytest.fixture
def solve(monkeypatch):
    """`tf.solve` with fronts ("sparse") or one front ("dense")."""
    def run(tangent, *arguments, **options):
        monkeypatch.setattr(march, "fronts_of", pattern.find_fronts)
        monkeypatch.setattr(pattern, "front_tree", {"sparse": front_tree, "dense": one_front}[tangent])
        return tf.solve(*arguments, **options)
    return run


class Element:
    """Factors of matrices of one pattern."""

    def __init__(self, rows, columns, n):
        self.fronts, self.targets = pattern.fronts_of(rows, columns, n)
        self.factors, self.n = elimination.factors_for(self.fronts), n

    def factor(self, values, weights=None):
        self.a = aligned(self.fronts.size)
        there = self.targets >= 0
        self.a[self.targets[there]] = values[there]
        return elimination.factor(self.fronts, self.a, np.ones(self.n) if weights is None else weights, self.factors)

    def solve(self, b):
        x = np.zeros(self.n)
        elimination.solve(self.fronts, self.a, self.factors, b, x)
        return x


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
    element = Element(rows, columns, n)
    weights, values = 10.0 ** rng.uniform(-2, 2, n), rng.standard_normal(len(rows))
    kept = 0
    for change in (0.0, 1e-6, 0.3, 1.0, 1e-6):  # pivots are kept, kept in part, and found anew
        values = (1 - change) * values + change * rng.standard_normal(len(rows))
        before = element.factors.pivots.copy()
        assert element.factor(values, weights)
        matrix = sp.csc_array((values, (rows, columns)), shape=(n, n))
        for _ in range(2):  # the factors serve as often as they are asked
            b = rng.standard_normal(n)
            x = element.solve(b)
            backward = np.abs(matrix @ x - b) / (abs(matrix) @ np.abs(x) + np.abs(b)).max()
            assert backward.max() < 1e-11
        kept += np.array_equal(before, element.factors.pivots)
    assert kept >= 2


def test_pivots_need_not_be_large_on_the_diagonal():
    """Multipliers without a diagonal, and unknowns that stand in their own equations with 1e-14 only."""
    rng, n, m = np.random.default_rng(3), 40, 20
    stiffness = np.diag(np.where(np.arange(n) % 2, 1.0, 1e-14)) + np.diag(np.ones(n - 2), 2) * 0.1
    constraints = np.zeros((m, n))
    for i in range(m):
        constraints[i, 2 * i:2 * i + 4] = rng.standard_normal(min(4, n - 2 * i))
    matrix = np.block([[stiffness, constraints.T], [constraints, np.zeros((m, m))]])
    rows, columns = matrix.nonzero()
    element = Element(rows, columns, n + m)
    assert len(element.fronts.fronts) > 1 and element.factor(matrix[rows, columns])
    b = rng.standard_normal(n + m)
    exact = np.linalg.solve(matrix, b)
    np.testing.assert_allclose(element.solve(b), exact, rtol=0, atol=1e-10 * np.abs(exact).max())


def test_fronts_without_parents_see_columns_of_others():
    """Of a block triangular matrix: no rows are left of the first front, whose columns go on."""
    rng, m = np.random.default_rng(4), 24
    matrix = rng.standard_normal((2 * m, 2 * m))
    matrix[m:, :m] = 0.0
    matrix = matrix[rng.permutation(2 * m)][:, rng.permutation(2 * m)]
    rows, columns = matrix.nonzero()
    element = Element(rows, columns, 2 * m)
    table = element.fronts.fronts
    assert ((table["parent"] < 0) & (table["width"] > table["n_own"])).any()
    assert element.factor(matrix[rows, columns])
    b = rng.standard_normal(2 * m)
    np.testing.assert_allclose(matrix @ element.solve(b), b, rtol=0, atol=1e-11)


def test_lu_says_that_it_fails():
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    element = Element(rows, columns, 2)
    for values, good in (([1, 2, 2, 4], False), ([1, np.nan, 2, 4], False), ([1, 2, 2, 5], True)):
        assert element.factor(np.array(values, float)) == good
    np.testing.assert_allclose(element.solve(np.array([3.0, 7.0])), [1, 1], rtol=0, atol=1e-14)
    for places in (([0, 0, 1, 2], [0, 1, 0, 0]), ([0, 0, 1], [0, 1, 1]), ([0, 1, 2, 0, 1], [0, 0, 0, 1, 1])):
        singular = Element(*map(np.array, places), 3)
        assert not singular.factor(np.ones(len(places[0])))


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("degree", [1, 2])
def test_sparse_and_dense_agree(solve, rotation, degree):
    p, element = bench.chain(6, rotation, t_end=0.5, tilt=1.0), tf.MixedGalerkin(degree)
    dense, sparse = (solve(tangent, p, element, 60) for tangent in ("dense", "sparse"))
    assert dense.success and sparse.success
    assert np.abs(dense.z[-1] - dense.z[0]).max() > 0.3  # it does move
    np.testing.assert_allclose(sparse.z, dense.z, rtol=0, atol=1e-10)
    size = np.abs(dense.nodal.multipliers).max()
    np.testing.assert_allclose(sparse.nodal.multipliers, dense.nodal.multipliers, rtol=0, atol=1e-9 * size)
    iterations = [s.statistics["newton_iterations"]["mean"] for s in (sparse, dense)]
    assert abs(iterations[0] - iterations[1]) < 0.5


@pytest.mark.parametrize("problem", [spinning_box, pendulum])
def test_one_body_and_the_line_search(solve, problem):
    p = problem(t_end=1)
    dense = solve("dense", p, tf.MixedGalerkin(1), 40)
    for search in (False, True):
        sparse = solve("sparse", p, tf.MixedGalerkin(1), 40, newton=tf.Newton(line_search=search))
        np.testing.assert_allclose(sparse.z, dense.z, rtol=0, atol=1e-9 * np.abs(dense.z).max())


def test_failures_are_the_same(solve):
    p = spinning_box(t_end=40)
    mesh = np.concatenate([np.linspace(0, 1, 41), [3, 40]])  # the last elements are far too long
    dense, sparse = (solve(tangent, p, tf.MixedGalerkin(1), mesh=mesh, newton=tf.Newton(max_iterations=6),
                           driver=tf.March(keep_mesh=True))
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
        step.weights[step.sums["weights"][len(step.plan.tests):].min():] = 0  # those of the tangent
        return step

    monkeypatch.setattr(march, "step_plan", spoilt)
    solution = solve("sparse", bench.chain(3), tf.MixedGalerkin(1), 10)
    assert solution.status.reason == "singular tangent" and solution.status.element == 0


@pytest.mark.parametrize("degree", [1, 2])
def test_fronts_grow_like_the_chain(degree):
    size, largest = [], []
    for n in (20, 40, 80):
        fronts, _ = march._find_fronts(*plan_of(bench.chain(n), degree))
        size.append(fronts.size / n)
        largest.append(fronts.fronts["width"].max())
    assert max(size) < 1.2 * size[0] and max(largest) <= 1.2 * largest[0]


def plan_of(problem, degree):
    plan = ElementPlan(problem.system, tf.MixedGalerkin(degree))
    return plan, len(plan.explicit.core_rows)


def test_tangent_entries_of_a_plan_are_without_repetition():
    plan = ElementPlan(bench.chain(5).system, tf.MixedGalerkin(2))
    places = plan.tangent_rows * plan.columns.n_local + plan.tangent_columns
    assert len(np.unique(places)) == len(places) == plan.arrays.n_tangent


def test_fronts_on_disk_are_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path))
    n = 60
    rows = np.repeat(np.arange(n), 3)
    columns = np.clip(rows + np.tile([-1, 0, 1], n), 0, n - 1)
    rows, columns = np.unique(np.stack([rows, columns]), axis=1)
    fronts, targets = pattern.fronts_of(rows, columns, n)
    assert len(fronts.fronts) > 1 and (targets >= 0).all()
    monkeypatch.setattr(pattern, "front_tree", None)  # not needed any more
    again, same = pattern.fronts_of(rows, columns, n)
    np.testing.assert_array_equal(same, targets)
    for name in fronts.fields:
        np.testing.assert_array_equal(getattr(again, name), getattr(fronts, name))
    with pytest.raises(TypeError):
        pattern.fronts_of(columns[::-1], rows[::-1], n)  # another pattern
