"""Explicit unknowns: which there are, and that leaving them to the end of a step changes nothing."""

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling
from timefem.cases import find_case
from timefem.elements.evaluation.elements_in_lanes import evaluate_batch
from timefem.elements.evaluation.plan import ElementPlan
from timefem.elements.one_step import OneStep
from timefem.solvers.linear.element import pattern
from timefem.solvers.linear.element.tree import Front
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
