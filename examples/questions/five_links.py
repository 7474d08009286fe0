"""A pendulum of five links, closed to a loop and chaotic, over 30 s: what happens to its energy and closure?"""

from itertools import pairwise

import numpy as np

import timefem as tf


def hinge(*bodies, **options):
    return tf.Revolute(*bodies, axis_a=(0, 0, 1), axis_b=(0, 0, 1), **options)


def pendulum():
    rods = [tf.RigidBody(1.0, (1 / 12, 1e-3, 1 / 12), name=f"rod {i}") for i in range(5)]
    hinges = [hinge(rods[0], point_a=(0, 0.5, 0), point_b=(0, 0, 0))]
    hinges += [hinge(b, a, point_a=(0, 0.5, 0), point_b=(0, -0.5, 0)) for a, b in pairwise(rods)]
    last = hinge(rods[4], point_a=(0, -0.5, 0), point_b=(2, 0, 0))
    system = tf.System([*rods, *hinges, last], gravity=(0, -9.81, 0), redundant="drop")
    return system, tf.assemble(system, dict(zip(hinges, (2.4, -0.4, -1.0, 0.0, -0.5), strict=True)))


def main(t_end=30.0, n_elements=3000):
    """Largest change of the energy [J] and gap of a joint [m]."""
    system, start = pendulum()
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, t_end)), tf.MixedGalerkin(2), n_elements)
    return max(np.ptp(sol.energy()), sol.errors()["configuration"])


if __name__ == "__main__":
    print(main())
