"""Estimation of bodies whose springs count turns: as in joint coordinates, which need no counter."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

Z, SIGMA = (0, 0, 1), 0.01
ELEMENT = tf.MixedGalerkin(2)
TIMES = np.arange(1, 41) / 20


def wheel(coordinates=None):
    body = tf.RigidBody(1.0, (0.2, 0.2, 0.3), name="wheel")
    hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="hinge")
    spring = tf.JointSpring(hinge, stiffness=0.5, name="spring")
    more = {} if coordinates is None else {"coordinates": coordinates}
    return tf.System([body, hinge, spring], **more)


def seen():
    """A wheel that winds its spring up over a whole turn, by `x = A sin(w t) + 0.4 cos(w t)`, with noise."""
    w = np.sqrt(0.5 / 0.3)
    return 9 * np.sin(w * TIMES) + 0.4 * np.cos(w * TIMES) + SIGMA * np.random.default_rng(2).standard_normal(40)


def estimated(coordinates, chosen=slice(None)):
    values = seen()[chosen]
    sensor = tf.JointSensor("hinge", times=TIMES[chosen], values=values, sigma=SIGMA, name="encoder")
    return tf.Estimation(wheel(coordinates), [sensor], noise={"hinge": 1e-3}, t_span=(0, TIMES[chosen][-1]),
                         prior={"hinge": tf.StatePrior((0.3, 11.0), q=0.3, v=2.0)},
                         numbers={"k": ("spring.stiffness", tf.Prior(0.45, 0.2))})


def test_as_in_joint_coordinates():
    by_wheel, by_angle = (tf.solve(estimated(c), ELEMENT, 40, progress=False) for c in (None, "joint"))
    assert by_wheel.success and by_angle.success
    assert abs(by_angle.parameters["k"] - 0.5) < 4 * by_angle.std("k")[0] < 0.02
    assert by_wheel.joint("hinge").angle().max() > 8
    assert abs(by_wheel.parameters["k"] - by_angle.parameters["k"]) < 0.01 * by_angle.std("k")[0]
    for t in (0.0, 0.7, 2.0):
        assert by_wheel.std("hinge", t) == pytest.approx(by_angle.std("hinge", t), rel=1e-3)
    assert by_wheel.joint("hinge").angle(1.3) == pytest.approx(by_angle.joint("hinge").angle(1.3), abs=1e-4)


def test_in_a_window_beyond_a_turn():
    """A window that begins after more than half a turn goes on with the turns counted before."""
    found = {}
    for coordinates in (None, "joint"):
        solver = tf.prepare(estimated(coordinates, slice(20)), ELEMENT, 20)
        for i in range(20, 40):
            sensor = tf.JointSensor("hinge", times=TIMES[[i]], values=seen()[[i]], sigma=SIGMA, name="encoder")
            sol = solver.update(sensor, window=0.6)
        assert sol.success
        found[coordinates] = sol
    by_wheel, by_angle = found[None], found["joint"]
    assert by_wheel.t[0] > 1 and by_angle.joint("hinge").angle().max() > 4
    assert abs(by_wheel.parameters["k"] - by_angle.parameters["k"]) < 0.01 * by_angle.std("k")[0]
    assert by_wheel.std("hinge", 2.0) == pytest.approx(by_angle.std("hinge", 2.0), rel=1e-3)
