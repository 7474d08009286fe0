"""Controllers in discrete time beside rigid contact: against the exact motion from sample to sample."""

import numpy as np
import pytest

import timefem as tf

PERIOD, WALL = 0.1, -0.25


def cart_and_wall(delay=0.0):
    """A cart of 2 kg on a rail, pulled back and forth by a digital controller, against a wall."""
    cart = tf.RigidBody(2.0, (1, 1, 1), name="cart")
    rail = tf.Prismatic(cart, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    wall = tf.EndStop(rail, lowest=WALL, restitution=0.6, name="wall")
    digital = tf.SampledController([rail], lambda x, v, t, c: -c[0] * (x + 0.3) - c[1] * v, PERIOD, delay,
                                   parameters=[18, 1], name="digital")
    return tf.InitialValueProblem(tf.System([cart, rail, wall, digital]), {rail: 1.0}, (0, 2)), rail


def exact(delay=0):
    """Places at each hundredth of a second, and times of impacts."""
    x, v, u, places, waiting, impacts = 1.0, 0.0, 0.0, [1.0], [], []
    for i in range(200):
        if i % 10 == 0:
            waiting.append((i + delay, -18 * (x + 0.3) - v))
        if waiting and waiting[0][0] == i:
            u = waiting.pop(0)[1]
        a, left = u / 2, 0.01
        while True:
            roots = np.roots([a / 2, v, x - WALL])
            hits = [r.real for r in roots if abs(r.imag) < 1e-12 and 1e-9 < r.real < left and v + a * r.real < 0]
            if not hits:
                break
            hit = min(hits)
            x, v, left = WALL, -0.6 * (v + a * hit), left - hit
            impacts.append((i + 1) / 100 - left)
        x, v = x + v * left + a * left**2 / 2, v + a * left
        places.append(x)
    return np.array(places), impacts


@pytest.mark.parametrize("delay", [0, 3])
def test_impacts_between_samples(delay):
    problem, rail = cart_and_wall(delay / 100)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60, progress=False)
    places, impacts = exact(delay)
    assert sol.success and len(impacts) >= 2
    np.testing.assert_allclose([event.t for event in sol.events if event.kind == "impact"], impacts, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sol.joint(rail).displacement(np.arange(201) / 100), places, rtol=0, atol=1e-12)
    assert np.abs(sol.energy.balance()).max() < 1e-11


def test_friction_that_a_sample_overcomes():
    block = tf.PointMass(1.0, name="block")
    floor = tf.PlaneContact(block, friction=0.3, name="floor")
    push = tf.ControlForce(block, [(1, 0, 0)], name="push")
    digital = tf.SampledController([push], lambda x, v, t, c: 3 * t, PERIOD, inputs=[tf.PositionOutput(block, "x")],
                                   name="digital")
    system = tf.System([block, floor, push, digital], gravity=(0, 0, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, {block: tf.Pose((0, 0, 0))}, (0, 1.5)), tf.MixedGalerkin(2), 30,
                   progress=False)
    assert [(event.kind, round(event.t, 12)) for event in sol.events] == [("slips", 1.0)]  # 3 N there, of 2.943 N
    x = v = 0.0
    for k in range(10, 15):
        a = 0.3 * k - 0.3 * 9.81
        x, v = x + v * PERIOD + a * PERIOD**2 / 2, v + a * PERIOD
    assert sol.position(block, 1.5)[0] == pytest.approx(x, rel=1e-12)


def test_halves_are_the_whole(stop, tmp_path):
    problem, _ = cart_and_wall(0.03)
    whole, path = tf.solve(problem, tf.MixedGalerkin(2), 60, progress=False), tmp_path / "run.h5"
    stop(0.85)
    stopped = tf.solve(problem, tf.MixedGalerkin(2), 60, checkpoint=tf.Checkpoint(path, "1it"), progress=False)
    assert stopped.status.reason == "stopped" and 0.85 <= stopped.t[-1] < 2
    stop(np.inf)
    again = tf.solve(problem, tf.MixedGalerkin(2), 60, checkpoint=tf.Checkpoint(restart=path), progress=False)
    assert again.success and again.statistics["contact_events"] == whole.statistics["contact_events"]
    np.testing.assert_allclose(again.t, whole.t, rtol=0, atol=1e-12)
    np.testing.assert_allclose(again.nodal.state, whole.nodal.state, rtol=0, atol=1e-11)
    np.testing.assert_allclose(again.energy.balance(), whole.energy.balance(), rtol=0, atol=1e-11)


def test_derivatives_through_impacts_do_not_see_what_is_held():
    problem, _ = cart_and_wall()
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60, progress=False)
    with pytest.raises(tf.InputError, match="digital is feedback in discrete time, which the derivative of a march"):
        tf.Linearization(sol)
    with pytest.raises(tf.InputError, match="digital is feedback in discrete time, which a sequence of phases"):
        sol.phases()
