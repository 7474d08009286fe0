"""A bicycle without a rider's hands: too slow it weaves, too fast it falls over slowly, between it is stable by itself.

The benchmark of Meijaard, Papadopoulos, Ruina & Schwab (2007), as bodies, hinges and wheels that roll without slip.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf
from timefem.cases.nonholonomic import bicycle

SYSTEM, RIDING = bicycle()


def main():
    """Speed at which it begins to capsize; and a ride."""
    critical = tf.critical_values(lambda speed: tf.linearize(SYSTEM, RIDING(speed)), (0.5, 8))
    rolling = tf.solve(tf.InitialValueProblem(SYSTEM, RIDING(5.0), (0, 1)), tf.MixedGalerkin(2), 50)
    return {"what": "speed at which it capsizes [m/s]", "number": critical[-1].value, "expected": 6.02426201538837,
            "tolerance": 1e-10, "solution": rolling}


def draw(result):
    """Growth of the motions over the speed."""
    speeds = np.linspace(0.5, 8, 76)
    roots = [tf.linearize(SYSTEM, RIDING(v)).eigenvalues.real for v in speeds]
    figure, ax = plt.subplots(layout="constrained")
    for v, real in zip(speeds, roots, strict=True):
        ax.plot(np.full(len(real), v), real, "k.", markersize=2)
    ax.set(xlabel="speed [m/s]", ylabel="growth [1/s]", ylim=(-10, 8), title="real parts of the eigenvalues")
    ax.axvline(result["number"], linestyle=":")
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
