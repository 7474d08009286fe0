"""Arms with springs between motors and links: the motor acts on the link by the fourth derivative of its angle."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import timefem as tf

ROTOR, INERTIA, MASS, ARM, STIFFNESS, G = 0.02, 0.1, 1.0, 0.4, 200.0, 9.81
ANGLE = 0.6 * Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])  # at rest at both ends, with four derivatives


def arm(coordinates=None, gap=0.0):
    rotor = tf.RigidBody(0.5, [ROTOR] * 3, name="rotor")
    link = tf.RigidBody(MASS, [INERTIA] * 3, name="link")
    axes = {"axis_a": (0, 1, 0), "axis_b": (0, 1, 0)}
    motor = tf.Revolute(rotor, point_a=(0, 0, 0), point_b=(0, 0, 0), **axes, name="motor")
    gear = tf.Revolute(link, rotor, point_a=(0, 0, ARM), point_b=(0, gap, 0), **axes, name="gear")
    drive = tf.JointControl(motor, name="drive")
    parts = [rotor, link, motor, gear, tf.JointSpring(gear, stiffness=STIFFNESS), drive]
    system = tf.System(parts, gravity=(0, 0, -G), **({"coordinates": coordinates} if coordinates else {}))
    outputs = {tf.AngleOutput(link, "y", (0, 0, 1), name="angle"): tf.Polynomial(list(ANGLE.coef))}
    return tf.InverseDynamics(system, outputs, {motor: 0.0, gear: 0.0}, t_span=(0, 1.0), actuators=drive)


def exact(t):
    """Torque of the motor, from the balance of the link and that of the rotor."""
    angle, rate, second, _, fourth = (ANGLE.deriv(k)(t) if k else ANGLE(t) for k in range(5))
    inertia, weight = INERTIA + MASS * ARM**2, MASS * G * ARM
    turned = (inertia * second + weight * np.sin(angle)) / STIFFNESS
    turned_second = (inertia * fourth + weight * (np.cos(angle) * second - np.sin(angle) * rate**2)) / STIFFNESS
    return ROTOR * (second + turned_second) + STIFFNESS * turned


def test_arm_of_bodies():
    t, off = np.linspace(0.05, 0.95, 19), []
    for n in (20, 40):
        sol = tf.solve(arm(), tf.MixedGalerkin(3), n, progress=False)
        assert sol.success
        off.append(np.abs(sol.controls(t, "drive")[:, 0] - exact(t)).max() / np.abs(exact(t)).max())
    assert off[1] < 1e-4 and off[1] < off[0] / 2


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_arm_of_a_tree_is_refused_with_what_would_do(gap):
    """What the motor does to the angle cancels but for rounding, which passed for an effect: "not converged"."""
    with pytest.raises(tf.InputError, match=r"do not determine angle by its second .*elastic joints, bodies and"):
        arm("joint", gap)
