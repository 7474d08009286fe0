"""The two figures of the paper: python paper/figures.py [FOLDER]

orders.png: error of a tumbling box against the length of elements, beside the orders 2k.
drift.png: energy of a double pendulum, and lengths of its rods, beside a method for differential equations of SciPy,
which takes accelerations from the equations of motion with multipliers.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.integrate import solve_ivp

import timefem as tf

matplotlib.use("agg")
import matplotlib.pyplot as plt

INERTIA = np.array([5.0, 26.0, 29.0])
RATES = [0.0, 5.0, 1.0]
T_END, SPAN = 1.0, 60.0
MASS, LENGTH, GRAVITY = 1.0, 1.0, 9.81


def exact_rotation(t_end):
    """Rotation matrix of the free box by Euler's equations, to 1e-13."""
    def rates(t, y):
        q, w = y[:4], y[4:]
        turned = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([turned, np.cross(INERTIA * w, w) / INERTIA])

    q = solve_ivp(rates, (0, t_end), [1, 0, 0, 0, *RATES], "DOP853", rtol=1e-13, atol=1e-14).y[:4, -1]
    w, v = q[0] / np.linalg.norm(q), q[1:] / np.linalg.norm(q)
    skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def orders(path):
    """Errors at the end, shape (elements, meshes); draws them."""
    box = tf.RigidBody(12, INERTIA, "quaternion", name="box")
    problem = tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=RATES)}, (0, T_END))
    exact, meshes = exact_rotation(T_END), np.array([10, 20, 40, 80])
    figure, axes = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    errors = []
    for k in (1, 2, 3):
        solutions = [tf.solve(problem, tf.MixedGalerkin(k), int(n), progress=False) for n in meshes]
        errors.append([np.linalg.norm(s.rotation_matrix(box, T_END) - exact) for s in solutions])
        line, = axes.loglog(T_END / meshes, errors[-1], "o-", label=f"mG({k})")
        axes.loglog(T_END / meshes, errors[-1][0] * (meshes[0] / meshes) ** (2.0 * k), ":", color=line.get_color())
    axes.set(xlabel="length of an element [s]", ylabel="error of the rotation matrix")
    axes.set_xticks(T_END / meshes, [f"1/{n}" for n in meshes])
    axes.minorticks_off()
    axes.legend(title="dotted: order 2k")
    figure.savefig(path, dpi=200)
    return np.array(errors)


def drift(path):
    """Largest drifts of energy and constraint of both; draws them over time."""
    bobs = [tf.PointMass(MASS, name=f"bob {i}") for i in range(2)]
    rods = [tf.RigidDistance(bobs[0], length=LENGTH), tf.RigidDistance(bobs[0], bobs[1], length=LENGTH)]
    start = {bobs[0]: tf.Pose(position=(LENGTH, 0, 0)), bobs[1]: tf.Pose(position=(LENGTH, 0, LENGTH))}
    problem = tf.InitialValueProblem(tf.System([*bobs, *rods], gravity=(0, 0, -GRAVITY)), start, (0, SPAN))
    solution = tf.solve(problem, tf.MixedGalerkin(1, keep="all"), int(SPAN / 0.01), progress=False)
    times = np.linspace(0, SPAN, 601)
    places = np.stack([solution.position(bob, times) for bob in bobs], axis=1)
    speeds = np.stack([solution.velocity(bob, times) for bob in bobs], axis=1)
    other = solve_ivp(_accelerations, (0, SPAN), np.concatenate([places[0].ravel(), speeds[0].ravel()]), "DOP853",
                      times, rtol=1e-6, atol=1e-8)
    there = other.y.T.reshape(-1, 2, 2, 3)
    figure, (above, below) = plt.subplots(2, figsize=(4.5, 4.2), sharex=True, layout="constrained")
    found = []
    for name, x, v in (("timefem, mG(1)", places, speeds), ("DOP853, accelerations", there[:, 0], there[:, 1])):
        energy = MASS * (0.5 * np.sum(v**2, axis=(1, 2)) + GRAVITY * x[:, :, 2].sum(axis=1))
        lengths = np.linalg.norm(np.stack([x[:, 0], x[:, 1] - x[:, 0]], axis=1), axis=2)
        errors = np.abs(energy - energy[0]) / (MASS * GRAVITY * LENGTH), np.abs(lengths - LENGTH).max(axis=1) / LENGTH
        for axes, error in zip((above, below), errors, strict=True):
            axes.semilogy(times, np.maximum(error, 1e-17), label=name)
        found.append([error.max() for error in errors])
    above.set(ylabel="error of the energy")
    below.set(ylabel="error of a rod's length", xlabel="time [s]")
    above.legend()
    figure.savefig(path, dpi=200)
    return np.array(found)


def _accelerations(t, y):
    """Of two bobs on two rods in line, with the forces of rods whose lengths do not accelerate."""
    (x1, x2), (v1, v2) = y.reshape(2, 2, 3)
    jacobian = np.array([[*x1, 0, 0, 0], [*(x1 - x2), *(x2 - x1)]])
    free = np.array([0, 0, -GRAVITY] * 2)
    turning = np.array([v1 @ v1, (v2 - v1) @ (v2 - v1)])
    forces = np.linalg.solve(jacobian @ jacobian.T, -(jacobian @ free + turning))
    return np.concatenate([v1, v2, free + jacobian.T @ forces])


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    errors = orders(folder / "orders.png")
    print("orders", np.round(np.log2(errors[:, :-1] / errors[:, 1:]), 2).tolist())
    print("drift of energy and length: timefem {}, DOP853 {}".format(*drift(folder / "drift.png").tolist()))
