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


@pytest.mark.parametrize("bounds, words", [
    ((0, 3), "bounds of number 0, 0 to 3, do not fit its guess, 4"), ((5, 3), "bounds of number 0, 5 to 3"),
    ((0, 3, 5), "bounds must be a pair"), (([0, 0], [9, 9]), "one or 1 each")])
def test_bounds_that_do_not_fit(bounds, words):
    measured = tf.Measurement(lambda bodies, t: bodies[0].position[0], [1.0], [0.2], deviation=0.1)
    with pytest.raises(tf.InputError, match=words):
        tf.identify(oscillator, [4.0], tf.MixedGalerkin(2), 60, measured, bounds=bounds)


def test_what_takes_more_solves_than_it_may_is_told():
    """And no other minimum is looked for, however far the measurements are."""
    times = np.linspace(0, 10, 51)[1:]
    measured = tf.Measurement(place, times, np.cos(2 * times), 0.01)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = tf.identify(oscillator, [3.5], tf.MixedGalerkin(2), 60, measured, names=["stiffness"], max_solves=2)
    assert not found.success and found.n_solves == 2 and abs(found.values[0] - 4) > 1e-3
    assert [w.category for w in caught] == [tf.NotSolved] and "max_solves = 2" in str(caught[0].message)


def test_nothing_measured():
    with pytest.raises(tf.InputError, match="measurements is empty"):
        tf.identify(oscillator, [4.0], tf.MixedGalerkin(2), 60, [])


def test_an_error_of_the_model_is_not_one_of_bounds():
    """What `build` raises on the way is undone, or told as it is."""
    def build(values):
        if values[0] != 4.0:
            raise RuntimeError("no such oscillator")
        return oscillator(values)

    measured = tf.Measurement(lambda bodies, t: bodies[0].position[0], [1.0], [0.2], deviation=0.1)
    with pytest.raises(RuntimeError, match="no such oscillator"):
        tf.identify(build, [4.0], tf.MixedGalerkin(2), 60, measured)
