"""Inverse dynamics of estimated motions, with uncertainty."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.numbers.changes import extended
from timefem.mechanics.values.of_parts import control_force
from timefem.problems.estimation.loads import loads_along
from timefem.problems.estimation.sensors import Marker

from .test_kinematic import arm, closed_chain, markers, points, solve


def heavy(tree, *parts):
    return tf.System([tree, *parts], gravity=(0, -9.81, 0))


def motion(t):
    """Angles of two joints, and their first two derivatives, shape (n, 3, 2)."""
    return np.stack([[0.4 * np.sin(3 * t), 0.3 * np.cos(2 * t)], [1.2 * np.cos(3 * t), -0.6 * np.sin(2 * t)],
                     [-3.6 * np.sin(3 * t), -1.2 * np.cos(2 * t)]]).transpose(2, 0, 1)


def test_torques_of_an_arm():
    """At a known state: those by the mass matrix and the weight of two rods; at an estimated one near them."""
    system, t = heavy(arm(2)), np.linspace(0, 2, 101)
    tree, x = system.bodies[0], motion(t)
    exact = loads_along(system, t, x, lambda slopes: np.zeros((len(slopes), 2, 2)))
    (a, b), (va, vb) = x[:, 0].T, x[:, 1].T
    m, j, c, g = 1.0, 0.1, 0.5, 9.81
    coupling, rush = m * c * np.cos(b), m * c * np.sin(b)
    mass = np.array([[2 * j + m * c**2 + m * (1 + c**2) + 2 * coupling, j + m * c**2 + coupling],
                     [j + m * c**2 + coupling, j + m * c**2 + 0 * b]])
    weight = np.array([m * g * (c * np.cos(a) + np.cos(a) + c * np.cos(a + b)), m * g * c * np.cos(a + b)])
    whirl = np.array([-rush * (2 * va * vb + vb**2), rush * va**2])
    right = np.einsum("ijn,nj->in", mass, x[:, 2]) + whirl + weight
    np.testing.assert_allclose(exact.controls, right.T, rtol=0, atol=1e-12)
    places = points(tree, x[:, 0]) + 0.001 * np.random.default_rng(1).standard_normal((2, 101, 3))
    sol = solve(system, markers(tree, t, places, 0.001), 50.0, 3)
    loads = sol.inverse_dynamics()
    assert loads.names == ("joint0", "joint1")
    inside = np.abs(loads.controls - exact.controls) < 3 * loads.controls_std
    assert inside.mean() > 0.97 and loads.controls_std[50].max() < 0.2 * np.ptp(exact.controls)
    value, std = loads.of("joint1")
    np.testing.assert_array_equal(value, loads.controls[:, 1])
    np.testing.assert_array_equal(std, loads.controls_std[:, 1])


@pytest.mark.long
def test_deviations_are_those_of_draws():
    system, t = heavy(arm(2)), np.linspace(0, 1, 26)
    tree, x = system.bodies[0], motion(t)
    sol = solve(system, markers(tree, t, points(tree, x[:, 0]), 0.002), 500.0, 3)
    loads, smoother, rng = sol.inverse_dynamics(), sol._found.smoother, np.random.default_rng(2)
    drawn = np.array([loads_along(system, t, smoother.draw(sol._found.x, sol._found.c, rng)[0],
                                  lambda slopes: np.zeros((len(slopes), 2, 2))).controls for _ in range(300)])
    np.testing.assert_allclose(drawn.std(axis=0), loads.controls_std, rtol=0.2)


def test_loops_and_actuators():
    """Two drives on the two freedoms of a closed chain, and the force at its tip."""
    tree, held, t, q = closed_chain(41)
    system = heavy(tree, *[p for p in held.parts if not p.is_body])
    prior = {tree: dict(zip(tree.joint_names, q[0], strict=True))}
    sol = solve(system, markers(tree, t, points(tree, q), 1e-4), 1e4, 3, prior=prior)
    drives = [tf.JointControl(tree.joint(name), name=f"{name} motor") for name in ("joint0", "joint1")]
    loads = sol.inverse_dynamics(drives)
    assert loads.names == ("joint0 motor", "joint1 motor") and loads.multipliers.shape == (41, 2)
    i, driven = 20, extended(system, drives)
    z, rate = sol.z[i], control_force(driven, t[i], sol.z[i], loads.controls[i])
    gradient, jacobian, _ = system.derivatives(t[i], z)
    momentum = (sol.z[i + 1] - sol.z[i - 1])[4:] / (t[i + 1] - t[i - 1])
    right = rate - gradient[:4] - jacobian.toarray()[:2, :4].T @ loads.multipliers[i]
    np.testing.assert_allclose(momentum, right, rtol=0, atol=0.05 * np.abs(rate).max())
    assert np.all(loads.multipliers_std > 0)
    with pytest.raises(tf.InputError, match="the drives cannot give the motion"):
        sol.inverse_dynamics(drives[:1])
    with pytest.raises(tf.InputError, match="accelerations are noise"):
        solve(system, markers(tree, t, points(tree, q)), 50.0, prior=prior).inverse_dynamics()
    with pytest.raises(tf.InputError, match="no control 'knee'; there are joint0 motor"):
        loads.of("knee")


def test_force_on_a_free_body():
    """A thrown body, in quaternions: no force besides the weight, and no torque."""
    body = tf.RigidBody(2.0, (0.3, 0.4, 0.5), name="body")
    system, t = tf.System([body], gravity=(0, 0, -9.81)), np.linspace(0, 1, 51)
    start = tf.InitialValueProblem(system, {body: tf.Pose(velocity=(1, 0, 5), angular_velocity=(2, 1, 0.5))}, (0, 1))
    flight = tf.solve(start, tf.MixedGalerkin(3), 50, progress=False)
    corners, rng = 0.3 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, 0]]), np.random.default_rng(3)
    q, _ = system.local_state(body, flight.z)
    sensors = [Marker(body, corner, times=t, sigma=0.001, values=body.position(q) + body.rotation_matrix(q) @ corner
                      + 0.001 * rng.standard_normal((51, 3))) for corner in corners]
    loads = solve(system, sensors, {body: (1e3, 1e4)}, 3).inverse_dynamics()
    place = slice(0, 3)
    assert np.all(np.abs(loads.controls[:, place]) < 4.5 * loads.controls_std[:, place])
