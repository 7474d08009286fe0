"""Rockets, whose mass is a state of first order."""

import casadi as ca
import numpy as np
from cases import case

import timefem as tf


@case(-1.0128369, "converged here; COPS 3, Goddard rocket: 1.01283", n=50)
def goddard() -> tf.OptimalControl:
    rocket = tf.VariableMass(1.0, dimension=1, name="rocket")

    def forces(f, t, c, u):
        place, mass = f[0].q[0], f[0].q[1]
        drag = 310 * f[0].velocity[0]**2 * ca.exp(-500 * (place - 1))
        return ca.vertcat(u[0] - drag - mass / place**2, 0, 0, -2 * u[0])

    engine = tf.FormulaForce(rocket, forces, n_controls=1, name="engine")
    return tf.OptimalControl(
        tf.System([rocket, engine]), {rocket: tf.Pose((1, 0, 0))}, t_span=(0, 0.2), end_cost="-end.q('rocket')[0]",
        end_conditions="end.q('rocket')[1] - 0.6", free_time=True, bounds={engine: (0, 3.5), "duration": (0.05, 1)})


@case(398.073869, "transcription in four phases (Acikmese and Ploen, lander on Mars, glide slope of 4 degrees)",
      n=60, finer=8)
def powered_descent() -> tf.OptimalControl:
    most, slope = 0.8 * 6 * 3100 * np.cos(np.deg2rad(27)), np.tan(np.deg2rad(86))
    lander = tf.VariableMass(1905.0, dimension=2, name="lander")
    engine = tf.FormulaForce(lander, "[u[0] * cos(u[1]), u[0] * sin(u[1]), 0, -c[0] * u[0]]",
                             [1 / (225 * 9.807 * np.cos(np.deg2rad(27)))], 2, name="engine")
    glide = tf.Limit(lambda now, u: now.position(lander)[0] - slope * now.position(lander)[1], None, 0,
                     name="glide slope")
    return tf.OptimalControl(
        tf.System([lander, engine], gravity=(0, -3.7114, 0)), {lander: tf.Pose((2000, 1500, 0),
                                                                               velocity=(100, -75, 0))},
        {lander: tf.EndState(position=(0, 0, None), velocity=(0, 0, None))}, (0, 75), free_time=True, limits=[glide],
        end_cost="1905 - end.q('lander')[2]",
        bounds={engine: ((most * 3 / 8, -np.pi), (most, 2 * np.pi)), "duration": (30, 120)})


@case(2 * 17**0.5, "exact: fall, then full thrust (OpenGoddard and others, moon lander)", n=60)
def moon_lander() -> tf.OptimalControl:
    """Height 10, speed -2, gravity 1.5, thrust 0 to 3 at constant mass: least of int u dt = g T - 2."""
    lander = tf.PointMass(1.0, dimension=1, name="lander")
    engine = tf.ControlForce(lander, [(1, 0, 0)], name="engine")
    return tf.OptimalControl(
        tf.System([lander, engine], gravity=(-1.5, 0, 0)), {lander: tf.Pose((10, 0, 0), velocity=(-2, 0, 0))},
        {lander: tf.Pose()}, (0, 4), "u[0]", free_time=True, bounds={engine: (0, 3), "duration": (1, 10)})
