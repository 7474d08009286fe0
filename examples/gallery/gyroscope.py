"""Gyroscope in two gimbals: a weight on its axis makes it precess, by W = m g l / (J w), however heavy the gimbals.

The axis lies level. The angular momentum of the rotor turns with W, that of the gimbals about the vertical stays.
"""

import numpy as np

import timefem as tf

SPIN, WEIGHT, ARM = 60.0, 0.5, 0.2  # rad/s, kg, m
AXIAL = 0.02  # of the rotor with its weight, kg m^2


def main():
    """Angle of precession after 4 s, from the joint between the outer gimbal and the ground."""
    rate = WEIGHT * 9.81 * ARM / (AXIAL * SPIN)
    outer = tf.RigidBody(1.0, (0.05, 0.05, 0.03), name="outer gimbal", size=(0.04, 0.66, 0.66))
    inner = tf.RigidBody(0.8, (0.03, 0.02, 0.03), name="inner gimbal", size=(0.6, 0.6, 0.04))
    # rotor and weight in one: the centre of mass lies on the axis x, off the centre of the gimbals
    rotor = tf.RigidBody(WEIGHT, (AXIAL, 0.03, 0.03), name="rotor", size=(0.06, 0.4, 0.4), shape="cylinder")
    parts = [outer, inner, rotor,
             tf.Revolute(outer, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1)),
             tf.Revolute(inner, outer, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0)),
             tf.Revolute(rotor, inner, point_a=(-ARM, 0, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))]
    turning = tf.Pose(angular_velocity=(0, 0, rate))
    state = {outer: turning, inner: turning, rotor: tf.Pose(
        (ARM, 0, 0), velocity=(0, rate * ARM, 0), angular_velocity=(SPIN, 0, rate))}
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), state, (0, 4))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 400)
    axes = sol.rotation_matrix(outer, sol.t)[:, :2, 0]
    angle = np.unwrap(np.arctan2(axes[:, 1], axes[:, 0]))
    return {"what": "angle of precession after 4 s [rad]", "number": angle[-1], "expected": 4 * rate,
            "tolerance": 1e-7, "solution": sol, "angle": angle}


def draw(result):
    """The gyroscope at two times."""
    return result["solution"].plot.snapshots([0, 0.4], traces=False).figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
