"""Tolerances in the user's units: the same problem in other units has the same answer."""

import numpy as np
import pytest

import timefem as tf


@pytest.mark.parametrize("mass, speed", [(1.0, 99.0), (1.0, 101.0), (1000.0, 10.0), (1e6, 300.0), (1e-6, 1e7)])
def test_fast_starts(fault, mass, speed):
    """Braked in 5 s, at least effort (m v)^2 / (2 T)."""
    car = tf.PointMass(mass, dimension=1, name="car")
    force = tf.ControlForce(car, [(1, 0, 0)], name="force")
    problem = tf.OptimalControl(tf.System([car, force]), {car: tf.Pose(velocity=(speed, 0, 0))},
                                {car: tf.EndState(velocity=(0, None, None))}, (0, 5), tf.Effort(force))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    fault(f"{mass:g} kg brakes from {speed:g} m/s", (mass * speed)**2 / 10, sol.objective)


def test_fast_spin(fault):
    """A rotor of a turbine, spun up about its axis in space."""
    rotor = tf.RigidBody(5e4, (2e5, 2e5, 3e5), name="rotor")
    shaft = tf.Revolute(rotor, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="shaft")
    torque = tf.ControlTorque(rotor, ((0, 0, 1),), name="torque")
    problem = tf.OptimalControl(tf.System([rotor, shaft, torque]), {rotor: tf.Pose()},
                                {rotor: tf.EndState(angular_velocity=(None, None, 30.0))}, (0, 1), tf.Effort(torque))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    fault("a rotor of 50 t, spun up", (3e5 * 30)**2 / 2, sol.objective, rtol=1e-4)


def test_far_targets(fault):
    """Least effort over 4e8 m with the rest at both ends."""
    ship = tf.PointMass(2e4, name="ship")
    thrust = tf.ControlForce(ship, name="thrust")
    place, time = np.array([3.8e8, 1e7, -2e6]), 3e5
    problem = tf.OptimalControl(tf.System([ship, thrust]), {ship: tf.Pose()},
                                {ship: tf.EndState(position=place, velocity=(0, 0, 0))}, (0, time), tf.Effort(thrust))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    fault("over 4e8 m", 6 * (2e4)**2 * place @ place / time**3, sol.objective)
