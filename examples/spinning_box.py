"""Order of mG(k) on the free spinning box: error of the rotation at t = 5 s against the length of the elements.

Prints the fitted orders (2, 4, 6, 8 for k = 1, 2, 3, 4) and draws the errors.
"""

import argparse
from pathlib import Path

import numpy as np

import timefem as tf


def main(degrees=(1, 2, 3, 4), n_elements=(50, 100, 200, 400)):
    """Errors at the end, by degree; the reference is mG(4) on elements half as long as the shortest."""
    box = tf.RigidBody(mass=12, inertia=(5, 26, 29), name="box")
    problem = tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=(0, 5, 1))}, (0, 5))

    def final_rotation(degree, n):
        return tf.solve(problem, tf.MixedGalerkin(degree), n).rotation_matrix(box, 5.0)

    reference = final_rotation(4, 2 * max(n_elements))
    h, errors, orders = 5.0 / np.array(n_elements), {}, {}
    for degree in degrees:
        errors[degree] = np.array([np.linalg.norm(final_rotation(degree, n) - reference) for n in n_elements])
        above = errors[degree] > 5e-11  # below is round-off
        log_h, log_error = np.log(h[above]), np.log(errors[degree][above])
        orders[degree] = np.polyfit(log_h, log_error, 1)[0] if above.sum() > 1 else np.nan
    return {"h": h, "errors": errors, "orders": orders}


def plot(result, path):
    """Errors over element length."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    for degree, errors in result["errors"].items():
        ax.loglog(result["h"], errors, "o-", label=f"mG({degree}), order {result['orders'][degree]:.2f}")
    ax.set(xlabel="length of an element [s]", ylabel=r"$\|R - R_{ref}\|_F$ at t = 5 s", title="Free spinning box")
    ax.set_xticks(result["h"], [f"{h:g}" for h in result["h"]])
    ax.set_xticks([], minor=True)
    ax.grid(alpha=0.3)
    figure.legend(loc="outside right upper")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    result = main()
    for degree, order in result["orders"].items():
        print(f"mG({degree}): order {order:.2f}")
    plot(result, folder / "spinning_box.png")
    print(folder / "spinning_box.png")
