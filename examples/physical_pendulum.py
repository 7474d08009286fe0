"""The force in the joint of a swinging bar is a multiplier: it comes with the motion, and needs no post-processing.

Prints the force at the start and draws it over time beside the motion of the bar.
"""

import argparse
from pathlib import Path

import numpy as np

import timefem as tf


def main(n_elements=100, t_end=5.0):
    """Solve, and return times, centre of mass, joint force (space axes) and the error of the energy."""
    bar = tf.RigidBody(mass=100, inertia=(10100 / 12, 200 / 12, 10100 / 12), name="pendulum")
    system = tf.System([bar, tf.FixedPoint(bar, point=(0, -5, 0))], gravity=(0, 0, -9.81))
    problem = tf.InitialValueProblem(system, {bar: tf.Pose(position=(0, 5, 0))}, (0, t_end))
    sol = tf.solve(problem, tf.MixedGalerkin(3), n_elements)
    t = np.linspace(0, t_end, 501)
    # the multipliers of the configuration, gamma, come in the order of the constraints: unit quaternion, then joint
    force = sol.multipliers(t)[:, 1:4]
    return {"t": t, "position": sol.position(bar, t), "force": force, "energy_error": sol.errors()["energy"]}


def plot(result, path):
    """Path of the centre of mass, and joint force over time."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=(1, 2))
    left.plot(result["position"][:, 1], result["position"][:, 2])
    left.plot(0, 0, "k+", markersize=12)
    left.set(xlabel="y [m]", ylabel="z [m]", aspect="equal", title="centre of mass (+: joint)")
    right.plot(result["t"], result["force"][:, 1:], label=("horizontal", "vertical"))
    right.axhline(981, color="grey", linestyle=":", label="weight")
    right.set(xlabel="t [s]", ylabel="force of the joint on the bar [N]")
    right.grid(alpha=0.3)
    right.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    result = main()
    print(f"force at the start: {result['force'][0, 2]:.3f} N upwards")
    print(f"error of the energy: {result['energy_error']:.1e} J")
    plot(result, folder / "physical_pendulum.png")
    print(folder / "physical_pendulum.png")
