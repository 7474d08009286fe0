"""A heavy top whose mass matrix is singular: in directors of Euler tensor (0, 10, 10), and in a quaternion."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from tests.example_systems import slope
from timefem.mechanics.bodies import rotations

pytestmark = pytest.mark.long

N_ELEMENTS = {1: (40, 80, 160), 2: (20, 40, 80), 3: (10, 20, 40)}
OMEGA, START, WEIGHT = np.array([8.0, 0.5, 1.0]), np.array([np.cos(0.5), 0.0, -np.sin(0.5), 0.0]), 60.0


def axis(inertia, t=0.5):
    """Axis d1 at the time t by Euler's equations for R and Omega, DOP853."""
    def rate(t, y):
        r, omega = y[:9].reshape(3, 3), y[9:]
        torque = np.cross([1, 0, 0], r.T @ [0, 0, -WEIGHT])
        return np.concatenate([(r @ rotations.hat(omega)).ravel(),
                               (torque - np.cross(omega, inertia * omega)) / inertia])

    start = np.concatenate([rotations.matrix_from_quaternion(START).ravel(), OMEGA])
    end = solve_ivp(rate, (0, t), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return end[:9].reshape(3, 3)[:, 0]


def in_directors():
    def constraints(q, c):
        d = ca.vertsplit(q, 3)
        return [*((ca.sumsqr(x) - 1) / 2 for x in d), ca.dot(d[0], d[1]), ca.dot(d[0], d[2]), ca.dot(d[1], d[2])]

    system = tf.GeneralizedSystem(9, lambda q, v, c: 5 * ca.sumsqr(v[3:]), lambda q, c: WEIGHT * q[2], constraints)
    r = rotations.matrix_from_quaternion(START)
    return tf.InitialValueProblem(system, tf.Coordinates(r.T.ravel(), (r @ rotations.hat(OMEGA)).T.ravel()), (0, 0.5))


def in_quaternion():
    top = tf.RigidBody(1.0, [16, 9.5, 9], name="top")
    r = rotations.matrix_from_quaternion(START)
    pose = tf.Pose(r[:, 0], START, r @ np.cross(OMEGA, [1, 0, 0]), OMEGA)
    system = tf.System([top, tf.FixedPoint(top, [-1, 0, 0])], gravity=[0, 0, -WEIGHT])
    return tf.InitialValueProblem(system, {top: pose}, (0, 0.5))


CASES = {"directors": (in_directors, np.array([20.0, 10, 10]), lambda sol: sol.z[-1, :3]),
         "quaternion": (in_quaternion, np.array([16.0, 10.5, 10]), lambda sol: sol.rotation_matrix("top", 0.5)[:, 0])}


@pytest.mark.parametrize("name, form, k, cap", [
    ("directors", "impulse", 1, 4.5e-5), ("directors", "impulse", 2, 2.8e-9), ("directors", "impulse", 3, 1.7e-11),
    ("directors", "energy", 1, 2.0e-5), ("directors", "energy", 2, 1.8e-8), ("directors", "energy", 3, 3.7e-11),
    ("quaternion", "impulse", 1, 3.6e-5), ("quaternion", "impulse", 2, 2.2e-9), ("quaternion", "impulse", 3, 5.5e-12),
    ("quaternion", "energy", 1, 1.6e-5), ("quaternion", "energy", 2, 3.1e-9), ("quaternion", "energy", 3, 4.5e-12)])
def test_order(name, form, k, cap):
    make, inertia, end = CASES[name]
    problem, exact, errors = make(), axis(inertia), []
    for n in N_ELEMENTS[k]:
        sol = tf.solve(problem, tf.MixedGalerkin(k, 2 * k, form=form), n, progress=False)
        errors.append(np.abs(end(sol) - exact).max())
    assert slope(1 / np.array(N_ELEMENTS[k]), errors) == pytest.approx(2 * k, abs=0.2) and errors[-1] < cap
    found = sol.errors()
    assert found["configuration"] < 2e-14 and found["velocity"] < 2e-13
    if (name, form) == ("directors", "energy"):
        np.testing.assert_allclose(sol.energy(), sol.energy()[0], rtol=0, atol=5e-12)
