"""Motions between two places that go through a joint between the nodes are reported."""

import warnings

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long


def swing(element, n):
    bob = tf.PointMass(1.0, dimension=2, name="bob")
    system = tf.System([bob, tf.RigidDistance(bob, length=1.0, name="rod")], gravity=(0, -9.81, 0))
    there = tf.EndState(position=[np.sin(2.5), -np.cos(2.5), None])
    return tf.solve(tf.BoundaryValueProblem(system, (0, 3), {bob: tf.Pose((0, -1, 0))}, {bob: there}), element, n,
                    progress=False)


def test_a_bob_that_goes_through_its_support():
    with pytest.warns(tf.UnderResolved, match=r"goes straight through 'rod: distance' at t = 0\.375, .* more elements"):
        assert swing(tf.MixedGalerkin(1), 4).success


@pytest.mark.parametrize("element, n", [(tf.MixedGalerkin(1), 20), (tf.MixedGalerkin(2), 8)])
def test_one_that_does_not(element, n):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the motion goes straight through")
        warnings.filterwarnings("ignore", "bob moves too fast")  # the places are off by 0.1 and 0.2
        sol = swing(element, n)
    assert sol.success and np.linalg.norm(sol.position("bob", np.linspace(0, 3, 301)), axis=1).min() > 0.8
