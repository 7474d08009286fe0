"""A six-axis arm in joint coordinates in least time, with limits of torques, rates and angles."""

import numpy as np
import pytest

import timefem as tf

MASSES, LENGTHS = (8, 6, 4, 2, 1.5, 1), (0.3, 0.4, 0.4, 0.2, 0.15, 0.1)
AXES = (0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)
TORQUES, RATE, ANGLE = np.array([60, 80, 50, 15, 10, 5.0]), 3.0, 2.5


def arm():
    links, joints, at = [tf.Link("base")], [], 0.0
    for i, (mass, length, axis) in enumerate(zip(MASSES, LENGTHS, AXES, strict=True)):
        across = mass * length**2 / 12 + 0.01
        links.append(tf.Link(f"link {i}", mass, (0, 0, length / 2), np.array([across, across, 0.01])))
        joints.append(tf.TreeJoint(f"joint {i}", links[-2].name, links[-1].name, position=(0, 0, at), axis=axis,
                                   armature=0.1))
        at = length
    return tf.Tree(links, joints, name="arm")


@pytest.mark.long
def test_least_time_with_torque_rate_and_joint_limits():
    tree = arm()
    motors = tf.GeneralizedControl(tree, np.eye(6), name="motors")
    limits = [tf.Limit(lambda now, u: now.rates(tree), -RATE, RATE, name="rates"),
              tf.Limit(lambda now, u: now.q(tree), -ANGLE, ANGLE, name="angles")]
    start = tf.Coordinates([0, 0.3, 0.8, 0, 0.5, 0])
    end = tf.EndState(q=(1.2, 0.8, 1.2, 0.6, -0.4, 0.9), v=(0,) * 6)
    problem = tf.OptimalControl(tf.System([tree], gravity=(0, 0, -9.81)), {tree: start}, {tree: end}, (0, 1.0),
                                actuators=motors, free_time=True, limits=limits,
                                end_cost=lambda end, numbers: numbers["duration"],
                                bounds={motors: (-TORQUES, TORQUES), "duration": (0.1, 5)})
    element = tf.MixedGalerkin(2, n_points=2, form="lagrange")
    own, ipopt = (tf.solve(problem, element, 20, method=method, progress=False) for method in
                  ("interior-point", "ipopt"))
    assert own.success and own.objective == pytest.approx(ipopt.objective, rel=1e-6)
    share = np.abs(own.controls(own.t)) / TORQUES
    assert share.max() == pytest.approx(1, abs=1e-6)
    assert (share.max(axis=1) > 0.999).mean() > 0.8  # nearly always one motor is at its limit
    assert np.abs(own.z[:, :6]).max() <= ANGLE + 1e-6
