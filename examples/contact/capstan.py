"""A rope around a drum that turns under it: Euler and Eytelwein's exp(mu angle), from beads that rods join.

Each bead is held on the drum by a constraint, whose multiplier is the normal force, and rubbed along by mu times it.
The polygon of n beads has the ratio ((cos d + mu sin d) / (cos d - mu sin d))^n with d = angle / (2 n), of second order
in 1 / n; two polygons give the limit to the fourth.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

FRICTION, ANGLE, RADIUS, PULL = 0.3, np.pi, 0.2, 10.0  # -, rad, m, N
ALONG_THE_DRUM = """
    size = c[0] * abs(r[0]) / norm(f[0].position)
    [-size * f[0].position[1], size * f[0].position[0], 0]"""


def rope(n):
    """Beads on the drum, the first one held, the last one pulled; the system, its state and the length of a rod."""
    step = ANGLE / n
    corner = [RADIUS * np.array([np.cos(i * step), np.sin(i * step), 0.0]) for i in range(-1, n + 1)]
    length = 2 * RADIUS * np.sin(step / 2)
    beads = [tf.PointMass(0.01, 2, name=f"bead {i}") for i in range(n)]
    parts = [*beads, tf.RigidDistance(beads[0], point_b=corner[0], length=length, name="hold"),
             *(tf.RigidDistance(b, a, length=length, name=f"rod {a.name}") for a, b in pairwise(beads)),
             tf.Force(beads[-1], tuple(PULL * (corner[-1] - corner[-2]) / length), name="pull")]
    for bead in beads:
        drum = tf.Constraint(bead, "norm(f[0].position) - c[0]", 1, parameters=[RADIUS], name=f"drum under {bead.name}")
        parts += [drum, tf.FormulaForce(bead, ALONG_THE_DRUM, parameters=[FRICTION], reactions=[drum],
                                        name=f"friction of {bead.name}")]
    return tf.System(parts), {bead: tf.Pose(place) for bead, place in zip(beads, corner[1:], strict=False)}, length


def tensions(n):
    """Of the rods, from the one that holds to the last, over the pull."""
    system, state, length = rope(n)
    found = tf.equilibrium(system, state)
    names = ["hold", *(f"rod bead {i}" for i in range(n - 1))]
    return np.array([found.multipliers[system.constraint_names.index(f"{name}: distance")] for name in names]) * \
        length / PULL


def main(n=8):
    """The ratio of the tensions at both ends, extrapolated from n and 2n beads."""
    coarse, fine = tensions(n), tensions(2 * n)
    return {"what": "tension that holds over that which pulls", "number": float((4 * fine[0] - coarse[0]) / 3),
            "expected": float(np.exp(FRICTION * ANGLE)), "tolerance": 3e-4 * (8 / n)**4, "coarse": coarse, "fine": fine}


def draw(result):
    """Tensions along the rope."""
    figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
    angle = np.linspace(0, ANGLE, 101)
    ax.plot(angle, np.exp(FRICTION * (ANGLE - angle)), "k", label="exp(mu angle)")
    for name in ("coarse", "fine"):
        n = len(result[name])
        ax.plot((np.arange(n) - 0.5) * ANGLE / n, result[name], "o", label=f"{n} beads")
    ax.set(xlabel="angle from the end that holds [rad]", ylabel="tension over pull")
    ax.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
