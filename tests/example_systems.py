"""The two bodies of May & Betsch (2025), for tests."""

import json
from pathlib import Path

import numpy as np

import timefem as tf

DATA = Path(__file__).parent / "data"
ROTATIONS = ("quaternion", "directors")
PENDULUM_INERTIA = [100 * (10**2 + 1) / 12, 100 * 2 / 12, 100 * (10**2 + 1) / 12]


def reference(name):
    return json.loads((DATA / f"{name}.json").read_text())


def spinning_box(rotation="quaternion", t_end=5.0, **options):
    box = tf.RigidBody(12, [5, 26, 29], rotation, name="box", **options)
    return tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=[0, 5, 1])}, (0, t_end))


def pendulum(rotation="quaternion", t_end=5.0, size=None):
    body = tf.RigidBody(100, PENDULUM_INERTIA, rotation, name="pendulum", size=size)
    system = tf.System([body, tf.FixedPoint(body, [0, -5, 0], name="support")], gravity=[0, 0, -9.81])
    return tf.InitialValueProblem(system, {body: tf.Pose(position=[0, 5, 0])}, (0, t_end))


def end_error(problem, solution, exact):
    """Relative error of the coordinates at the end, May & Betsch (66), over the rotation coordinates."""
    q = slice(3, problem.system.n_q)
    return np.linalg.norm(solution.z[-1, q] - exact[q]) / np.linalg.norm(exact[q])


def slope(sizes, errors):
    """Fitted order of convergence."""
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


def assert_tangent_is_derivative(batch, h, t=0.0, *, step, atol):
    """The tangent of an element at random dofs, where it is finite, against central differences; `atol` relative to its
    largest entry."""
    random = np.random.default_rng(4)
    x = random.normal(size=(1, batch.n_columns))
    while not np.isfinite(batch(x, h, t)[0]).all():  # turns that QuatVI has no step for
        x = random.normal(size=(1, batch.n_columns))
    tangent = batch.dense(batch(x, h, t)[1])[0]
    shifts = step * np.eye(batch.n_columns)
    difference = (batch(x + shifts, h, t)[0] - batch(x - shifts, h, t)[0]).T / (2 * step)
    np.testing.assert_allclose(tangent, difference, rtol=0, atol=atol * np.abs(tangent).max())
