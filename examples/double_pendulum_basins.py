"""How soon a double pendulum flips, over its two starting angles: one march for each point of the picture.

    python examples/double_pendulum_basins.py [-n 60] [-o basins.png]

Two rods of equal length on hinges start at rest at the angles theta_1, theta_2 from the vertical. The colour is the
time until the second rod has turned over the top for the first time; white: not within the time. Starts with too little
energy for it, 2 cos(theta_1) + cos(theta_2) > 1 for point masses, never flip.
"""

import argparse

import casadi as ca
import numpy as np

import timefem as tf

LENGTH, MASS, GRAVITY = 1.0, 1.0, 9.81


def kinetic(q, v, c):
    """Of two equal point masses on rods without mass, in their angles."""
    return c[0] * c[1] ** 2 * (2 * v[0] ** 2 + v[1] ** 2 + 2 * v[0] * v[1] * ca.cos(q[0] - q[1])) / 2


def potential(q, c):
    return -c[0] * GRAVITY * c[1] * (2 * ca.cos(q[0]) + ca.cos(q[1]))


def main(n=60, t_end=6.0, n_elements=240, n_workers=None):
    """Times of the first flip [s] on a grid of starting angles.

    Returns
    -------
    dict
        "angles" (n,), "flip" (n, n) with NaN where none was seen, "failed": number of runs.
    """
    pendulum = tf.GeneralizedSystem(2, kinetic, potential, parameters=[MASS, LENGTH], name="pendulum")
    problem = tf.InitialValueProblem(pendulum, tf.Coordinates([0.0, 0.0]), (0, t_end))
    angles = np.linspace(-3.0, 3.0, n)
    first, second = np.meshgrid(angles, angles, indexing="ij")
    starts = np.zeros((n * n, 4))
    starts[:, 0], starts[:, 1] = first.ravel(), second.ravel()
    solver = tf.prepare(problem, tf.MixedGalerkin(2), n_elements)
    found = solver.solve_many(starts, every=1, n_workers=n_workers)
    over = np.abs(found.z[:, :, 1]) > np.pi
    flip = np.where(over.any(axis=1), found.times[0][np.argmax(over, axis=1)], np.nan)
    return {"angles": angles, "flip": flip.reshape(n, n), "failed": int((~found.success).sum()),
            "seconds": found.statistics["seconds"]}


def plot(found, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(5.4, 4.4), constrained_layout=True)
    angles = np.degrees(found["angles"])
    image = ax.pcolormesh(angles, angles, found["flip"].T, cmap="viridis_r", shading="nearest")
    a = np.linspace(-180, 180, 400)
    level = 2 * np.cos(np.radians(a))[:, None] + np.cos(np.radians(a))[None]
    ax.contour(a, a, level.T, levels=[1.0], colors="black", linewidths=0.8)
    fig.colorbar(image, label="time of the first flip [s]")
    ax.set(xlabel="first angle [degrees]", ylabel="second angle [degrees]", xlim=angles[[0, -1]], ylim=angles[[0, -1]])
    fig.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=60, help="points along each axis")
    parser.add_argument("-o", "--output", default="double_pendulum_basins.png")
    arguments = parser.parse_args()
    result = main(arguments.n)
    plot(result, arguments.output)
    print(f"{result['flip'].size} marches in {result['seconds']:.3g} s, {result['failed']} failed; the picture is in "
          f"{arguments.output}")
