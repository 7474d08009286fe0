"""Guesses of elements of equal length: every dof goes on as a polynomial of the elements before."""

import numpy as np

import timefem as tf
from timefem.assembly import Scaling
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.march.loop import ORDERS, _extrapolate, _take_differences
from timefem.solvers.march.march import LoopArrays


def test_dofs_that_are_polynomials_of_the_elements():
    body, element = tf.RigidBody(2.0, [1, 2, 3]), tf.MixedGalerkin(2)
    problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose()}, (0, 1))
    plan = ElementPlan(problem.system, element)
    loop = LoopArrays(plan, Scaling.of("full", problem.system, element, 0, problem.z0))
    work, n_node, n = loop.work, loop.record.n_node, plan.columns.n_local
    work.per_dof[:] = 1.0
    work.series[:] = 0, ORDERS[0], 0
    polynomials = np.random.default_rng(0).normal(size=(n, 7))

    def dofs(e):
        return polynomials @ (e / 10) ** np.arange(7)

    for e in range(20):
        _take_differences(work, dofs(e), n_node)
    assert work.series[1] >= 7  # of degree 6
    guess = np.zeros(n)
    _extrapolate(work.differences, work.series[1], work.carry, guess, n_node)
    np.testing.assert_allclose(guess[n_node:], dofs(20)[n_node:], rtol=0, atol=1e-11 * np.abs(dofs(20)).max())
    assert not guess[:n_node].any()
    noise = np.random.default_rng(1)
    for _ in range(40):
        _take_differences(work, noise.normal(size=n), n_node)
    assert work.series[1] == ORDERS[0]  # higher ones are worse
