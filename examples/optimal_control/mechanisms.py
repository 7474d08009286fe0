"""Pendulums, carts and arms."""

import casadi as ca
import numpy as np
from cases import case, of_states

import timefem as tf


@case(58.80766, "transcription (Kelly, cart-pole swing-up; OptimTraj)")
def cart_pole() -> tf.OptimalControl:
    cart = tf.GeneralizedBody(2, lambda q, v,
                              c: (v[0]**2 + 0.3 * (v[0]**2 + v[0] * v[1] * ca.cos(q[1]) + v[1]**2 / 4)) / 2,
                              name="cart")
    motor = tf.FormulaForce(cart, "[u[0], -0.3 * 9.81 * 0.5 * sin(f[0].q[1])]", n_controls=1, name="motor")
    return tf.OptimalControl(
        tf.System([cart, motor]), {cart: tf.Coordinates([0, 0])}, {cart: tf.Coordinates([1, np.pi])}, (0, 2), "u[0]**2",
        bounds={motor: (-20, 20)}, limits=[tf.Limit("now.q('cart')[0]", -2, 2, name="rail")])


@case(1.621234, "transcription (OptimTraj, pendulum swing-up)")
def pendulum() -> tf.OptimalControl:
    arm = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="arm")
    motor = tf.FormulaForce(arm, "[u[0] - 0.1 * f[0].rate[0] - sin(f[0].q[0])]", n_controls=1, name="motor")
    return tf.OptimalControl(
        tf.System([arm, motor]), {arm: tf.Coordinates([0])}, {arm: tf.Coordinates([np.pi])}, (0, 10), "u[0]**2",
        bounds={motor: (-0.7, 0.7)})


@case(9.140911, "converged here; COPS 3, robot arm: 9.14093", n=80, finer=4)
def robot_arm() -> tf.OptimalControl:
    arm = tf.GeneralizedBody(3, lambda q, v, c: ca.sumsqr(v) / 2, name="arm")  # length, turn, elevation

    def rates(f, t, c, u):
        length, elevation = f[0].q[0], f[0].q[2]
        inertia = ((5 - length)**3 + length**3) / 3
        return ca.vertcat(u[0] / 5, u[1] / (inertia * ca.sin(elevation)**2), u[2] / inertia)

    motors = tf.FormulaForce(arm, rates, n_controls=3, name="motors")
    return tf.OptimalControl(
        tf.System([arm, motors]), {arm: tf.Coordinates([4.5, 0, np.pi / 4])},
        {arm: tf.Coordinates([4.5, 2 * np.pi / 3, np.pi / 4])}, (0, 9), end_cost="end.t", free_time=True,
        bounds={motors: (-1, 1), "duration": (1, 30)})


@case(2.98229, "transcription (Luus, two-link arm; PSOPT, twolinkarm)", n=80)
def two_link_arm() -> tf.OptimalControl:
    def rate(x, u):
        s, c, pull = ca.sin(x[2]), ca.cos(x[2]), u[0] - u[1]
        whole = 31 / 36 + 9 / 4 * s**2
        first = s * (9 / 4 * c * x[0]**2 + 2 * x[1]**2) + 4 / 3 * pull - 3 / 2 * c * u[1]
        second = s * (7 / 2 * x[0]**2 + 9 / 4 * c * x[1]**2) - 7 / 3 * u[1] + 3 / 2 * c * pull
        return ca.vertcat(first / whole, -second / whole, x[1] - x[0], x[0])

    return of_states(rate, [0, 0, 0.5, 0], [0, 0, 0.5, 0.522], (0, 3), [(-1, 1), (-1, 1)], end_cost="end.t",
                     free_time=True,
                     bounds={"duration": (1, 10)})


@case(14.273108, "transcription (acados and others, planar quadrotor)", n=60, finer=8)
def planar_quadrotor() -> tf.OptimalControl:
    drone = tf.GeneralizedBody(3, lambda q, v, c: (v[0]**2 + v[1]**2 + 0.1 * v[2]**2) / 2, name="drone")
    rotors = tf.FormulaForce(drone, lambda f, t, c, u: ca.vertcat(
        -(u[0] + u[1]) * ca.sin(f[0].q[2]), (u[0] + u[1]) * ca.cos(f[0].q[2]) - 9.81, 0.3 * (u[1] - u[0])),
        n_controls=2, name="rotors")
    return tf.OptimalControl(
        tf.System([drone, rotors]), {drone: tf.Coordinates([0, 0, 0])}, {drone: tf.Coordinates([2, 1, 0])}, (0, 1.5),
        "(u[0] - 4.905)**2 + (u[1] - 4.905)**2", bounds={rotors: (0, 10)})


@case(0.6006452, "transcription (Furuta's pendulum, swung up; acados)", n=120, finer=3)
def furuta() -> tf.OptimalControl:
    """An arm of 85 mm that a motor turns, and a rod of 129 mm at its end; sizes of acados' example."""
    coupled, rod, arm = 0.024 * 0.085 * 0.0645, 0.024 * 0.129**2 / 3, 0.3 * 0.085**2 / 3 + 0.024 * 0.085**2

    def kinetic(q, v, c):
        return ((arm + rod * ca.sin(q[1])**2) * v[0]**2 + rod * v[1]**2) / 2 + coupled * ca.cos(q[1]) * v[0] * v[1]

    pendulum = tf.GeneralizedBody(2, kinetic, name="pendulum")
    motor = tf.FormulaForce(pendulum, "[0.05 * u[0], 0.024 * 9.81 * 0.0645 * sin(f[0].q[1])]", n_controls=1,
                            name="motor")
    return tf.OptimalControl(
        tf.System([pendulum, motor]), {pendulum: tf.Coordinates([0, np.pi])}, {pendulum: tf.Coordinates([0, 0])},
        (0, 1), "u[0]**2", bounds={motor: (-1, 1)})


@case(12.873889, "transcription in one angle (Betts 2010, 10.103: 12.87388; opty, PSOPT, dae_i3)", n=80)
def pendulum_as_dae() -> tf.OptimalControl:
    """Place and velocity of a bob on a rod of 1 m, whose force is a control that an equation settles."""
    rod = tf.Limit("now.q('x')[2]**2 + now.q('x')[3]**2 - 2 * u[1] - 9.81 * now.q('x')[1]", 0, 0, name="rod")
    return of_states(
        lambda x, u: ca.vertcat(x[2], x[3], u[0] * x[1] - 2 * u[1] * x[0], -9.81 - u[0] * x[0] - 2 * u[1] * x[1]),
        [1, 0, 0, 0], [0, None, 0, None], (0, 3), [(None, None), (-1, 15)], "u[0]**2", limits=[rod])


@case(876.04836, "transcription (bioptim, a double pendulum with a spring between, driven at the hip)", n=60)
def sprung_double_pendulum() -> tf.OptimalControl:
    """Rods of 1 m without mass, bobs of 2 kg and 1 kg, whose inertia about their joints is 1 kg m^2."""
    links = tf.GeneralizedBody(2, lambda q, v, c: 1.5 * v[0]**2 + v[1]**2 / 2 + v[0] * v[1] * ca.cos(q[1] - q[0]),
                               name="links")
    hip = tf.FormulaForce(links, "[u[0] - 2 * 9.81 * sin(f[0].q[0]) + 8 * (f[0].q[1] - f[0].q[0]), "
                          "-9.81 * sin(f[0].q[1]) - 8 * (f[0].q[1] - f[0].q[0])]", n_controls=1, name="hip")
    return tf.OptimalControl(
        tf.System([links, hip]), {links: tf.Coordinates([0, 0])}, {links: tf.Coordinates([np.pi, np.pi])}, (0, 2),
        "u[0]**2", bounds={hip: (-40, 40)})
