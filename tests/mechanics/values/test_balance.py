"""Controls that balance loads, where there are more than it takes, are the same in all units."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.values.equations_of_motion import EquationsOfMotion


def balanced(M, L, T):
    """A bar on a hinge, held against its weight by a torque and by a force at its end: both [N m, N]."""
    bar = tf.RigidBody(2.0 * M, np.array([0.02, 0.3, 0.3]) * M * L**2, name="bar")
    hinge = tf.Revolute(bar, None, point_a=(-0.5 * L, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    parts = [bar, hinge, tf.ControlTorque(bar, [(0, 1, 0)]), tf.ControlForce(bar, [(0, 0, 1)], point=(0.5 * L, 0, 0))]
    system = tf.System(parts, gravity=(0, 0, -9.81 * L / T**2))
    problem = tf.InitialValueProblem(system, {bar: tf.Pose((0.5 * L, 0, 0))}, (0, T))
    at = EquationsOfMotion.of_state(problem.system, 0.0, problem.z0, np.zeros(2))
    return at.balance() / [M * L**2 / T**2, M * L / T**2]


@pytest.mark.parametrize("units", [(1e6, 1e3, 1e3), (1e-6, 1e-3, 1 / 3600), (1e3, 1e6, 1.0)])
def test_forces_beside_torques(units):
    torque, force = balanced(1.0, 1.0, 1.0)
    assert abs(-torque + force - 9.81) < 1e-9 and abs(torque) > 0.1 and abs(force) > 0.1
    np.testing.assert_allclose(balanced(*units), [torque, force], rtol=1e-9)
