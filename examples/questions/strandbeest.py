"""A leg of a Strandbeest with Theo Jansen's eleven bars, spun once and left alone for a minute: what drifts?"""

import numpy as np

import timefem as tf

BARS = {"toe-axle": 0.15, "top-toe": 0.50, "top-hub": 0.415, "back-hub": 0.401, "back-top": 0.558, "low-toe": 0.619,
        "low-hub": 0.393, "heel-back": 0.394, "heel-low": 0.367, "foot-heel": 0.657, "foot-low": 0.49}  # m
GROUND = {"hub": (0, 0, 0), "axle": (0.38, 0.078, 0)}
NEAR = {"toe": (0.53, 0.08, 0), "top": (0.12, 0.4, 0), "back": (-0.37, 0.14, 0), "low": (0.13, -0.37, 0),
        "heel": (-0.2, -0.21, 0), "foot": (0, -0.84, 0)}  # about where they are; `assemble` does the rest


def motion(t_end=60.0, n_elements=6000):
    at = {name: tf.PointMass(1.0, 2, name=name) for name in NEAR}
    bars = [tf.RigidDistance(at[a], at.get(b), point_b=GROUND.get(b, (0, 0, 0)), length=length)
            for (a, b), length in ((name.split("-"), length) for name, length in BARS.items())]
    system = tf.System([*at.values(), *bars], gravity=(0, -9.81, 0))
    start = tf.assemble(system, {at[a]: tf.Pose(NEAR[a], velocity=(0, 8.0 * (a == "toe"), 0)) for a in NEAR})
    return tf.solve(tf.InitialValueProblem(system, start, (0, t_end)), tf.MixedGalerkin(2), n_elements)


def main(**options):
    """Largest relative change of the energy, after 76 turns of the crank."""
    return np.ptp((sol := motion(**options)).energy()) / abs(sol.energy()[0])


if __name__ == "__main__":
    print(main())
