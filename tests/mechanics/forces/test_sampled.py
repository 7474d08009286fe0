"""Feedback in discrete time: against the exact motion between samples."""

import numpy as np
import pytest

import timefem as tf


def cart(period, delay):
    body = tf.RigidBody(2.0, (1, 1, 1), name="cart")
    rail = tf.Prismatic(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    digital = tf.SampledController([rail], lambda x, v, t, c: -c[0] * x - c[1] * v, period, delay, parameters=[18, 4],
                                   name="digital")
    return tf.System([body, rail, digital]), rail


@pytest.mark.parametrize("delay", [0, 3, 14], ids=lambda n: f"{n}/100 s")  # less and more than a period of 10/100 s
def test_hold_and_delay(delay):
    """Piecewise constant accelerations, in steps of 1/100 s."""
    system, rail = cart(0.1, delay / 100)
    sol = tf.solve(tf.InitialValueProblem(system, {rail: 1.0}, (0, 0.6)), tf.MixedGalerkin(2), 40, progress=False)
    x, v, u, places, waiting = 1.0, 0.0, 0.0, [1.0], []
    for i in range(60):
        if i % 10 == 0:
            waiting.append((i + delay, -18 * x - 4 * v))
        if waiting and waiting[0][0] == i:
            u = waiting.pop(0)[1]
        x, v = x + v / 100 + u / 2 * 1e-4 / 2, v + u / 2 / 100
        places.append(x)
    assert sol.success
    np.testing.assert_allclose(sol.joint(rail).displacement(np.arange(61) / 100), places, rtol=0, atol=1e-12)
    assert np.abs(sol.energy_balance()).max() < 1e-12
    first = sol.joint(rail).drive([0.004, delay / 100 + 0.004])
    np.testing.assert_allclose(first, (-18 if not delay else 0, -18), rtol=0, atol=1e-9)


def test_what_does_not_fit_is_refused():
    system, rail = cart(0.1, 0.03)
    problem = tf.InitialValueProblem(system, {rail: 1.0}, (0, 0.6))
    with pytest.raises(tf.InputError, match="elements"):
        tf.solve(problem, tf.MixedGalerkin(2), 5, progress=False)
    with pytest.raises(tf.InputError, match="sampled in time, which is for driver='march'"):
        tf.solve(problem, tf.MixedGalerkin(2), 40, driver="global", progress=False)
    with pytest.raises(tf.InputError, match="not marched to a tolerance"):
        tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-6, progress=False)
    with pytest.raises(tf.InputError, match=r"no node at t = 0\.03"):
        tf.solve(problem, tf.MixedGalerkin(2), mesh=tf.TimeMesh.uniform((0, 0.6), 12), progress=False)
    drive = tf.JointControl(rail, name="drive")
    control = tf.OptimalControl(tf.System([*system.parts, drive]), system.state({rail: 1.0}), {}, (0, 1),
                                [tf.Effort(drive)])
    with pytest.raises(tf.InputError, match="feedback in discrete time"):
        tf.solve(control, tf.MixedGalerkin(1), 4, progress=False)
    with pytest.raises(tf.InputError, match="period must be positive"):
        tf.SampledController([rail], lambda x, v, t, c: 0, 0.0)
