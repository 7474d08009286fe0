"""Conditions at the end of which constraints leave a part, where the motion ends far from where the guess does."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

STILL = tf.EndState(velocity=[0, 0, None])
LEAST = 6 * (np.pi / 2)**2  # of the effort of an angular acceleration, by a quarter turn in 1 s from rest to rest


def bob_on_a_rod():
    bob = tf.PointMass(1.0, dimension=2, name="bob")
    push = tf.ControlForce(bob, [(1, 0, 0), (0, 1, 0)], name="push")
    return bob, push, tf.System([bob, tf.RigidDistance(bob, length=1.0, name="rod")])


def phase(start, end, t_end, limits=()):
    bob, push, system = bob_on_a_rod()
    return tf.OptimalControl(system, {bob: start}, {bob: end}, (0, t_end), tf.Effort(push), limits=limits)


UP = tf.Limit("now.position('bob')[1]", 0.0, None, at="end")


@pytest.mark.filterwarnings("ignore:control . of push")
@pytest.mark.parametrize("element, method, error", [
    (tf.MixedGalerkin(2), "interior-point", 1e-5), (tf.MixedGalerkin(2), "ipopt", 1e-5)])
def test_a_bob_comes_to_rest_a_quarter_turn_up(element, method, error):
    """At the guess, hanging, rest is no velocity along x, which a bob on the height of its support has at any speed:
    the objective was 3.70."""
    sol = tf.solve(phase(tf.Pose((0, -1, 0)), STILL, 1.0, UP), element, 40, method=method, progress=False)
    assert sol.success and sol.objective == pytest.approx(LEAST, rel=error)
    assert np.abs(sol.velocity("bob", 1.0)).max() < 2e-3


@pytest.mark.filterwarnings("ignore:control . of push")
def test_the_last_of_two_phases():
    two = tf.Phases([phase(tf.Pose((0, -1, 0)), tf.EndState(), 0.5), phase(tf.EndState(), STILL, 0.5, UP)])
    sol = tf.solve(two, tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success and sol.objective == pytest.approx(LEAST, rel=1e-5)


@pytest.mark.filterwarnings("ignore:control . of push")
def test_a_tolerance():
    sol = tf.solve(phase(tf.Pose((0, -1, 0)), STILL, 1.0, UP), tf.MixedGalerkin(2), tolerance=1e-5, progress=False)
    assert sol.success and sol.objective == pytest.approx(LEAST, rel=2e-5)


@pytest.mark.filterwarnings("ignore:control . of push")
def test_periodic_far_from_where_the_guess_is():
    """Hanging, equal states are equal along x, which the two ends of a chord across are as well."""
    bob, push, system = bob_on_a_rod()
    limits = [tf.Limit("now.position('bob')[1]", 0.5, None, at="start"),
              tf.Limit("now.velocity('bob')[0]", 1.0, 2.0, at="start")]
    problem = tf.OptimalControl(system, {bob: tf.EndState()}, {}, (0, 1), tf.Effort(push), periodic=True, limits=limits,
                                near={bob: tf.Pose((0, -1, 0))})
    sol = tf.solve(problem, tf.MixedGalerkin(1), 40, progress=False)
    assert sol.success and sol.objective == pytest.approx(6.004, abs=1e-2)
    np.testing.assert_allclose(sol.z[0], sol.z[-1], rtol=0, atol=1e-7)


@pytest.mark.filterwarnings("ignore:control . of push")
def test_no_periodic_motion_is_told():
    bob, push, system = bob_on_a_rod()
    limits = [tf.Limit("now.position('bob')[1]", 0.5, None, at="start"),
              tf.Limit("now.position('bob')[1]", None, -0.5, at="end")]
    problem = tf.OptimalControl(system, {bob: tf.EndState()}, {}, (0, 1), tf.Effort(push), periodic=True, limits=limits,
                                near={bob: tf.Pose((0, -1, 0))})
    assert tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False).status.reason == "not found"


@pytest.mark.filterwarnings("ignore:control . of push")
def test_phases_join_far_from_where_the_guess_does():
    bob, push, system = bob_on_a_rod()
    left = tf.Limit("now.position('bob')[0]", None, -0.8, at="end")
    first = tf.OptimalControl(system, {bob: tf.Pose((1, 0, 0))}, {bob: tf.EndState()}, (0, 1), tf.Effort(push),
                              limits=left)
    second = tf.OptimalControl(system, {bob: tf.EndState()}, {}, (0, 1), tf.Effort(push),
                               limits=tf.Limit("now.position('bob')[1]", None, 1.0, at="start"),
                               near={bob: tf.Pose((0, -1, 0))})
    sol = tf.solve(tf.Phases([first, second]), tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success
    np.testing.assert_allclose(sol[0].z[-1], sol[1].z[0], rtol=0, atol=1e-7)
