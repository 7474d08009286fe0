"""All ways of a free body from one orientation to another in two seconds that a few guesses find."""

import numpy as np

import timefem as tf


def main(n_elements=40, turns=1):
    """Solve; returns the angular velocities at the start and the solutions."""
    box = tf.RigidBody(mass=12, inertia=[5, 26, 29], name="box")
    turned = np.append(np.cos(1.25), np.sin(1.25) * np.array([1, 2, 2]) / 3)  # 2.5 rad about (1, 2, 2)/3
    problem = tf.BoundaryValueProblem(tf.System([box]), (0, 2), start={box: tf.Pose()},
                                      end={box: tf.Pose(orientation=turned)})
    found = tf.solve_all(problem, tf.MixedGalerkin(degree=4), n_elements, turns=turns)
    return {"angular_velocity": [sol.angular_velocity(box, 0.0).tolist() for sol in found], "solutions": found}


if __name__ == "__main__":
    for start in main()["angular_velocity"]:
        print(np.round(start, 6))
