"""Products of inertia as unknown numbers, of bodies that have none to begin with."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

STEP = 1e-4


def turned(x, free, rotation):
    """A body that turns at the start, to rest in another orientation; x is the product of inertia of two axes."""
    body = tf.RigidBody(2.0, np.diag([1, 1.2, 1.4]) + (0 if free else x) * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
                        rotation, name="body")
    torque = tf.ControlTorque(body, np.eye(3), name="torque")
    own = {"parameters": {"x": (body, "inertia[0,1]")}, "bounds": {"x": (-0.5, 0.5)}} if free else {}
    target = np.cos(0.5), 0.6 * np.sin(0.5), 0.8 * np.sin(0.5), 0
    return tf.OptimalControl(
        tf.System([body, torque]), {body: tf.Pose(angular_velocity=(0.2, 0, 0.3))},
        {body: tf.EndState(orientation=target, angular_velocity=(0, 0, 0))}, (0, 2), tf.Effort(torque),
        end_cost=lambda end, parameters: 3 * ((parameters["x"] if free else x) - 0.2)**2, **own)


def hinged(x, free, rotation):
    """Two bodies in a ball joint, the second with a mass distribution askew."""
    first = tf.RigidBody(1.0, (1, 1, 1), name="first")
    askew = (0 if free else x) * np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    second = tf.RigidBody(2.0, np.diag([1, 1.2, 1.4]) + askew, rotation, name="body")
    ball = tf.Spherical(first, second, point_a=(0, 0, 0.5), point_b=(0, 0, -0.5))
    torques = [tf.ControlTorque(body, np.eye(3)) for body in (first, second)]
    drives = [*torques, tf.ControlForce(first, np.eye(3))]
    own = {"parameters": {"x": (second, "inertia[2,0]")}, "bounds": {"x": (-0.5, 0.5)}} if free else {}
    still = tf.EndState(orientation=(1, 0, 0, 0), angular_velocity=(0, 0, 0))
    tilted = tf.EndState(orientation=(np.cos(0.3), np.sin(0.3), 0, 0), angular_velocity=(0, 0, 0))
    return tf.OptimalControl(
        tf.System([first, second, ball, *drives]), {first: tf.Pose(), second: tf.Pose((0, 0, 1))},
        {second: tilted, first: still}, (0, 1.5), [tf.Effort(drive) for drive in drives],
        end_cost=lambda end, parameters: 9 * ((parameters["x"] if free else x) - 0.2)**2, **own)


@pytest.mark.parametrize("make, rotation, element", [
    (turned, "quaternion", tf.MixedGalerkin(2)), (turned, "quaternion", tf.MixedGalerkin(2, form="energy")),
    (turned, "directors", tf.MixedGalerkin(2)), (hinged, "quaternion", tf.MixedGalerkin(2))])
def test_the_best_product_of_inertia(make, rotation, element):
    """From zero on; bodies of known inertia cost the same, the least where it is found, as IPOPT finds, too."""
    sol, other = (tf.solve(make(0.0, True, rotation), element, 8, method=method, progress=False)
                  for method in ("interior-point", "ipopt"))
    found = sol.parameters["x"]
    assert sol.success and other.parameters["x"] == pytest.approx(found, rel=1e-6) and abs(found) > 1e-3
    inertia = sol.system["body"].inertia
    assert found in inertia[0] and np.array_equal(inertia, inertia.T) and np.count_nonzero(inertia) == 5

    def cost(x):
        return tf.solve(make(x, False, rotation), element, 8, guess=sol, progress=False).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    slopes = [(cost(x + STEP) - cost(x - STEP)) / (2 * STEP * sol.objective) for x in (found, found + 0.05)]
    assert abs(slopes[0]) < 1e-6 < 0.1 < abs(slopes[1])
