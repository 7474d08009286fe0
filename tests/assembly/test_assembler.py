"""The assembled residual and tangent against elements put together by hand, dense."""

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from tests.example_systems import pendulum
from timefem.assembly import Assembler, Scaling
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.equations.ends import Ends

ELEMENTS = [tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.BubnovGalerkin(1), tf.BubnovGalerkin(2, "continuous"),
            tf.BubnovGalerkin(2, drop="end")]


def assembler(element, mesh, scaling="none", ends=None):
    problem = pendulum()
    plan = ElementPlan(problem.system, element)
    scale = Scaling.of(scaling, problem.system, element, 0, problem.z0)
    return Assembler(plan, mesh, *(ends or initial_value_ends)(plan, element), scale)


def dense(a, x):
    """All rows and columns, nothing left out."""
    batch = tf.ElementBatch(a.plan.system, a.plan.element)
    starts = a.plan.columns.step * np.arange(a.mesh.n_elements)
    local = x[starts[:, None] + np.arange(batch.n_columns)]
    residuals, tangents = batch(local, a.mesh.lengths, a.mesh.nodes[:-1])
    residual, tangent = np.zeros(a.pattern.n_rows_full), np.zeros((a.pattern.n_rows_full, len(x)))
    for e, matrix in enumerate(batch.dense(tangents)):
        rows = a.plan.rows.step * e + np.arange(batch.n_rows)
        residual[rows] += residuals[e]
        tangent[np.ix_(rows, starts[e] + np.arange(batch.n_columns))] += matrix
    return residual, tangent


def initial_value_ends(plan, element):
    ends = Ends.initial_value(plan)
    return ends.free, ends.kept


def free_ends(plan, element):
    """Conditions as in a boundary-value problem: some dofs free, some tests kept, at both ends."""
    rng = np.random.default_rng(1)
    return tuple(tuple(rng.random(n) < 0.5 for _ in range(2)) for n in (plan.columns.n_node, plan.rows.n_node))


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_some_entries_are_those_of_all(element, share):
    a = assembler(element, tf.TimeMesh.uniform((0, 1), 11))
    x, (kind, copy, slots, periods, begins) = np.random.default_rng(2).normal(size=a.pattern.n_columns_full), \
        a.pattern.places
    asked = np.random.default_rng(3).random(slots.shape[1]) < share
    entries = a.entries_at((kind, copy, np.where(asked, slots, -1), periods, begins))
    residual, data = a.evaluate(x)
    some = np.full(a.pattern.nnz, np.nan)
    np.testing.assert_array_equal(a.evaluate_into(x, entries, some), residual)
    here = ~np.isnan(some)
    places = slots[kind] + copy[:, None] * periods
    complete = np.setdiff1d(places[:, asked], places[:, ~asked])  # of no entry that is left out
    np.testing.assert_array_equal(some[complete], data[complete])
    assert here.any() == asked.any() and entries.arrays.n_tangent < a.plan.arrays.n_tangent


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("n_elements", [1, 2, 3, 5, 6, 7, 8, 19])
@pytest.mark.parametrize("ends", [initial_value_ends, free_ends])
@pytest.mark.parametrize("scaling", ["none", "full"])
def test_against_dense(element, n_elements, ends, scaling):
    rng = np.random.default_rng(n_elements)
    mesh = tf.TimeMesh(np.cumsum(rng.uniform(0.1, 0.3, n_elements + 1)))
    a = assembler(element, mesh, scaling, ends)
    p = a.pattern
    x = rng.normal(size=p.n_columns_full)
    a.assemble_into(np.full(p.nnz, np.nan))  # nothing is to be cleared before
    residual, data = a.evaluate(x)
    matrix = sp.csr_matrix((data, p.indices, p.indptr), shape=(len(p.rows), len(p.columns))).toarray()
    expected_residual, expected = dense(a, x)
    weights, sizes = a.row_scale[p.rows], a.column_scale[p.columns]
    np.testing.assert_allclose(residual, expected_residual[p.rows] * weights, rtol=1e-13, atol=1e-13)
    expected = expected[np.ix_(p.rows, p.columns)] * weights[:, None] * sizes
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert np.all(np.diff(p.indices)[np.diff(np.repeat(np.arange(len(p.rows)), np.diff(p.indptr))) == 0] > 0)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_initial_value_system_is_square_and_has_full_rank(element):
    problem = pendulum()
    a = assembler(element, tf.TimeMesh.uniform((0, 0.4), 8), "full")
    p = a.pattern
    x = a.plan.columns.pack(np.broadcast_to(problem.z0, (8, element.degree + 1, problem.system.n_z)),
                            np.ones((8, element.multiplier.basis.n_shapes, problem.system.n_multipliers)))
    matrix = sp.csr_matrix((a.evaluate(x)[1], p.indices, p.indptr)).toarray()
    assert matrix.shape[0] == matrix.shape[1]
    singular = np.linalg.svd(matrix, compute_uv=False)
    assert singular[-1] > 1e-9 * singular[0]


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_pack_and_unpack(element):
    plan = ElementPlan(pendulum().system, element)
    x = np.random.default_rng(0).normal(size=plan.columns.n_node + 5 * plan.columns.step)
    state, multipliers, *_ = plan.columns.unpack(x)
    np.testing.assert_array_equal(plan.columns.pack(state, multipliers), x)
    np.testing.assert_array_equal(state[1:, 0], state[:-1, -1])  # one value where elements meet


def test_time_order():
    """Dofs are numbered in time order, components innermost."""
    plan = ElementPlan(pendulum().system, tf.BubnovGalerkin(2, "continuous"))
    state, multipliers, *_ = plan.columns.fields
    assert np.all(np.diff(np.concatenate([state, multipliers], axis=1).ravel()) == 1)


@pytest.mark.parametrize("scaling", ["none", "weights", "full"])
def test_scaling_changes_the_condition_and_not_the_solution(scaling):
    solution = tf.solve(pendulum(t_end=1), tf.BubnovGalerkin(2), 40, scaling=scaling)
    reference = tf.solve(pendulum(t_end=1), tf.BubnovGalerkin(2), 40)
    np.testing.assert_allclose(solution.z, reference.z, rtol=0, atol=1e-9)


@pytest.mark.long
def test_scaling_improves_the_condition():
    condition = {}
    for scaling in ("none", "weights", "full"):
        a = assembler(tf.BubnovGalerkin(2), tf.TimeMesh.uniform((0, 1), 40), scaling)
        p = a.pattern
        x = a.plan.columns.pack(np.broadcast_to(pendulum().z0, (40, 3, 14)), np.zeros((40, 2, 8)))
        matrix = sp.csr_matrix((a.evaluate(x)[1], p.indices, p.indptr)).toarray()
        condition[scaling] = np.linalg.cond(matrix)
    assert condition["full"] < condition["weights"] < condition["none"]
    assert condition["full"] < 1e5


# ----

def test_uniform():
    mesh = tf.TimeMesh.uniform((1, 3), 4)
    np.testing.assert_allclose(mesh.nodes, [1, 1.5, 2, 2.5, 3], rtol=0, atol=1e-15)
    np.testing.assert_allclose(mesh.lengths, 0.5, rtol=0, atol=1e-15)


def test_locate():
    mesh = tf.TimeMesh([0, 1, 3])
    e, xi = mesh.locate([0, 0.25, 1, 2, 3])
    assert e.tolist() == [0, 0, 1, 1, 1]
    np.testing.assert_allclose(xi, [0, 0.25, 0, 0.5, 1], rtol=0, atol=1e-15)
    with pytest.raises(tf.InputError, match="outside"):
        mesh.locate(3.1)


@pytest.mark.parametrize("nodes, message", [([0], "two nodes"), ([0, 1, 1], "node 2 at 1 does not come after 1"),
                                            ([0, np.nan], "finite"), ([[0, 1]], "shape"), ("abc", "array of numbers")])
def test_bad_input(nodes, message):
    with pytest.raises(tf.InputError, match=message):
        tf.TimeMesh(nodes)


@pytest.mark.parametrize("n_elements", [0, -1, 2.5, None])
def test_bad_number(n_elements):
    with pytest.raises(tf.InputError, match="n_elements"):
        tf.TimeMesh.uniform((0, 1), n_elements)
