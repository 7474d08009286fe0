"""A satellite turned by three reaction wheels with least effort, from rest to rest.

About one axis the answer has a closed form: 1/2 integral u^2 = 6 (J angle)^2 / T^3.
"""

import numpy as np

import timefem as tf

INERTIA, WHEEL, SPIN, ANGLE, T = np.array([5.0, 5.0, 5.0]), 20.0, 1.0, 1.0, 20.0


def main():
    """Turn about one axis: effort 12 J^2 angle^2 / T^3 of the torque of its wheel, J the inertia that it turns."""
    hub = tf.RigidBody(100.0, INERTIA, name="hub", size=(1, 1, 1))
    parts: list = [hub]
    state, end, motors = {hub: tf.Pose()}, {}, []
    for i, axis in enumerate(np.eye(3)):
        # each wheel has its centre in that of the hub
        size, inertia = np.full(3, 0.5), np.full(3, SPIN / 2)
        size[i], inertia[i] = 0.08, SPIN
        wheel = tf.RigidBody(WHEEL, inertia, name="xyz"[i] + " wheel", size=size, shape="cylinder")
        motor = tf.ControlTorque(wheel, [axis], reaction=hub, name="xyz"[i] + " motor")
        parts += [wheel, motor, tf.Revolute(wheel, hub, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=axis, axis_b=axis)]
        state[wheel] = tf.Pose()
        motors.append(motor)
    # the hub carries the two wheels across the axis of turning along, the third one turns against it
    end[hub] = tf.EndState(orientation=(np.cos(ANGLE / 2), 0, 0, np.sin(ANGLE / 2)), angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System(parts), state, end, (0, T), cost=[tf.Effort(m) for m in motors])
    sol = tf.solve(problem, tf.MixedGalerkin(3), 20)
    turned = INERTIA[2] + 2 * SPIN / 2  # about z
    effort = 12 * (turned * ANGLE) ** 2 / T**3 / 2
    return {"what": "least effort [N^2 m^2 s]", "number": sol.objective, "expected": effort, "tolerance": 1e-6 * effort,
            "solution": sol}


def draw(result):
    """The hub and its wheels on the way."""
    return result["solution"].plot.snapshots([0, T / 2, T], body="hub", spacing=2.0).figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
