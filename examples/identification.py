"""Inertia, drag and initial spin of a swinging body, identified from a marker and a gyroscope.

The data in `data/swinging_body.csv` are simulated, with noise from a seeded generator: what is found can be compared
with what was put in (`TRUE`). `--simulate` writes the file again.
"""

import argparse
from pathlib import Path

import casadi as ca
import numpy as np

import timefem as tf
from timefem.mechanics.bodies.rotations import matrix_from_quaternion

DATA = Path(__file__).parent / "data" / "swinging_body.csv"
LABELS = ("J1", "J2", "J3", "drag", "spin 1", "spin 2", "spin 3")
TRUE = np.array([0.95, 0.62, 0.41, 0.15, 1.2, -0.4, 2.5])
GUESS = np.array([0.8, 0.8, 0.5, 0.0, 1.0, 0.0, 2.0])
NOISE = 0.002, 0.01  # standard deviations: marker [m], gyroscope [rad/s]
MARKER, HOOK = (0.1, 0.05, -0.4), (0.0, 0.0, 0.6)


def build(values, t_end=3.0):
    """The body, hung up in a spherical joint; its centre moves with the spin."""
    inertia, drag, spin = values[:3], values[3], values[4:]
    body = tf.RigidBody(3.0, inertia, name="body")
    air = tf.RayleighDissipation(body, angular=drag)
    system = tf.System([body, tf.Spherical(body, point_a=HOOK, point_b=(0, 0, 0)), air], gravity=(0, 0, -9.81))
    orientation = np.array([np.cos(0.4), np.sin(0.4), 0, 0])
    rotation = matrix_from_quaternion(orientation)
    pose = tf.Pose(-rotation @ HOOK, orientation, -rotation @ np.cross(spin, HOOK), spin)
    return tf.InitialValueProblem(system, {body: pose}, (0, t_end))


def marker(bodies, t):
    return bodies[0].point(ca.DM(MARKER))


def gyroscope(bodies, t):
    return bodies[0].rotation.T @ bodies[0].angular_velocity


def simulate(seed=1, n=150):
    """Columns t, marker (3), gyroscope (3): on a finer mesh than is used to identify, with noise."""
    problem = build(TRUE)
    times = np.linspace(0, 3, n + 1)[1:]
    at = tf.Linearization(tf.solve(problem, tf.MixedGalerkin(3), 600))
    values = [at.value(tf.Values(f, times)).reshape(n, 3) for f in (marker, gyroscope)]
    rng = np.random.default_rng(seed)
    return np.column_stack([times, *(v + s * rng.normal(size=v.shape) for v, s in zip(values, NOISE, strict=True))])


def main(path=DATA, n_elements=60):
    """Identify, and return the `Identification`."""
    data = np.loadtxt(path, delimiter=",")
    t, place, spin = data[:, 0], data[:, 1:4], data[:, 4:7]
    measured = [tf.Measurement(marker, t, place, NOISE[0]), tf.Measurement(gyroscope, t, spin, NOISE[1])]
    return tf.identify(build, GUESS, tf.MixedGalerkin(2), n_elements, measured, names=LABELS,
                       bounds=([0.05] * 3 + [0] + [-9] * 3, 9))


def print_table(found):
    print(f"{'':8} {'true':>8} {'found':>10} {'deviation':>10} {'error/deviation':>16}")
    for row in zip(LABELS, TRUE, found.values, found.deviations, strict=True):
        print("{:8} {:8.3f} {:10.5f} {:10.5f} {:16.2f}".format(*row, (row[2] - row[1]) / row[3]))
    print(f"misfit {found.misfit:.3f} (1 expected), {found.n_solves} solves")


def plot(found, path):
    """Measured and identified motion of the marker."""
    import matplotlib.pyplot as plt

    data = np.loadtxt(DATA, delimiter=",")
    times = np.linspace(0, 3, 601)
    model = tf.Linearization(found.solution).value(tf.Values(marker, times)).reshape(-1, 3)
    figure, axes = plt.subplots(layout="constrained")
    for i, name in enumerate("xyz"):
        axes.plot(data[:, 0], data[:, 1 + i], ".", color=f"C{i}", markersize=3)
        axes.plot(times, model[:, i], color=f"C{i}", label=name)
    axes.set(xlabel="t [s]", ylabel="marker [m]", title="measured (dots) and identified")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    parser.add_argument("--simulate", action="store_true", help="write the data file again")
    arguments = parser.parse_args()
    if arguments.simulate:
        header = ("simulated by examples/identification.py with seeded noise (marker 2 mm, gyroscope 0.01 rad/s); "
                  "not measured\nt [s], marker x, y, z [m], angular velocity in body axes 1, 2, 3 [rad/s]")
        np.savetxt(DATA, simulate(), fmt="%.6f", delimiter=",", header=header)
    arguments.output.mkdir(parents=True, exist_ok=True)
    found = main()
    print_table(found)
    plot(found, arguments.output / "identification.png")
    print(arguments.output / "identification.png")
