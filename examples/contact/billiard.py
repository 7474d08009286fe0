"""A billiard ball with side spin: it runs along a parabola while it slides, and straight on from where it rolls."""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

MASS, RADIUS, FRICTION, G, T_END = 0.17, 0.0286, 0.2, 9.81, 0.6  # kg, m, -, m/s^2, s
VELOCITY, SPIN = np.array([1.0, 0, 0]), np.array([40.0, 0, 0])  # m/s, rad/s


def main(n_elements=60):
    """Time from which on it rolls, `2 |slip| / (7 mu g)` [s]."""
    ball = tf.RigidBody(MASS, [0.4 * MASS * RADIUS**2] * 3, name="ball", size=[2 * RADIUS] * 3, shape="ellipsoid")
    cloth = tf.PlaneContact(ball, radius=RADIUS, friction=FRICTION, name="cloth")
    start = tf.Pose((0, 0, RADIUS), velocity=VELOCITY, angular_velocity=SPIN)
    problem = tf.InitialValueProblem(tf.System([ball, cloth], gravity=(0, 0, -G)), {ball: start}, (0, T_END))
    sol = tf.solve(problem, tf.MixedGalerkin(2), n_elements)
    rolls, = (event for event in sol.events if event.kind == "sticks")
    slip = VELOCITY + np.cross(SPIN, (0, 0, -RADIUS))
    return {"what": "time from which on it rolls [s]", "number": rolls.t,
            "expected": 2 * np.linalg.norm(slip) / (7 * FRICTION * G), "tolerance": 1e-5, "solution": sol,
            "path": sol.position(ball, np.linspace(0, T_END, 201)), "there": sol.position(ball, rolls.t)}


def draw(result):
    """The path, and where it begins to roll."""
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    axes.plot(*result["path"][:, :2].T)
    axes.plot(*result["there"][:2], "o", label="rolls from here")
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
