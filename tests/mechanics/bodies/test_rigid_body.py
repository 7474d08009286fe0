import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timefem as tf
from tests.example_systems import PENDULUM_INERTIA, ROTATIONS
from timefem.mechanics.bodies import rotations

POSE = tf.Pose(position=[1, 2, 3], orientation=[0.5, 0.5, 0.5, 0.5], velocity=[0.1, -0.2, 0.3],
               angular_velocity=[0.3, 5, 1])
INERTIA = np.array([[5, 0.3, -0.2], [0.3, 26, 0.7], [-0.2, 0.7, 29]])


def problem(rotation, pose=POSE, **options):
    body = tf.RigidBody(12, INERTIA, rotation, **options)
    return body, tf.InitialValueProblem(tf.System([body]), {body: pose}, (0, 1))


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_state_gives_the_pose_back(rotation):
    body, p = problem(rotation)
    q, momentum = p.z0[:body.n_q], p.z0[body.n_q:]
    np.testing.assert_allclose(body.position(q), POSE.position, rtol=0, atol=1e-15)
    np.testing.assert_allclose(body.velocity(q, momentum), POSE.velocity, rtol=0, atol=1e-15)
    np.testing.assert_allclose(body.rotation_matrix(q), rotations.matrix_from_quaternion(POSE.quaternion),
                               rtol=0, atol=1e-15)
    np.testing.assert_allclose(body.angular_velocity(q, momentum), POSE.angular_velocity, rtol=0, atol=1e-14)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_energy_and_momenta(rotation):
    body, p = problem(rotation)
    q, momentum = p.z0[:body.n_q], p.z0[body.n_q:]
    omega, v = POSE.angular_velocity, POSE.velocity
    assert p.system.hamiltonian(0, p.z0) == pytest.approx(6 * v @ v + omega @ INERTIA @ omega / 2, rel=1e-14)
    r = body.rotation_matrix(q)
    expected = np.cross(POSE.position, 12 * v) + r @ INERTIA @ omega
    np.testing.assert_allclose(body.angular_momentum(q, momentum), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(body.linear_momentum(q, momentum), 12 * v, rtol=0, atol=1e-14)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_space_frame(rotation):
    r = rotations.matrix_from_quaternion(POSE.quaternion)
    pose = tf.Pose(orientation=r, angular_velocity=r @ POSE.angular_velocity, frame="space")
    body, p = problem(rotation, pose)
    q, momentum = p.z0[:body.n_q], p.z0[body.n_q:]
    np.testing.assert_allclose(body.angular_velocity(q, momentum), POSE.angular_velocity, rtol=0, atol=1e-14)
    np.testing.assert_allclose(body.angular_velocity(q, momentum, "space"), r @ POSE.angular_velocity, rtol=0,
                               atol=1e-14)


@pytest.mark.parametrize("rotation, inverse_mass", [("quaternion", "polynomial"), ("quaternion", "exact"),
                                                    ("directors", "polynomial")])
def test_velocity_is_the_inverse_of_the_momentum(rotation, inverse_mass):
    """qdot = dH/dp at the consistent momenta gives the velocities that they were made of."""
    body, p = problem(rotation, inverse_mass=inverse_mass)
    grad, _, _ = p.system.derivatives(0, p.z0)
    rate = grad[body.n_q:]
    step = 1e-6
    ahead = tf.solve(tf.InitialValueProblem(p.system, {body: tf.CanonicalState(p.z0[:body.n_q], p.z0[body.n_q:])},
                                            (0, step)), tf.MixedGalerkin(3), 1)
    np.testing.assert_allclose((ahead.z[-1] - p.z0)[:body.n_q] / step, rate, rtol=0, atol=1e-4)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_quaternion_and_matrix(q):
    q = np.array(q) / np.linalg.norm(q)
    r = rotations.matrix_from_quaternion(q)
    np.testing.assert_allclose(r.T @ r, np.eye(3), rtol=0, atol=1e-14)
    back = rotations.quaternion_from_matrix(r)
    np.testing.assert_allclose(np.abs(back @ q), 1, rtol=0, atol=1e-14)


@pytest.mark.parametrize("mass, inertia, message", [
    (-1, [1, 1, 1], "mass must be positive"), (0, [1, 1, 1], "mass must be positive"),
    (np.nan, [1, 1, 1], "mass must be finite"), ("heavy", [1, 1, 1], "mass must be a number"),
    (1, [1, 1, 3], "triangle inequality"), (1, [1, -1, 1], "positive definite"), (1, [1, np.nan, 1], "finite"),
    (1, [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], "symmetric"), (1, [1, 1], "shape"), (1, 5, "shape")])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_bad_bodies(mass, inertia, message, rotation):
    with pytest.raises(tf.InputError, match=message):
        tf.RigidBody(mass, inertia, rotation)


@pytest.mark.parametrize("make, message", [
    (lambda: tf.RigidBody(1, [1, 1, 1], "euler"), "rotation must be one of"),
    (lambda: tf.RigidBody(1, [1, 1, 1], "directors", "exact"), "applies to rotation='quaternion'"),
    (lambda: tf.Pose(orientation=[1, 1, 0, 0]), "length 1.414"),
    (lambda: tf.Pose(orientation=2 * np.eye(3)), "not a rotation"),
    (lambda: tf.Pose(orientation=np.diag([1, 1, -1])), "not a rotation"),
    (lambda: tf.Pose(position=[0, np.inf, 0]), "position must be finite"),
    (lambda: tf.Pose(angular_velocity=[0, np.nan, 0]), "angular_velocity must be finite"),
    (lambda: tf.Pose(frame="moon"), "frame"),
    (lambda: tf.CanonicalState([1, 2], [1]), "p must have shape"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


def test_a_plate_works_in_quaternions():
    plate = tf.RigidBody(1, [1, 1, 2])
    problem = tf.InitialValueProblem(tf.System([plate]), {plate: tf.Pose(angular_velocity=[1, 2, 3])}, (0, 1))
    assert tf.solve(problem, tf.MixedGalerkin(2), 20).errors()["energy"] < 1e-11


def test_pendulum_inertia():
    assert PENDULUM_INERTIA == pytest.approx([841.6666666666666, 16.666666666666668, 841.6666666666666], rel=1e-15)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_rates_of_the_coordinates(rotation):
    """qdot of a turning body, by its maps of rotations; the orientation gives the same coordinates back."""
    random = np.random.default_rng(0)
    body = tf.RigidBody(2.0, [1, 2, 2.5], rotation)
    quaternion, omega = random.normal(size=4), random.normal(size=3)
    pose = tf.Pose(random.normal(size=3), quaternion / np.linalg.norm(quaternion), angular_velocity=omega)
    q, p = body.state(pose)
    rate = tf.System([body]).velocity(0, np.concatenate([q, p]))
    by_space, by_body = body.turning(q)
    for found in (by_body @ omega, by_space @ (body.rotation_matrix(q) @ omega), body.spin_matrix(omega) @ q):
        np.testing.assert_allclose(found, rate, rtol=0, atol=1e-15 * 4)
    same = body.state(tf.Pose(q[:3], body.orientation(q)))[0]
    np.testing.assert_allclose(same, q, rtol=0, atol=1e-15)
