"""The tip of a flexible arm along a path: the motor acts before the tip moves, and after it has come to rest.

The torque that is found is put on a finer arm, in other coordinates and with lumped mass, and marched.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

HUB, LENGTH, ANGLE, T_END = 0.1, 1.0, np.pi / 4, 2.0  # m, m, rad, s
SECTION = tf.Section(EA=500, GA=500, GJ=4, EI=2, mass=1, inertia=(8e-3, 4e-3, 4e-3))


def arm(n, **options):
    """Hub on its axle, and the beam that is clamped to it."""
    rotation = options.get("rotation", "quaternion")
    beam = tf.Beam(tf.Line((HUB, 0, 0), (HUB + LENGTH, 0, 0)), SECTION, n, 2, marks=[("tip", 1)], name="arm", **options)
    hub = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="hub", rotation=rotation)
    zero, z = (0, 0, 0), (0, 0, 1)
    return beam, hub, [beam, hub, tf.Revolute(hub, point_a=zero, point_b=zero, axis_a=z, axis_b=z),
                       tf.Weld(beam.start, hub, point_a=zero, point_b=(HUB, 0, 0))]


def main(n_elements=100):
    """Error of the tip's angle at the end of the march."""
    beam, hub, parts = arm(2, rotation="directors", mass="gauss")
    angle = tf.FormulaOutput(lambda q: ca.atan2(q[1], q[0]), beam.end, name="angle of the tip")
    problem = tf.InverseDynamics(tf.System(parts), {angle: tf.Transfer(0.4, 1.6, 0, ANGLE, 6)}, {}, {}, (0, T_END),
                                 actuators=tf.ControlTorque(hub, [(0, 0, 1)]))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), n_elements)
    t = tf.TimeMesh(sol.t).points(tf.LagrangeBasis(1, "gauss")).ravel()
    torque = sol.controls(t)[:, 0]
    _, hub, parts = arm(4)
    motor = tf.Torque(hub, (0, 0, tf.Table([0, *t, T_END], [0, *torque, 0])))
    driven = tf.InitialValueProblem(tf.System([*parts, motor]), {}, (0, T_END))
    march = tf.solve(driven, tf.MixedGalerkin(2), 2 * n_elements)
    x, y, _ = march.position("tip", T_END)
    return {"what": "error of the tip's angle in a march of the torque [rad]", "number": np.arctan2(y, x) - ANGLE,
            "expected": 0.0, "tolerance": 0.01, "solution": sol, "t": t, "torque": torque}


def draw(result):
    """The arm at eleven times, and the torque."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sol = result["solution"]
    for line in sol.along("arm", np.linspace(0, 1, 21), np.linspace(0.2, 1.8, 11)).position:
        left.plot(line[:, 0], line[:, 1], "C0", linewidth=0.8)
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    right.plot(result["t"], result["torque"])
    right.axvspan(0.4, 1.6, color="grey", alpha=0.15)
    right.set(xlabel="t [s] (shaded: the tip moves)", ylabel="torque [N m]")
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
