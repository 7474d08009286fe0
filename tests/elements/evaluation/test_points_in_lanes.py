"""Parts of one kind side by side in the lanes of a march, beside elements in lanes, which evaluate each alone."""

from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from timefem.elements.augmented.extended import Extended
from timefem.elements.evaluation.batch import ElementBatch
from timefem.elements.evaluation.points_in_lanes import begin_step, evaluate_step, step_plan, step_scratch


def masses(n):
    """A chain of n masses with springs of other stiffness and length each, hung up by a rod."""
    m = [tf.PointMass(1.0 + i, name=f"m{i}") for i in range(n)]
    springs = [tf.Spring(a, b, stiffness=3.0 + i, length=0.3 + 0.1 * i) for i, (a, b) in enumerate(pairwise(m))]
    return tf.System([*m, *springs, tf.RigidDistance(m[0], None, length=1.0)], gravity=(0, 0, -9.81))


@pytest.mark.parametrize("element", [tf.MixedGalerkin(1), tf.MixedGalerkin(1, n_points=1), tf.MixedGalerkin(2),
                                     tf.MixedGalerkin(1, n_points=3), tf.MixedGalerkin(2, keep="all")], ids=str)
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
        assert (step.packs is None) == (n == 1)
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
