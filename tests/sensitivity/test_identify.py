"""Identification from a poor guess ends at another minimum: a warning; none where the noise explains what is left."""

import warnings

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long


def place(bodies, t):
    return bodies[0].position[0]


def oscillator(values):
    ball = tf.PointMass(1.0, dimension=1, name="ball")
    system = tf.System([ball, tf.Spring(ball, None, stiffness=values[0], length=0.0)])
    return tf.InitialValueProblem(system, {ball: tf.Pose((1, 0, 0))}, (0, 10))


@pytest.mark.parametrize("guess, deviation, right", [(3.5, 0.01, True), (12.0, 0.01, False), (3.5, 0.001, None)])
def test_a_misfit_that_noise_does_not_explain_is_reported(guess, deviation, right):
    times = np.linspace(0, 10, 51)[1:]
    noise = np.random.default_rng(3).normal(size=len(times))
    measured = tf.Measurement(place, times, np.cos(2 * times) + 0.01 * noise, deviation)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = tf.identify(oscillator, [guess], tf.MixedGalerkin(2), 60, measured, names=["stiffness"])
    assert bool(abs(found.values[0] - 4) < 0.05) is (right is not False)
    assert any("times their deviations" in str(w.message) for w in caught) is (right is not True)
    assert all(w.filename == __file__ for w in caught)
