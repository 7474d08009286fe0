"""Explicit unknowns: which there are, and that leaving them to the end of a step changes nothing."""

from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling
from timefem.cases import find_case
from timefem.elements.evaluation import plan as plans
from timefem.elements.evaluation.elements_in_lanes import ElementBatch, evaluate_batch
from timefem.elements.evaluation.plan import ElementPlan
from timefem.elements.evaluation.points_in_lanes import begin_step, evaluate_step, step_plan, step_scratch
from timefem.elements.extended import Extended
from timefem.elements.one_step import OneStep
from timefem.solvers.linear.element import pattern
from timefem.solvers.linear.element.pattern import Front
from timefem.solvers.march import march


def names(plan, dofs):
    """Fields of dofs at the end of an element, and how many dofs of each."""
    fields = dict(zip(plan.element.trial, plan.columns.fields, strict=True))
    return {name: n for name, places in fields.items() if (n := int(np.isin(places[-1], dofs).sum()))}


@pytest.mark.parametrize("case, n_bodies", [("free-body", 1), ("heavy-top", 1), ("four-bar", 4)])
def test_eliminated_fields_are_explicit(case, n_bodies):
    system = find_case(case).make().system
    reml, null = (ElementPlan(system, e) for e in (tf.REML(), tf.NullEML()))
    assert names(reml, reml.explicit.columns) == {"state": 7 * n_bodies, "velocity": 7 * n_bodies}  # momenta only
    assert names(null, null.explicit.columns) == {"state": 14 * n_bodies, "velocity": 7 * n_bodies}
    assert not len(ElementPlan(system, tf.EML()).explicit.columns)
    assert not len(ElementPlan(system, tf.MixedGalerkin(1)).explicit.columns)


class Euler(OneStep):
    """Symplectic Euler with forces at the end: without forces q1 is explicit."""

    def density(self, s):
        import casadi as ca

        balance = s.inertia(s.p1 - s.p0) - s.h * s.load(s.q1, ca.SX.zeros(s.q1.numel()))
        return ca.vertcat(balance, s.inertia(s.q1 - s.q0 - s.h * s.velocity(s.q0, s.p1))), ca.SX(0, 1)


def test_parts_of_a_kind_agree():
    """A mass on its own and one on a spring are of one kind: what is not explicit for one is not for the other."""
    free, hung = tf.PointMass(1.0, name="free"), tf.PointMass(2.0, name="hung")
    spring = tf.Spring(hung, stiffness=10.0, length=1.0)
    states = {free: tf.Pose(velocity=(1, 2, 3)), hung: tf.Pose(position=(2, 0, 0), velocity=(0, 1, 0))}
    alone, both = tf.System([free]), tf.System([free, hung, spring])
    assert names(ElementPlan(alone, Euler()), ElementPlan(alone, Euler()).explicit.columns) == {"state": 3}
    assert not len(ElementPlan(both, Euler()).explicit.columns)
    sol = tf.solve(tf.InitialValueProblem(both, states, (0, 1)), Euler(), 10, progress=False)
    sol_alone = tf.solve(tf.InitialValueProblem(alone, {free: states[free]}, (0, 1)), Euler(), 10, progress=False)
    np.testing.assert_allclose(sol_alone.position("free", 1.0), [1, 2, 3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(sol.position("free", 1.0), [1, 2, 3], rtol=0, atol=1e-14)


@pytest.mark.parametrize("element", [tf.REML(), tf.NullEML(), tf.NullEMH()], ids=lambda e: e.name)
@pytest.mark.parametrize("case, h", [("heavy-top", 0.00125), ("four-bar", 0.01)])
def test_all_rows_hold_after_a_march(case, h, element):
    """The residual of the whole element, by the batch that knows nothing of explicit unknowns."""
    problem = find_case(case).make(t_end=20 * h)
    plan, mesh = ElementPlan(problem.system, element), tf.TimeMesh.uniform(problem.t_span, 20)
    scaling = Scaling.of("full", problem.system, element, 0, problem.z0)
    x, n, status, _ = march.march(plan, mesh, problem.z0, problem.system.consistent_multipliers(0, problem.z0), scaling,
                                  tf.Newton())
    assert status.success and n == 20
    local = x[plan.columns.step * np.arange(20)[:, None] + np.arange(plan.columns.n_local)]
    residual = np.empty((20, plan.rows.n_local))
    evaluate_batch(plan.arrays, local, mesh.nodes[:-1].copy(), mesh.lengths, residual,
                   np.empty((20, len(plan.tangent_rows))))
    explicit = residual[:, plan.explicit.rows]
    assert np.abs(explicit).max() < 1e-14 * np.abs(x).max()
    assert np.abs(residual).max() < 1e-12 * scaling.size(problem.z0)


def test_one_front_and_many_agree(monkeypatch):
    problem = find_case("four-bar").make(t_end=0.2)
    many = tf.solve(problem, tf.NullEML(), 20, progress=False)
    monkeypatch.setattr(march, "fronts_of", pattern.find_fronts)
    monkeypatch.setattr(pattern, "front_tree",
                        lambda rows, columns, n: [Front(list(range(n)), [], list(range(n)), [], n)])
    one = tf.solve(problem, tf.NullEML(), 20, progress=False)
    np.testing.assert_allclose(many.z, one.z, rtol=0, atol=1e-11 * np.abs(one.z).max())


# ---- plans of large models, of which a part is kept on disk

@pytest.mark.parametrize("name", ["four-bar", "bricard"])
def test_a_known_plan_is_the_same(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path))
    system, found = find_case(name).make().system, []
    for many in (10**9, 1, 1):  # all in memory, made and kept, read
        monkeypatch.setattr(plans, "MANY", many)
        plan = plans.ElementPlan(system, tf.MixedGalerkin(2))
        found.append((plan.arrays.entry_targets, plan.tangent_rows, plan.tangent_columns))
        if many == 1:
            monkeypatch.setattr(plans, "_blocks", None)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.dtype == b.dtype == np.int64
            np.testing.assert_array_equal(a, b)


# ---- parts of one kind side by side in the lanes of a march, beside elements in lanes, which evaluate each alone

def masses(n):
    """A chain of n masses with springs of other stiffness and length each, hung up by a rod."""
    m = [tf.PointMass(1.0 + i, name=f"m{i}") for i in range(n)]
    springs = [tf.Spring(a, b, stiffness=3.0 + i, length=0.3 + 0.1 * i) for i, (a, b) in enumerate(pairwise(m))]
    return tf.System([*m, *springs, tf.RigidDistance(m[0], None, length=1.0)], gravity=(0, 0, -9.81))


@pytest.mark.parametrize("element", [tf.MixedGalerkin(1), tf.MixedGalerkin(1, n_points=1), tf.MixedGalerkin(2),
                                     tf.MixedGalerkin(1, n_points=3), tf.MixedGalerkin(2, keep="all"),
                                     tf.MixedGalerkin(3, n_points=5), tf.MixedGalerkin(2, n_points=9)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_as_elements_in_lanes(n, element):
    batch, rng = ElementBatch(masses(n), element), np.random.default_rng(n)
    x, h, t, (rows, columns) = rng.normal(size=batch.n_columns), 0.1, 0.3, batch.pattern
    wanted_rows, wanted = batch(x[None], h, t)
    plan, size = batch.plan, batch.n_rows * batch.n_columns
    step = step_plan(plan, rows * batch.n_columns + columns)
    scratch, residual, tangent = step_scratch(step), np.zeros(batch.n_rows), np.zeros(size)
    begin_step(step, step.one, x, t, h, scratch)
    evaluate_step(step, step.one, x, (t, h), scratch, residual, tangent, True)
    order = np.concatenate([plan.explicit.core_rows, plan.explicit.rows])
    tolerance = dict(rtol=0, atol=1e-14 * np.abs(wanted).max())
    np.testing.assert_allclose(residual, wanted_rows[0][order], **tolerance)
    own = slice(batch.columns.n_node, None)
    np.testing.assert_allclose(tangent.reshape(batch.n_rows, -1)[:, own], batch.dense(wanted)[0][:, own], **tolerance)
    evaluate_step(step, step.one, x, (t, h), scratch, residual, tangent, False)
    np.testing.assert_allclose(residual, wanted_rows[0][order], **tolerance)
    if step.one is None:
        assert (step.packs is None) == (n == 1 or batch.plan.arrays.n_points > 4)
    else:
        assert step.one.calls["lanes"].max() == (8 if n == 6 else 1)


def test_whole_elements_are_sums_over_their_points():
    element, rng = tf.MixedGalerkin(3, keep="all"), np.random.default_rng(1)
    whole, points = (ElementBatch(masses(2), e) for e in (element, Extended(element)))
    assert whole.plan.arrays.n_points == 1 and points.plan.arrays.n_points == 3
    x = rng.normal(size=(2, whole.n_columns))
    (found, tangent), (wanted, by_points) = whole(x, 0.1, 0.3), points(x, 0.1, 0.3)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
    wanted = points.dense(by_points)
    np.testing.assert_allclose(whole.dense(tangent), wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
    instructions = [sum(kernel.kernel.n_instructions for kernel in batch.plan.point_kernels)
                    for batch in (whole, points)]
    assert instructions[0] < 2.6 * instructions[1]  # three points, what they share once
