"""A leg whose knee is driven through a four-bar loop swings in 0.3 s by least effort: how much?"""

import timefem as tf


def hinge(*bodies, **options):
    return tf.Revolute(*bodies, axis_a=(0, 0, 1), axis_b=(0, 0, 1), **options)


def swing():
    thigh = tf.RigidBody(2.0, (0.03, 0.002, 0.03), name="thigh")
    crank = tf.RigidBody(0.2, (2e-4, 1e-4, 2e-4), name="crank")
    shank = tf.RigidBody(1.0, (0.015, 0.001, 0.015), name="shank")
    hip = hinge(thigh, point_a=(0, 0.2, 0), point_b=(0, 0, 0), name="hip")
    shaft = hinge(crank, thigh, point_a=(-0.05, 0, 0), point_b=(0, 0.2, 0), name="shaft")
    knee = hinge(shank, thigh, point_a=(0, 0.2, 0), point_b=(0, -0.2, 0), name="knee")
    rod = tf.RigidDistance(crank, shank, point_a=(0.05, 0, 0), point_b=(0.08, 0.2, 0), length=0.4, name="rod")
    motors = [tf.JointControl(hip, name="hip motor"), tf.JointControl(shaft, name="knee motor")]
    system = tf.System([thigh, crank, shank, hip, shaft, knee, rod, *motors], gravity=(0, -9.81, 0), redundant="drop")
    cost = [tf.Effort(motor) for motor in motors]
    return tf.OptimalControl(system, {hip: -0.3, shaft: -0.5}, {hip: 0.3, shaft: 0.3}, (0, 0.3), cost)


def main(degree=2, n_elements=20):
    """Half the integral of the squared torques [(N m)^2 s]."""
    return tf.solve(swing(), tf.MixedGalerkin(degree), n_elements).objective


if __name__ == "__main__":
    print(main())
