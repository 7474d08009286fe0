"""A rope let go at one end: it falls, whips round, and keeps its energy.

At rest it hangs as a catenary, whose sag has a closed form; that is the start, found by statics.
"""

import numpy as np
from scipy.optimize import brentq

import timefem as tf

EA, WEIGHT, LENGTH, SPAN = 100.0, 1.0, 10.0, 6.0  # N, N/m, m, m


def sag():
    """Of the elastic catenary with level ends: H from its span, then the height of the middle."""
    def horizontal(h):
        return h * LENGTH / EA + 2 * h / WEIGHT * np.arcsinh(WEIGHT * LENGTH / (2 * h)) - SPAN
    h, v = brentq(horizontal, 0.1, 50, xtol=1e-14), WEIGHT * LENGTH / 2
    return v**2 / (2 * EA * WEIGHT) + (np.hypot(h, v) - h) / WEIGHT


def main():
    """Sag of the rope at rest; then its fall."""
    g = 9.81
    rope = tf.Rope(tf.Line((0, 0, 0), (LENGTH, 0, 0)), tf.RopeSection(EA, WEIGHT / g), n_elements=32, degree=2,
                   name="rope")
    left = tf.PrescribedPosition(rope.start, position=(0, 0, 0), name="left")
    right = tf.PrescribedPosition(rope.end, position=(SPAN, 0, 0), name="right")
    s = np.linspace(0, 1, len(rope.nodes))
    hung = {node: tf.Pose((SPAN * x, 0, -8 * x * (1 - x))) for node, x in zip(rope.nodes, s, strict=True)}
    rest = tf.equilibrium(tf.System([rope, left, right], gravity=(0, 0, -g)), guess=hung)
    places = np.array([rest.position(node) for node in rope.nodes])
    fall = tf.System([rope, left], gravity=(0, 0, -g))
    start = {node: tf.Pose(x) for node, x in zip(rope.nodes, places, strict=True)}
    sol = tf.solve(tf.InitialValueProblem(fall, start, (0, 1.5)), tf.MixedGalerkin(2), 300)
    return {"what": "sag at rest [m]", "number": -places[:, 2].min(), "expected": sag(), "tolerance": 5e-6,
            "solution": sol}


def draw(result):
    """The rope while it falls."""
    return result["solution"].plot.snapshots(np.linspace(0, 1.5, 6), traces=False).figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
