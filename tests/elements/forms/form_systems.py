"""Systems for the tests of the forms, and what they are compared with."""

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation.elements_in_lanes import ElementBatch

G = 9.81


def double_pendulum(t_end=1.0):
    """Two unit masses on unit rods, in joint angles: the mass matrix varies."""
    def kinetic(q, v, c):
        return v[0]**2 + v[1]**2 / 2 + v[0] * v[1] * ca.cos(q[0] - q[1])

    def potential(q, c):
        return -G * (2 * ca.cos(q[0]) + ca.cos(q[1]))

    system = tf.GeneralizedSystem(2, kinetic, potential)
    return tf.InitialValueProblem(system, tf.Coordinates([1.0, 0.5], [0.3, -0.2]), (0, t_end))


def double_pendulum_rate(q, p):
    """qdot and pdot of Hamilton's equations of the double pendulum."""
    s = np.sin(q[0] - q[1])
    mass = np.array([[2, np.cos(q[0] - q[1])], [np.cos(q[0] - q[1]), 1]])
    v = np.linalg.solve(mass, p)
    coupling = v[0] * v[1] * s
    return v, np.array([-coupling - 2 * G * np.sin(q[0]), coupling - G * np.sin(q[1])])


def double_pendulum_state(z0, t):
    """State at the time t by DOP853."""
    sol = solve_ivp(lambda t, z: np.concatenate(double_pendulum_rate(z[:2], z[2:])), (0, t), z0, method="DOP853",
                    rtol=1e-13, atol=1e-13)
    return sol.y[:, -1]


def point_pendulum(t_end=1.0):
    """A mass of 1.5 kg on a rod of 1 m, in Cartesian coordinates."""
    mass = tf.PointMass(1.5, dimension=2, name="mass")
    rod = tf.RigidDistance(mass, None, point_a=(0, 0, 0), point_b=(0, 0, 0), length=1.0, name="rod")
    pull = tf.Force(mass, [0, -1.5 * G, 0])
    state = {mass: tf.Pose(position=[np.sin(1.2), -np.cos(1.2), 0], velocity=[np.cos(1.2), np.sin(1.2), 0])}
    return tf.InitialValueProblem(tf.System([mass, rod, pull]), state, (0, t_end))


def point_pendulum_position(t):
    """Position at the time t, by DOP853 for the angle."""
    sol = solve_ivp(lambda t, y: [y[1], -G * np.sin(y[0])], (0, t), [1.2, 1.0], method="DOP853", rtol=1e-13, atol=1e-13)
    return np.array([np.sin(sol.y[0, -1]), -np.cos(sol.y[0, -1])])


def mass_spring(t_end=2.0):
    """The redundant coordinates with a singular mass matrix of Kinon & Betsch (2024)."""
    return find_case("mass-spring").make(t_end=t_end)


def step_derivative(problem, element, h):
    """State at the end of one element of length h, and its derivative by that at the start, where the further fields
    of the first node are held."""
    batch = ElementBatch(problem.system, element)
    state = {body: tf.CanonicalState(problem.z0[part], problem.z0[problem.system.n_q:][part])
             for body in problem.system.bodies for part in [problem.system.coordinates(body)]}
    sol = tf.solve(tf.InitialValueProblem(problem.system, state, (0, h)), element, 1, progress=False)
    assert sol.success
    multipliers = sol.nodal.multipliers[..., element.kept_multipliers(problem.system)]
    fields = [sol.nodal.state, multipliers]
    for name, field in list(zip(element.trial, batch.columns.fields, strict=True))[2:]:
        fields.append(sol.fields.get(name, np.zeros((1, *field.shape))))
    x = batch.columns.pack(*fields)[None]
    residual, tangent = batch(x, h)
    tangent, n = batch.dense(tangent)[0], batch.columns.n_node
    assert np.abs(residual).max() < 1e-9
    derivative = -np.linalg.solve(tangent[:, n:], tangent[:, :n])
    state = batch.columns.fields[0]
    return sol.z[-1], derivative[np.ix_(state[-1] - n, state[0])]


def symplectic_error(z0_vectors, z1_vectors):
    """Largest change of the canonical two-form on pairs of vectors, columns (q, p)."""
    n = len(z0_vectors) // 2
    j = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    return np.abs(z1_vectors.T @ j @ z1_vectors - z0_vectors.T @ j @ z0_vectors).max()
