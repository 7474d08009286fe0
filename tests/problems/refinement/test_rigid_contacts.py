"""Marches with rigid contact to a tolerance: it is met, in any units, and one that cannot be met is named."""

import numpy as np
import pytest

import timefem as tf


def pendulum(length=1.0, mass=1.0, time=1.0):
    """A bar that swings against a stop, with dry friction in its hinge; in units of that size."""
    force = mass * length / time**2
    bar = tf.RigidBody(1.0 * mass, np.array([0.02, 0.02, 0.001]) * mass * length**2, name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0, 0.3 * length), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                        name="hinge")
    stop = tf.EndStop(hinge, lowest=-0.6, restitution=0.7, name="stop")
    friction = tf.JointFriction(hinge, friction=0.1 * force * length, name="friction")
    system = tf.System([bar, hinge, stop, friction], gravity=(0, 0, -9.81 * length / time**2))
    return tf.InitialValueProblem(system, {hinge: (0.8, -2.0 / time)}, (0, 2.3 * time))


@pytest.mark.parametrize(("degree", "tolerance"), [(2, 1e-5), (3, 1e-8)])
def test_the_tolerance_is_met(degree, tolerance):
    problem = pendulum()
    better = tf.solve(problem, tf.MixedGalerkin(3), 400, progress=False)
    sol = tf.solve(problem, tf.MixedGalerkin(degree), tolerance=tolerance, progress=False)
    assert sol.success
    assert sol.statistics["estimated_error"] <= tolerance
    assert [event.kind for event in sol.events] == [event.kind for event in better.events]
    angle, exact = (motion.joint("hinge").coordinate(2.3) for motion in (sol, better))
    assert 1e-14 < abs(angle - exact) < 3 * tolerance
    assert np.abs(np.subtract([e.t for e in sol.events], [e.t for e in better.events])).max() < 3 * tolerance


def test_meshes_do_not_depend_on_units():
    one, other = (tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-4, progress=False)
                  for problem in (pendulum(), pendulum(1e3, 1e6, 1e3)))
    assert one.statistics["meshes"] == other.statistics["meshes"]
    assert one.statistics["estimated_error"] == pytest.approx(other.statistics["estimated_error"], rel=1e-4)


def test_parabolas_are_exact_on_the_first_meshes():
    ball = tf.PointMass(1.0, 1, name="ball")
    floor = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=0.8, name="floor")
    system = tf.System([ball, floor], gravity=(-9.81, 0, 0))
    problem = tf.InitialValueProblem(system, {ball: tf.Pose((0.4, 0, 0))}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(1), tolerance=1e-10, progress=False)
    assert sol.statistics["meshes"] == [16, 32]
    first = np.sqrt(2 * 0.4 / 9.81)
    assert [event.t for event in sol.events] == pytest.approx([first, first * 2.6], rel=1e-13)


def test_what_is_beyond_rounding_is_said():
    sol = tf.solve(pendulum(), tf.MixedGalerkin(3), tolerance=1e-16, progress=False)
    assert sol.status.reason == "not accurate"
    assert 1e-16 < sol.statistics["estimated_error"] < 1e-10
