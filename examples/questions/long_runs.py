"""A tumbling body and a swinging chain over 10^6 steps: what happens to their energy?"""

import numpy as np

import timefem as tf


def body(n_elements, step=0.05):
    box = tf.RigidBody(1.0, (6, 8, 3), name="box")
    start = {box: tf.Pose(angular_velocity=(0.3, 1.0, 0.2))}
    return tf.InitialValueProblem(tf.System([box]), start, (0, step * n_elements))


def chain(n_elements, step=0.01):
    upper, lower = (tf.RigidBody(1.0, (1 / 12, 1 / 12, 1 / 12), name=name) for name in ("upper", "lower"))
    joints = [tf.Spherical(upper, point_a=(0, 0.5, 0), point_b=(0, 0, 0)),
              tf.Spherical(lower, upper, point_a=(0, 0.5, 0), point_b=(0, -0.5, 0))]
    system = tf.System([upper, lower, *joints], gravity=(0, -9.81, 0))
    start = {joints[0]: ((0.8, 0, 0, 0.6), (1, 0, 0)), joints[1]: (0.6, 0.8, 0, 0)}
    return tf.InitialValueProblem(system, start, (0, step * n_elements))


def main(n_elements=10**6):
    """Largest relative change of the two energies."""
    energies = [tf.solve(f(n_elements), tf.MixedGalerkin(1, keep="all"), n_elements).energy() for f in (body, chain)]
    return max(np.ptp(energy) / abs(energy[0]) for energy in energies)


if __name__ == "__main__":
    print(main())
