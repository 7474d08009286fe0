"""Point masses in one to three dimensions."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.describe import build, describe


def fall(dimension):
    mass = tf.PointMass(2, dimension, name="ball")
    keep = np.arange(3) < dimension
    pose = tf.Pose(position=np.array([1, 2, 3]) * keep, velocity=np.array([4, -5, 6]) * keep)
    return mass, pose, tf.InitialValueProblem(tf.System([mass], gravity=[1, -2, -9.81]), {mass: pose}, (0, 1))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_free_fall(dimension):
    mass, pose, problem = fall(dimension)
    solution = tf.solve(problem, tf.MixedGalerkin(2), 5)
    g = np.array([1, -2, -9.81]) * (np.arange(3) < dimension)
    np.testing.assert_allclose(solution.position(mass, 1.0), pose.position + pose.velocity + g / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.velocity(mass, 1.0), pose.velocity + g, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.linear_momentum(1.0), 2 * (pose.velocity + g), rtol=0, atol=1e-12)
    moment = 2 * np.cross(pose.position, pose.velocity)
    np.testing.assert_allclose(solution.angular_momentum()[0], moment, rtol=0, atol=1e-13)
    assert solution.errors()["energy"] < 1e-12
    assert solution.energy(0.0) == pytest.approx(pose.velocity @ pose.velocity - 2 * pose.position @ g, rel=1e-14)


def test_output_has_three_components():
    mass, _, problem = fall(2)
    solution = tf.solve(problem, tf.MixedGalerkin(1), 3)
    assert solution.position(mass, [0.1, 0.2]).shape == (2, 3)
    assert solution.angular_momentum().shape == (4, 3)
    assert set(solution.to_dict()["bodies"]["ball"]) == {"position", "velocity"}


def test_with_a_rigid_body():
    """A rigid body and a point mass in one system: each moves as on its own, and momenta add up."""
    mass, body = tf.PointMass(2), tf.RigidBody(12, [5, 26, 29])
    poses = {mass: tf.Pose([1, 2, 3], velocity=[1, 0, -1]), body: tf.Pose(angular_velocity=[0, 5, 1])}
    solution = tf.solve(tf.InitialValueProblem(tf.System([mass, body]), poses, (0, 0.5)), tf.MixedGalerkin(2, 2), 20)
    np.testing.assert_allclose(solution.position(mass, 0.5), [1.5, 2, 2.5], rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.angular_momentum(0.0), 2 * np.cross([1, 2, 3], [1, 0, -1]) + [0, 130, 29],
                               rtol=0, atol=1e-12)
    assert solution.errors()["angular_momentum"] < 1e-11


def test_files(tmp_path):
    mass, _, problem = fall(2)
    again = build(describe(problem.system)).bodies[0]
    assert (again.mass, again.dimension, again.name) == (2, 2, "ball")
    solution = tf.solve(problem, tf.MixedGalerkin(1), 3)
    solution.save(tmp_path / "a.h5")
    np.testing.assert_array_equal(tf.load(tmp_path / "a.h5").position("ball", 1.0), solution.position(mass, 1.0))


@pytest.mark.parametrize("make, message", [
    (lambda: tf.PointMass(0), "mass must be positive"), (lambda: tf.PointMass(np.inf), "mass must be finite"),
    (lambda: tf.PointMass(1, 4), "dimension must be 1, 2 or 3"), (lambda: tf.PointMass(1, 0), "at least 1"),
    (lambda: tf.PointMass(1, 2.0), "dimension must be an integer"),
    (lambda: tf.PointMass(1, name="ball").state(tf.Pose(angular_velocity=[0, 0, 1])), "ball: a point mass does not"),
    (lambda: tf.PointMass(1).state(tf.Pose(orientation=[0, 1, 0, 0])), "position and velocity only"),
    (lambda: tf.PointMass(1, 2).state(tf.Pose([0, 0, 1])), "position .* leaves the first 2 axes"),
    (lambda: tf.PointMass(1, 1).state(tf.Pose(velocity=[0, 1, 0])), "velocity .* leaves the first 1 axes"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


@pytest.mark.parametrize("quantity", ["rotation_matrix", "quaternion", "angular_velocity"])
def test_it_does_not_rotate(quantity):
    solution = tf.solve(fall(3)[2], tf.MixedGalerkin(1), 2)
    with pytest.raises(tf.InputError, match=f"ball has no {quantity.replace('_', ' ')}"):
        getattr(solution, quantity)("ball", 0.5)
