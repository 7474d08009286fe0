"""Outputs of links of trees in linear models: those of the same mechanism in bodies."""

import numpy as np
import pytest

import timefem as tf

CENTRE, INERTIA = (0, 0.4, 0), (0.01, 0.01, 0.01)
GRAVITY = (0, -9.81, 0)


def response(model, frequency=3.0):
    shifted = 1j * frequency * np.eye(len(model.A)) - model.A
    return (model.C @ np.linalg.solve(shifted, model.B) + model.D).ravel()


@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi])
@pytest.mark.parametrize("output", ["velocity", "angular_velocity", "rotation", "rotation[2]", "acceleration[0]",
                                    "position"])
def test_links_as_bodies(output, angle):
    link = tf.Link("rod", mass=0.2, centre=(0, 0, 0), inertia=INERTIA)  # whose origin is its centre
    tree = tf.Tree([tf.Link("base"), tf.Link("arm"), link],
                   [tf.TreeJoint("hinge", "base", "arm"), tf.TreeJoint("weld", "arm", "rod", "fixed", position=CENTRE)],
                   name="tree")
    body = tf.RigidBody(0.2, INERTIA, name="rod")
    hinge = tf.Revolute(body, point_a=-np.array(CENTRE), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    of_tree = tf.System([tree, tf.JointControl(tree.joint("hinge"))], gravity=GRAVITY)
    of_body = tf.System([body, hinge, tf.JointControl(hinge)], gravity=GRAVITY)
    balance = {"controls": "balance"}
    expected = tf.linearize(of_body, {hinge: angle}, outputs=[f"rod.{output}"], **balance)
    found = tf.linearize(of_tree, {tree: {"hinge": angle}}, outputs=[f"tree.rod.{output}"], **balance)
    np.testing.assert_allclose(response(found), response(expected), rtol=1e-10, atol=1e-12)


def test_springs_and_dampers_of_joints():
    """An arm about its hinge, `w^2 = k / J - (d / 2J)^2`, at rest and where `settle` finds it."""
    stiffness, damping, inertia = 5.0, 0.1, 0.1 + 0.25
    arm = tf.Tree([tf.Link("base"), tf.Link("arm", mass=1.0, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))],
                  [tf.TreeJoint("hinge", "base", "arm", axis=(0, 1, 0), stiffness=stiffness, damping=damping)])
    decay = damping / 2 / inertia
    wanted = -decay + 1j * np.sqrt(stiffness / inertia - decay**2)
    found = tf.linearize(tf.System([arm]), {arm: {"hinge": 0.0}})
    assert found.steady and np.abs(found.eigenvalues - [wanted, wanted.conjugate()]).max() < 1e-12
    assert not tf.linearize(tf.System([arm]), {arm: {"hinge": 0.3}}).steady  # the spring pulls
