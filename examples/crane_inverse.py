"""An overhead crane moves a load from rest to rest: which forces on trolley and rope keep it on its path?

The load is prescribed by polynomials of time; trolley, rope and swing follow, and so do the forces. Prints the largest
errors of coordinates and forces against the analytic ones, and draws motion and forces.
"""

import argparse
from pathlib import Path

import numpy as np

import timefem as tf
from timefem.cases.inverse import trolley_crane


def main(degree=4, n_elements=40, redundant=False):
    """Solve, and return times, coordinates, forces, and their errors relative to the largest values."""
    problem, answer = trolley_crane(redundant=redundant)
    sol = tf.solve(problem, tf.MixedGalerkin(degree), n_elements)
    if not sol.success:
        raise SystemExit(sol.status.message)
    q, u = answer(sol.t)
    coordinates, controls = sol.z[:, :q.shape[1]], problem.controls(sol.t, sol.z)
    return {"t": sol.t, "coordinates": coordinates, "controls": controls,
            "relative_degrees": {repr(k): v for k, v in problem.relative_degrees.items()},
            "errors": {"coordinates": float(np.abs(coordinates - q).max() / np.abs(q).max()),
                       "controls": float(np.abs(controls - u).max() / np.abs(u).max())}}


def plot(result, path):
    """The crane at eleven times, and the forces over time."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    trolley, length, swing = result["coordinates"].T[:3]
    x, z = trolley + length * np.sin(swing), -length * np.cos(swing)
    left.plot(x, z, label="load")
    for i in np.linspace(0, len(x) - 1, 11).astype(int):
        left.plot([trolley[i], x[i]], [0, z[i]], color="grey", linewidth=0.8)
        left.plot(trolley[i], 0, "ks", markersize=4)
    left.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", title="trolley, rope and load")
    for values, label in zip(result["controls"].T, ("on the trolley", "of the winch on the rope"), strict=True):
        right.plot(result["t"], values, label=label)
    right.set(xlabel="t [s]", ylabel="force [N]")
    right.grid(alpha=0.3)
    right.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    result = main()
    print("relative degrees:", result["relative_degrees"])
    for name, error in result["errors"].items():
        print(f"largest relative error of the {name}: {error:.1e}")
    plot(result, folder / "crane_inverse.png")
    print(folder / "crane_inverse.png")
