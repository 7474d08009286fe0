"""A pendulum whose motor is too weak to lift it is swung up, with bounds on the torque, by as little effort as needed.

The motor gives 2.5 N m, the weight asks for 4.9 N m at the horizontal. The minimum without bounds is the guess for the
one with bounds; both are local minima, and the second may well be the lower one. Prints both efforts, and draws angle
and torque over time.
"""

import argparse
from pathlib import Path

import numpy as np

import timefem as tf

MASS, LENGTH, BOUND = 1.0, 1.0, 1.6


def make(t_end, bound=None, rotation="quaternion"):
    """The problem: a bar on a hinge, from hanging to standing."""
    inertia = MASS * LENGTH**2 / 12
    bar = tf.RigidBody(MASS, (inertia, 2e-3, inertia), rotation=rotation, name="bar")
    hinge = tf.Revolute(bar, point_a=(0, LENGTH / 2, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    motor = tf.ControlTorque(bar, [(1, 0, 0)], name="motor")
    hanging = tf.Pose(position=(0, 0, -LENGTH / 2), orientation=(np.sqrt(0.5), np.sqrt(0.5), 0, 0))
    standing = tf.Pose(position=(0, 0, LENGTH / 2), orientation=(np.sqrt(0.5), -np.sqrt(0.5), 0, 0))
    system = tf.System([bar, hinge], gravity=(0, 0, -9.81))
    return tf.OptimalControl(system, {bar: hanging}, {bar: standing}, (0, t_end), cost=tf.Effort(motor),
                             bounds={motor: (-bound, bound)} if bound else None)


def main(t_end=4.0, n_elements=60, bound=BOUND):
    """Solve without and with bounds; times, heights of the centre of mass, torques and efforts of both."""
    free = tf.solve(make(t_end), tf.MixedGalerkin(2), n_elements)
    bounded = tf.solve(make(t_end, bound), tf.MixedGalerkin(2), n_elements, guess=free)
    for sol in (free, bounded):
        if not sol.success:
            raise SystemExit(sol.status.message)
    t = np.linspace(0, t_end, 401)
    return {"t": t, "bound": bound, **{
        name: {"height": sol.position("bar", t)[:, 2], "torque": sol.controls(t)[:, 0], "effort": sol.objective}
        for name, sol in (("free", free), ("bounded", bounded))}}


def plot(result, path):
    """Height of the centre of mass, and torque."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name in ("free", "bounded"):
        left.plot(result["t"], result[name]["height"], label=name)
        right.plot(result["t"], result[name]["torque"], label=name)
    left.set(xlabel="t [s]", ylabel="height of the centre of mass [m]")
    right.set(xlabel="t [s]", ylabel="torque [N m]")
    for sign in (-1, 1):
        right.axhline(sign * result["bound"], color="grey", linestyle=":")
    left.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    result = main()
    for name in ("free", "bounded"):
        largest = np.abs(result[name]["torque"]).max()
        print(f"{name}: effort {result[name]['effort']:.4f}, largest torque {largest:.3f} N m")
    plot(result, folder / "swing_up.png")
    print(folder / "swing_up.png")
