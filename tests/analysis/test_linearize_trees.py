"""Outputs of links of trees in linear models: those of the same mechanism in bodies."""

import numpy as np
import pytest
from scipy.special import ellipk

import timefem as tf
from timefem.analysis.nearby import settle
from timefem.mechanics.bodies.states import CanonicalState

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


def test_motions_of_a_ball_joint():
    """Multipliers of a pendulum that hangs, the period of large swings, and its mode as a motion."""
    moments = np.array([0.1, 0.12]) + 0.25
    tree = tf.Tree([tf.Link("base"), tf.Link("rod", mass=1.0, centre=(0, 0, -0.5), inertia=(0.1, 0.12, 0.05))],
                   [tf.TreeJoint("ball", "base", "rod", kind="spherical")], name="tree")
    system, rates = tf.System([tree], gravity=(0, 0, -9.81)), np.sqrt(9.81 * 0.5 / moments)
    element = tf.MixedGalerkin(3, form="lagrange")
    hanging = tf.solve(tf.InitialValueProblem(system, {tree: {"ball": tf.Pose()}}, (0, 1)), element, 30, progress=False)
    wanted = np.concatenate([np.exp(1j * rates), np.exp(-1j * rates), [1, 1]])
    found = tf.floquet(hanging).multipliers
    assert np.abs(found[:, None] - wanted).min(axis=0).max() < 1e-7

    angle = 0.8
    start = {tree: {"ball": tf.Pose(orientation=(np.cos(angle / 2), np.sin(angle / 2), 0, 0))}}
    period = 4 / rates[0] * ellipk(np.sin(angle / 2)**2)
    orbit = tf.periodic(system, start, period * 1.001, element, 40)
    turned = orbit.solution.rotation_matrix("tree.rod", 0.0)[:, 2]
    assert orbit.success and np.abs(turned[0]) < 1e-6
    assert orbit.period == pytest.approx(4 / rates[0] * ellipk((1 - turned[2]) / 2), rel=1e-6)

    swing = tf.modes(system, hanging, 0.0)[0].motion(size=0.1)
    assert swing.rotation_matrix("tree.rod", 0.0)[::2, 2] == pytest.approx([np.sin(0.1), np.cos(0.1)], abs=1e-12)


def test_a_robot_with_a_free_base_comes_to_rest():
    """Its arm where the spring is at rest; the base stays where it is."""
    tree = tf.Tree([tf.Link("base", mass=1.0, inertia=(0.1, 0.2, 0.3)),
                    tf.Link("arm", mass=1.0, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))],
                   [tf.TreeJoint("hinge", "base", "arm", axis=(0, 1, 0), stiffness=5.0, rest=0.3)], base="free",
                   name="tree")
    system = tf.System([tree])
    found = settle(system, {tree: CanonicalState(*tree.state({}))})
    assert abs(tree.joint_states(found[tree].q, found[tree].p)["hinge"][0] - 0.3) < 1e-9
