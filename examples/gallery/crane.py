"""An overhead crane: which forces on trolley and winch bring the load from rest to rest along its path?

Inverse dynamics of an underactuated machine; the path is smooth enough for the exact answer by its derivatives.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf
from timefem.cases.inverse import trolley_crane


def main():
    """Largest error of the forces, relative to the largest force."""
    problem, answer = trolley_crane(redundant=True)
    sol = tf.solve(problem, tf.MixedGalerkin(4), 40)
    forces, exact = problem.controls(sol.t, sol.z), answer(sol.t)[1]
    return {"what": "relative error of the forces", "number": float(np.abs(forces - exact).max() / np.abs(exact).max()),
            "expected": 0.0, "tolerance": 1e-8, "solution": sol, "forces": forces}


def draw(result):
    """Trolley, rope and load at eleven times, and the forces."""
    sol = result["solution"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    times = np.linspace(0, sol.t[-1], 11)
    trolley, load = sol.position("trolley", times), sol.position("load", times)
    left.plot([trolley[:, 0], load[:, 0]], [0 * times, load[:, 1]], color="grey", linewidth=0.8)
    left.plot(trolley[:, 0], 0 * times, "ks", load[:, 0], load[:, 1], "o")
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="trolley, rope and load")
    right.plot(sol.t, result["forces"], label=("on the trolley", "of the winch"))
    right.set(xlabel="t [s]", ylabel="force [N]")
    right.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
