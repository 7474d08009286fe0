"""Bodies whose forces are not unique: friction stays within its limit, and what others hold does not stick and slip in
turn."""

import numpy as np
import pytest

import timefem as tf
from tests.nonsmooth.contact_scenes import AXIS, DOWN, G, solved


@pytest.mark.long
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_a_rotor_with_dry_friction_rests_at_its_stop(coordinates):
    """Turned by a constant moment: it bounces against the stop until both hold it."""
    inertia, moment, dry, highest = 0.5, 2.0, 0.8, 1.0
    rotor = tf.RigidBody(1.0, (inertia,) * 3, name="rotor")
    hinge = tf.Revolute(rotor, None, **AXIS, name="hinge")
    parts = [rotor, hinge, tf.JointForce(hinge, value=moment), tf.JointFriction(hinge, friction=dry, name="dry"),
             tf.EndStop(hinge, highest=highest, restitution=0.5, name="stop")]
    sol = solved(parts, {}, 3.0, 60, gravity=None, coordinates=coordinates)
    assert sol.success
    first = np.sqrt(2 * highest * inertia / (moment - dry))
    assert sol.events[0].t == pytest.approx(first, rel=1e-7)
    back = 0.5 * (moment - dry) / (moment + dry) * first  # until it turns round
    assert sol.events[1].kind == "slips" and sol.events[1].t == pytest.approx(first + back, rel=1e-7)
    assert sol.events[-1].t < 1.65  # by the geometric series
    forces = sol.contact_forces([2.0, 3.0])  # friction, stop
    np.testing.assert_allclose(np.abs(forces[:, 0, 1]) + forces[:, 1, 0], moment, rtol=1e-9)
    assert np.abs(forces[:, 0, 1]).max() <= dry * (1 + 1e-9)


@pytest.mark.long
def test_a_knee_with_dry_friction_leaves_its_stop():
    """Friction holds it until it slips; beside that the stop has no force but rounding, and is not to close by it."""
    runs = []
    for coordinates in ("bodies", "joint"):
        thigh, shank = (tf.RigidBody(1.0, (0.1, 0.1, 0.1), name=name) for name in ("thigh", "shank"))
        axes = {"axis_a": (0, 1, 0), "axis_b": (0, 1, 0), "point_a": (0, 0, 0.5)}
        hip = tf.Revolute(thigh, None, point_b=(0, 0, 0), name="hip", **axes)
        knee = tf.Revolute(shank, thigh, point_b=(0, 0, -0.5), name="knee", **axes)
        parts = [thigh, shank, hip, knee, tf.EndStop(knee, lowest=-0.5, highest=0.1, restitution=0.2, name="stop"),
                 tf.JointFriction(hip, friction=0.3), tf.JointFriction(knee, friction=0.2)]
        problem = tf.InitialValueProblem(tf.System(parts, gravity=DOWN, coordinates=coordinates), {hip: 1.2}, (0, 0.6))
        sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange" if coordinates == "joint" else "hamilton"), 60,
                       progress=False)
        assert sol.success and [event.kind for event in sol.events[-3:]] == ["sticks", "opens", "slips"]
        runs.append([sol.joint(joint).angle(0.6) for joint in (hip, knee)] + [sol.events[-1].t])
    np.testing.assert_allclose(runs[0], runs[1], rtol=0, atol=1e-7)


@pytest.mark.long
def test_a_block_pushed_against_a_wall():
    """The push is above the limit of friction, so that the block goes to the wall, if by nothing, and back."""
    block = tf.PointMass(1.0, name="block")
    push = tf.Force(block, (tf.Sine(6.0, 1.0), 0, 0))
    parts = [block, push, tf.PlaneContact(block, friction=0.4, name="floor"),
             tf.PlaneContact(block, normal=(-1, 0, 0), plane_point=(0, 0, 0), friction=0.2, name="wall")]
    sol = solved(parts, {block: tf.Pose()}, 0.7, 35)
    assert sol.success, sol.status.message
    limit = 0.4 * G
    reached = np.arcsin(limit / 6) / (2 * np.pi)
    assert next(event.t for event in sol.events) == pytest.approx(reached, rel=1e-10)
    forces = sol.contact_force_vectors([0.2, 0.25, 0.55])
    np.testing.assert_allclose(forces.sum(axis=1)[:2, 0], -6 * np.sin(2 * np.pi * np.array([0.2, 0.25])), rtol=1e-9)
    assert np.hypot(*forces[:, 0, :2].T).max() <= limit * (1 + 1e-3)
    assert sol.position(block, 0.5)[0] == pytest.approx(0, abs=1e-9)
    leaves = 0.5 + reached  # on its way out it is pulled against friction
    assert any(event.kind == "slips" and event.t == pytest.approx(leaves, rel=1e-6) for event in sol.events)


@pytest.mark.parametrize("moment", [0.3, pytest.param(0.5, marks=pytest.mark.long)])
def test_a_ball_in_a_groove(moment):
    """A moment along it turns the ball from mu r m g sqrt(2) / (1 + mu^2) on, where both sides are at their limits."""
    r, mu, c = 0.1, 0.3, np.sqrt(0.5)
    ball = tf.RigidBody(1.0, (0.4 * r**2,) * 3, name="ball")
    sides = [tf.PlaneContact(ball, normal=(side * c, 0, c), radius=r, friction=mu, name=name)
             for side, name in ((1, "left"), (-1, "right"))]
    twist = tf.Torque(ball, (0, tf.Sine(moment, 1.0), 0))
    sol = solved([ball, *sides, twist], {ball: tf.Pose((0, 0, r / c))}, 0.25, 20, gravity=DOWN)
    assert sol.success, sol.status.message
    assert np.abs(sol.energy.balance()).max() < 1e-10
    both = mu * r * G / c / (1 + mu**2)
    turns = [event.t for event in sol.events if event.contacts == ("left", "right")]
    if moment < both:
        assert not turns and np.abs(sol.angular_velocity(ball, 0.25)).max() < 1e-12
    else:
        assert turns == [pytest.approx(np.arcsin(both / moment) / (2 * np.pi), rel=1e-9)]
        assert sol.angular_velocity(ball, 0.25)[1] > 1.0
