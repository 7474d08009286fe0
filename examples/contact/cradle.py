"""Newton's cradle: with gaps between the balls the last one leaves; balls that touch share what is left.

Newton's law of impact for all contacts at once is what the second case shows. Which of the two a real cradle does
depends on waves in its balls, of which rigid bodies know nothing.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

T_END = 1.0  # s


def swing(gap, n=4):
    """Speeds of equal balls after the first one met the others."""
    balls = [tf.PointMass(1.0, 1, name=f"ball {i}") for i in range(n)]
    contacts = [tf.SphereContact(b, a, radius_a=0.5, radius_b=0.5, restitution=1.0) for a, b in pairwise(balls)]
    state = {ball: tf.Pose((i * (1 + gap), 0, 0)) for i, ball in enumerate(balls)}
    state[balls[0]] = tf.Pose((-0.5, 0, 0), velocity=(1, 0, 0))
    sol = tf.solve(tf.InitialValueProblem(tf.System([*balls, *contacts]), state, (0, T_END)), tf.MixedGalerkin(1), 20)
    return sol, np.array([[sol.position(ball, t)[0] for ball in balls] for t in np.linspace(0, T_END, 101)])


def main():
    """Speed of the last ball, with gaps."""
    apart, together = swing(0.02), swing(0.0)
    last = apart[0].system.bodies[-1]
    return {"what": "speed of the last ball, of that of the first", "number": float(apart[0].velocity(last, T_END)[0]),
            "expected": 1.0, "tolerance": 1e-12, "apart": apart[1], "together": together[1],
            "speeds": [float(together[0].velocity(ball, T_END)[0]) for ball in together[0].system.bodies],
            "solution": apart[0]}


def draw(result):
    """Places of the balls, with gaps and without."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained", sharey=True)
    for ax, name in zip(axes, ("apart", "together"), strict=True):
        ax.plot(np.linspace(0, T_END, 101), result[name])
        ax.set(xlabel="t [s]", title=name)
    axes[0].set(ylabel="x [m]")
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
