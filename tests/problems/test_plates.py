"""Plates without thickness in directors, whose mass matrix is singular, against the same bodies in quaternions."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.bodies.rotations import matrix_from_quaternion

TURN, OMEGA = (np.cos(0.3), 0, np.sin(0.3), 0), (0.3, 0.2, 0.8)
AXES = matrix_from_quaternion(np.array([0.8, 0.36, 0.48, 0.0]))  # of inertia, in the body
TILTED = AXES @ np.diag([1.0, 2.0, 3.0]) @ AXES.T


def plate(rotation, inertia):
    return tf.RigidBody(1.0, (inertia + inertia.T) / 2, rotation=rotation, name="plate")


@pytest.mark.parametrize("inertia", [np.diag([1.0, 2.0, 3.0]), TILTED])
def test_momenta_hold_as_many_constraints_as_rates(inertia):
    """Those of all rotations, and no others: 6 independent ones, so that momenta have 6 of 12 directions."""
    body = plate("directors", inertia)
    system = tf.System([body])
    z = tf.InitialValueProblem(system, {body: tf.Pose((1, 2, 3), TURN, (4, 5, 6), OMEGA)}, (0, 1)).z0
    np.testing.assert_allclose(system.constraints(0.0, z), 0, rtol=0, atol=1e-14)
    jacobian = system.derivatives(0.0, z)[1].toarray()
    s = np.linalg.svd(jacobian[6:, 12:], compute_uv=False)
    assert s[-1] > 1e-2 * s[0]
    step = 1e-6 * np.random.default_rng(0).standard_normal(24)
    change = (system.constraints(0.0, z + step) - system.constraints(0.0, z - step)) / 2
    np.testing.assert_allclose(change, jacobian @ step, rtol=0, atol=1e-15)


@pytest.mark.long
@pytest.mark.parametrize("element, omega, tolerance", [
    (tf.MixedGalerkin(2, form="energy"), OMEGA, 1e-6), (tf.EML(), OMEGA, 1e-3),
    (tf.MixedGalerkin(2, form="energy"), (0.3, None, 0.8), 1e-6)])
def test_optimal_control_ends_at_an_angular_velocity(element, omega, tolerance):
    solved = []
    for rotation in ("quaternion", "directors"):
        body = plate(rotation, np.diag([1.0, 2.0, 3.0]))
        efforts = [tf.Effort(tf.ControlTorque(body)), tf.Effort(tf.ControlForce(body))]
        end = tf.EndState((0.5, 0, 0), TURN, (0, 0, 0), omega)
        solved.append(tf.solve(tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 1), efforts),
                               element, 20))
        assert solved[-1].success
        reached, wanted = solved[-1].angular_velocity("plate", 1.0), np.array(omega, float)
        given = np.isfinite(wanted)
        np.testing.assert_allclose(reached[given], wanted[given], rtol=0, atol=1e-9)
    assert abs(solved[0].objective / solved[1].objective - 1) < tolerance


@pytest.mark.parametrize("guess", ["interpolation", "march"])
def test_boundary_values_with_an_angular_velocity(guess):
    rotations = []
    for rotation in ("quaternion", "directors"):
        body = plate(rotation, TILTED)
        problem = tf.BoundaryValueProblem(
            tf.System([body, tf.Torque(body, (0.1, 0.2, -0.1))]), (0, 1),
            start={body: tf.EndState((0, 0, 0), (1, 0, 0, 0))},
            end={body: tf.EndState((0.5, 0, 0), angular_velocity=OMEGA, frame="space")})
        solution = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, guess=guess)
        assert solution.success
        np.testing.assert_allclose(solution.angular_velocity("plate", 1.0, "space"), OMEGA, rtol=0, atol=1e-9)
        rotations.append(solution.rotation_matrix("plate", 1.0))
    np.testing.assert_allclose(*rotations, rtol=0, atol=1e-6)


def test_directors_end_where_they_are_seen_to():
    """EML holds constraints of positions only: the angular velocity is by the spin, as `Solution.angular_velocity`."""
    body = plate("directors", np.diag([1.0, 2.0, 2.5]))
    end = tf.EndState((0.5, 0, 0), TURN, (0, 0, 0), OMEGA)
    solution = tf.solve(tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 1), [
        tf.Effort(tf.ControlTorque(body)), tf.Effort(tf.ControlForce(body))]), tf.EML(), 20)
    np.testing.assert_allclose(solution.angular_velocity("plate", 1.0), OMEGA, rtol=0, atol=1e-9)
