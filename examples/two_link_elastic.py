"""A robot arm with an elastic elbow, not minimum phase: the motor must act before its end moves.

The end of the arm is prescribed; what the motor has to do is unstable forward in time and backward. A march from the
start blows up; all elements solved at once, with the unstable mode held at the end, do not. Prints
both, and draws them.
"""

import argparse
from pathlib import Path

import numpy as np

import timefem as tf
from timefem.cases.inverse import elastic_arm


def main(degree=3, n_elements=80):
    """Solve with conditions at both ends and at the start alone; returns elbow angles and the torque of the motor."""
    problem = elastic_arm()
    sol = tf.solve(problem, tf.MixedGalerkin(degree), n_elements)
    if not sol.success:
        raise SystemExit(sol.status.message)
    # a march from the start: largest angle of the elbow up to the time at which it is stopped
    marches = {}
    for t_end in (1.1, 1.2, 1.3, 1.4):
        march = tf.solve(elastic_arm(t_end=t_end, start_only=True), tf.MixedGalerkin(degree), n_elements)
        marches[t_end] = float(np.abs(march.z[:, 1]).max()) if march.success else np.inf
    output, trajectory = problem.outputs[0]
    return {"t": sol.t, "end": output.evaluate(problem.system, sol.z), "prescribed": trajectory(sol.t),
            "elbow": sol.z[:, 1], "torque": problem.controls(sol.t, sol.z)[:, 0], "marches": marches,
            "eigenvalues": problem.internal_eigenvalues}


def plot(result, path):
    """End of the arm, elbow and torque over time."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, figsize=(8, 7), layout="constrained", sharex=True)
    labels = {"end": "end [rad]", "elbow": "elbow [rad]", "torque": "motor [N m]"}
    for ax, (key, label) in zip(axes, labels.items(), strict=True):
        ax.plot(result["t"], result[key])
        ax.set(ylabel=label)
        ax.axvspan(1, 3, color="grey", alpha=0.15)
        ax.grid(alpha=0.3)
    axes[-1].set(xlabel="t [s] (shaded: the end of the arm moves)")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    result = main()
    print("eigenvalues of the internal dynamics:", ", ".join(f"{v:.3f}" for v in result["eigenvalues"].real), "1/s")
    print(f"all at once: elbow up to {np.abs(result['elbow']).max():.4f} rad")
    for t_end, size in result["marches"].items():
        print(f"marched to {t_end:g} s: " + (f"elbow up to {size:.3g} rad" if np.isfinite(size) else "no solution"))
    plot(result, folder / "two_link_elastic.png")
    print(folder / "two_link_elastic.png")
