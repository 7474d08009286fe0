"""Pendulums that swing up, chains, muscles, reactors, therapies."""

import casadi as ca
import numpy as np
from cases import case, of_states

import timefem as tf


@case(
    34.9187616,
    "transcription from this minimum; from a straight line it ends at 77.85 (OptimTraj, acrobot)",
    n=100,
    degree=3,
    starts=16,
)
def acrobot() -> tf.OptimalControl:
    """Two links of 1 kg and 0.5 m, hung at one end, with a motor between them; angles from below."""

    def kinetic(q, v, c):
        return (v[0] ** 2 + (v[0] ** 2 + v[1] ** 2 + 2 * v[0] * v[1] * ca.cos(q[0] - q[1]))) / 8

    links = tf.GeneralizedBody(2, kinetic, name="links")
    motor = tf.FormulaForce(
        links, "[-9.81 * sin(f[0].q[0]) - u[0], -9.81 / 2 * sin(f[0].q[1]) + u[0]]", n_controls=1, name="motor"
    )
    return tf.OptimalControl(
        tf.System([links, motor]),
        {links: tf.Coordinates([0, 0])},
        {links: tf.Coordinates([np.pi, np.pi])},
        (0, 2),
        "u[0]**2",
        bounds={motor: (-20, 20)},
    )


@case(
    128.88612,
    "transcription from this minimum; from a straight line it ends at 170.43 (opty and others)",
    n=100,
    degree=3,
    starts=8,
)
def double_pendulum_on_cart() -> tf.OptimalControl:
    """Three masses of 1, 0.3 and 0.3 kg, rods of 0.5 m."""

    def kinetic(q, v, c):
        x1, y1 = v[0] + 0.5 * v[1] * ca.cos(q[1]), 0.5 * v[1] * ca.sin(q[1])
        x2, y2 = x1 + 0.5 * v[2] * ca.cos(q[2]), y1 + 0.5 * v[2] * ca.sin(q[2])
        return (v[0] ** 2 + 0.3 * (x1**2 + y1**2 + x2**2 + y2**2)) / 2

    cart = tf.GeneralizedBody(3, kinetic, name="cart")
    motor = tf.FormulaForce(
        cart,
        "[u[0], -0.6 * 9.81 * 0.5 * sin(f[0].q[1]), -0.3 * 9.81 * 0.5 * sin(f[0].q[2])]",
        n_controls=1,
        name="motor",
    )
    return tf.OptimalControl(
        tf.System([cart, motor]),
        {cart: tf.Coordinates([0, 0, 0])},
        {cart: tf.Coordinates([0, np.pi, np.pi])},
        (0, 2.5),
        "u[0]**2",
        bounds={motor: (-40, 40)},
        limits=[tf.Limit("now.q('cart')[0]", -1.5, 1.5, name="rail")],
    )


@case(3.5613349, "transcription (acados, chain of masses; here of 4, moved by its end)", n=60)
def chain_of_masses() -> tf.OptimalControl:
    """Masses of 0.03 kg on springs of 1 N/m and 0.033 m; the last is moved by its acceleration, and ends at rest."""
    masses = [tf.PointMass(0.03, dimension=2, name=f"mass{i}") for i in range(4)]
    springs = [
        tf.Spring(a, b, stiffness=1.0, length=0.033, name=f"spring{i}")
        for i, (a, b) in enumerate(zip(masses[1:], masses[:-1], strict=True))
    ]
    springs.append(tf.Spring(masses[0], point_b=(0, 0, 0), stiffness=1.0, length=0.033, name="first"))
    push = tf.ControlForce(masses[-1], [(1, 0, 0), (0, 1, 0)], name="push")
    places = [(0.25 * (i + 1), 0, 0) for i in range(4)]
    return tf.OptimalControl(
        tf.System([*masses, *springs, push]),
        {m: tf.Pose(p) for m, p in zip(masses, places, strict=True)},
        {m: tf.Pose((p[1], p[0], 0)) for m, p in zip(masses, places, strict=True)},
        (0, 2),
        "100 * (u[0]**2 + u[1]**2)",
        bounds={push: (-2, 2)},
    )


@case(0.16332863, "transcription (bioptim, an arm with two muscles)", n=60)
def muscles() -> tf.OptimalControl:
    """A forearm of 0.1 kg m^2 that turns by 2 rad; activations follow excitations with a lag of 0.05 s."""
    arm, excite = tf.GeneralizedBody(1, lambda q, v, c: 0.1 * v[0] ** 2 / 2, name="arm"), tf.Control(2, name="excite")
    active = tf.State("active", lambda x, f, t, c, u: (u - x) / 0.05, n=2, controls=[excite])
    pull = tf.FormulaForce(
        [arm, active],
        lambda f, t, c: [6 * (f[1].q[0] - f[1].q[1]) * ca.cos(f[0].q[0] / 2) - 0.1 * f[0].rate[0], ca.SX(2, 1)],
        name="pull",
    )
    return tf.OptimalControl(
        tf.System([arm, active, excite, pull]),
        {arm: tf.Coordinates([0]), active: [0.05, 0.05]},
        {arm: tf.Coordinates([2.0])},
        (0, 0.6),
        "u[0]**2 + u[1]**2",
        bounds={excite: (0.01, 1)},
    )


@case(0.1330957, "Luus, stirred tank reactor: 0.13309", n=40)
def stirred_tank() -> tf.OptimalControl:
    def rate(x, u):
        made = (x[1] + 0.5) * ca.exp(25 * x[0] / (x[0] + 2))
        return ca.vertcat(-(2 + u[0]) * (x[0] + 0.25) + made, 0.5 - x[1] - made)

    return of_states(
        rate,
        [0.09, 0.09],
        [None, None],
        (0, 0.78),
        [(None, None)],
        "now.q('x')[0]**2 + now.q('x')[1]**2 + 0.1 * u[0]**2",
    )


@case(7571.6707, "transcription (Ledzewicz and Schaettler, tumour; 7571.6712 in GPOPS)", n=60)
def tumour() -> tf.OptimalControl:
    """Volumes of a tumour and its vessels [1e4 mm^3], and the drug that is used."""

    def rate(x, u):
        p, q = 1e4 * x[0], 1e4 * x[1]
        return ca.vertcat(
            -0.084 * p * ca.log(p / q) / 1e4, q * (5.85 - 0.02 - 0.00873 * p ** (2 / 3) - 0.15 * u[0]) / 1e4, u[0]
        )

    most = (5.83 / 0.00873) ** 1.5 / 1e4
    return of_states(
        rate,
        [most / 2, most / 4, 0],
        [None, None, None],
        (0, 1.0),
        [(0, 75)],
        end_cost="1e4 * end.q('x')[0]",
        free_time=True,
        bounds={"duration": (0.1, 5)},
        limits=[tf.Limit("now.q('x')[2]", None, 15, at="end", name="drug")],
    )


@case(2.2368513, "transcription (a motor with its current, beside the mechanics)", n=40, finer=8)
def motor_with_current() -> tf.OptimalControl:
    """A turn by 10 rad in 1 s, of least heat and least voltage, which is up to 8 V."""
    rotor, supply = (
        tf.GeneralizedBody(1, lambda q, v, c: 0.005 * v[0] ** 2 / 2, name="rotor"),
        tf.Control(1, name="supply"),
    )
    current = tf.State(
        "current",
        lambda x, f, t, c, u: (u[0] - 1.5 * x[0] - 0.15 * f[0].rate[0]) / 0.2,
        bodies=[rotor],
        controls=[supply],
    )
    torque = tf.FormulaForce([rotor, current], "[0.15 * f[1].q[0] - 0.002 * f[0].rate[0], 0]", name="torque")
    return tf.OptimalControl(
        tf.System([rotor, current, supply, torque]),
        {rotor: tf.Coordinates([0]), current: [0.0]},
        {rotor: tf.Coordinates([10.0])},
        (0, 1),
        "1.5 * now.q('current')[0]**2 + 0.01 * u[0]**2",
        bounds={supply: (-8, 8)},
    )


@case(8.4982663, "transcription (a gantry crane in least time; Kirk and others)", n=60)
def gantry_crane() -> tf.OptimalControl:
    """A load of 300 kg on 6 m of rope below a trolley of 600 kg with 400 N; it ends at rest, 8 m farther."""
    crane = tf.GeneralizedBody(
        2,
        lambda q, v, c: (
            (600 * v[0] ** 2 + 300 * ((v[0] + 6 * v[1] * ca.cos(q[1])) ** 2 + 36 * v[1] ** 2 * ca.sin(q[1]) ** 2)) / 2
        ),
        name="crane",
    )
    drive = tf.FormulaForce(crane, "[u[0], -300 * 9.81 * 6 * sin(f[0].q[1])]", n_controls=1, name="drive")
    return tf.OptimalControl(
        tf.System([crane, drive]),
        {crane: tf.Coordinates([0, 0])},
        {crane: tf.Coordinates([8, 0])},
        (0, 10),
        end_cost="end.t",
        free_time=True,
        bounds={drive: (-400, 400), "duration": (2, 60)},
    )
