"""States and targets of trees by their joints, and of bodies relative to their links."""

import numpy as np
import pytest

import timefem as tf

DOWN, ELEMENT = (0, 0, -9.81), tf.MixedGalerkin(2, form="lagrange")


@pytest.fixture
def arm():
    links = [tf.Link("base"), tf.Link("upper", 3.0, (0, 0, 0.2), (0.05, 0.05, 0.01)),
             tf.Link("fore", 1.5, (0, 0, 0.15), (0.02, 0.02, 0.004))]
    joints = [tf.TreeJoint("shoulder", "base", "upper", axis=(0, 1, 0)),
              tf.TreeJoint("elbow", "upper", "fore", position=(0, 0, 0.4), axis=(0, 1, 0))]
    return tf.Tree(links, joints, name="arm")


def test_bodies_stand_relative_to_links(arm):
    """Also while the links move: a body welded to a link begins with its velocity."""
    hand = tf.RigidBody(0.5, (0.01, 0.02, 0.03), name="hand")
    weld = tf.Weld(hand, arm.link("fore"), point_a=(0, 0, 0), point_b=(0, 0, 0.3))
    start = {arm: {"shoulder": (0.3, 1.0), "elbow": (-0.7, 2.0)},
             hand: tf.Pose((0, 0, 0.3), relative_to=arm.link("fore"))}
    problem = tf.InitialValueProblem(tf.System([arm, hand, weld], gravity=DOWN), start, (0, 0.1))
    system, z = problem.system, problem.z0[None]
    link = arm.link("fore", (0, 0, 0.3))
    for what in ("position", "velocity"):
        found, expected = (getattr(b, what)(*system.local_state(b, z)[:1 + (what == "velocity")]) for b in (hand, link))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    assert np.linalg.norm(hand.velocity(*system.local_state(hand, z))) > 1


@pytest.mark.parametrize("kind", ["optimal", "boundary"])
def test_targets_by_joints(arm, kind):
    start, end = {"shoulder": -0.2, "elbow": 0.5}, {"shoulder": 0.3, "elbow": 0.2}
    if kind == "optimal":
        motors = tf.GeneralizedControl(arm, np.eye(2), name="motors")
        system = tf.System([arm, motors], gravity=DOWN)
        problem = tf.OptimalControl(system, {arm: start}, {arm: end}, (0, 1), cost=tf.Effort(motors))
    else:
        problem = tf.BoundaryValueProblem(tf.System([arm]), (0, 0.5), start={arm: start}, end={arm: end})
    sol = tf.solve(problem, ELEMENT, 10, progress=False)
    assert sol.success
    for name in start:
        motion = sol.joint(name)
        np.testing.assert_allclose(motion.angle(sol.t[[0, -1]]), [start[name], end[name]], rtol=0, atol=1e-9)
    with pytest.raises(tf.InputError, match="elbo"):
        tf.BoundaryValueProblem(tf.System([arm]), (0, 1), start={arm: start}, end={arm: {"elbo": 0.1}})
