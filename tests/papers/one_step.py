"""Problems of the papers on one-step schemes: the free body, and the heavy top as a pure rotation about its tip."""

import numpy as np

import timefem as tf
from tests.example_systems import reference
from timefem.cases.single_bodies import TipWeight


def free_body(rotation="quaternion", t_end=1.0, **options):
    body = tf.RigidBody(1, [6, 8, 3], rotation, name="body", **options)
    return tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=[10, 20, 20])}, (0, t_end))


def top(rotation="quaternion", **options):
    data = reference("heavy_top")
    p, start = data["parameters"], data["states"][0]
    body = tf.RigidBody(p["m"], [p["J1_pivot"], p["J1_pivot"], p["J3"]], rotation, name="body", **options)
    weight = TipWeight(body, [0, 0, p["m"] * p["g"] * p["Lcm"]])
    state = tf.Pose(orientation=np.array(start["q"]), angular_velocity=start["Omega"])
    return tf.InitialValueProblem(tf.System([body, weight]), {body: state}, (0, 1))


def state_at(name, t):
    return next(s for s in reference(name)["states"] if s["t"] == t)


def free_body_error(element, h, rotation="quaternion", **options):
    """`||R_ref R^T - I||_F` at t = 1, and the solution."""
    solution = tf.solve(free_body(rotation, **options), element, round(1 / h))
    assert solution.success, solution.status.message
    r = np.array(state_at("free_body", 1.0)["R"])
    return np.linalg.norm(r @ solution.rotation_matrix("body", 1.0).T - np.eye(3)), solution


def top_error(element, h, rotation="quaternion", **options):
    """Relative error of the mass centre at t = 1, and the solution."""
    solution = tf.solve(top(rotation, **options), element, round(1 / h))
    assert solution.success, solution.status.message
    exact = np.array(state_at("heavy_top", 1.0)["com"])
    arm = reference("heavy_top")["parameters"]["Lcm"]
    return np.linalg.norm(solution.rotation_matrix("body", 1.0)[:, 2] * arm - exact) / np.linalg.norm(exact), solution


def drift(values):
    """Largest change since the start, relative to the size at the start."""
    return np.abs(values - values[0]).max() / np.abs(values[0]).max()
