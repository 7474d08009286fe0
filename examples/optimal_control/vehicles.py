"""Aircraft, gliders, cars, spacecraft."""

import casadi as ca
import numpy as np
from cases import case, of_states

import timefem as tf


@case(-1248.031, "transcription (COPS 3, hang glider; Bulirsch and others: 1248.03)", n=100)
def hang_glider() -> tf.OptimalControl:
    """Distance, height and their rates [m, m/s]; an updraft at 250 m."""

    def rate(x, u):
        place = (x[0] / 100 - 2.5) ** 2
        up = x[3] - 2.5 * (1 - place) * ca.exp(-place)
        speed2 = x[2] ** 2 + up**2
        drag, lift = ((0.034 + 0.069662 * u[0] ** 2) * 1.13 * 14 * speed2 / 2, u[0] * 1.13 * 14 * speed2 / 2)
        sine, cosine = up / ca.sqrt(speed2), x[2] / ca.sqrt(speed2)
        return ca.vertcat(
            x[2], x[3], (-lift * sine - drag * cosine) / 100, (lift * cosine - drag * sine) / 100 - 9.80665
        )

    return of_states(
        rate,
        [0, 1000, 13.2275675, -1.28750052],
        [None, 900, 13.2275675, -1.28750052],
        (0, 100),
        [(0, 1.4)],
        end_cost="-end.q('x')[0]",
        free_time=True,
        bounds={"duration": (20, 200)},
    )


@case(-0.595876, "Betts, shuttle reentry of largest cross range, 34.1412 degrees (PSOPT; dymos)", n=60)
def shuttle_reentry() -> tf.OptimalControl:
    """Altitude [1e5 ft], latitude, speed [1e4 ft/s], flight path and azimuth; attack and bank."""
    re, mu, degree = 20902900.0, 0.14076539e17, 180 / np.pi

    def rate(x, u):
        h, latitude, v, path, azimuth = 1e5 * x[0], x[1], 1e4 * x[2], x[3], x[4]
        r, attack = re + h, u[0] * degree
        pressure = 0.002378 * ca.exp(-h / 23800) * v**2 / 2 * 2690
        drag = (0.07854 - 0.0061592 * attack + 6.21408e-4 * attack**2) * pressure / (203000 / 32.174)
        lift, g = (-0.20704 + 0.029244 * attack) * pressure / (203000 / 32.174), mu / r**2
        s, c = ca.sin(path), ca.cos(path)
        return ca.vertcat(
            v * s / 1e5,
            v / r * c * ca.cos(azimuth),
            (-drag - g * s) / 1e4,
            lift / v * ca.cos(u[1]) + c * (v / r - g / v),
            lift * ca.sin(u[1]) / (v * c) + v / r * c * ca.sin(azimuth) * ca.tan(latitude),
        )

    return of_states(
        rate,
        [2.6, 0, 2.56, np.deg2rad(-1), np.pi / 2],
        [0.8, None, 0.25, np.deg2rad(-5), None],
        (0, 2000),
        [(-np.pi / 2, np.pi / 2), (-np.pi / 2, np.deg2rad(1))],
        end_cost="-end.q('x')[1]",
        free_time=True,
        bounds={"duration": (500, 4000)},
    )


@case(1.2873282, "transcription (a car that changes its lane; opty and others)", n=40)
def lane_change() -> tf.OptimalControl:
    """Place, heading and steering angle of a car of 2.5 m at 15 m/s, by 3.5 m in 2.5 s."""
    return of_states(
        lambda x, u: ca.vertcat(15 * ca.cos(x[2]), 15 * ca.sin(x[2]), 6 * ca.tan(x[3]), u[0]),
        [0, 0, 0, 0],
        [None, 3.5, 0, 0],
        (0, 2.5),
        [(-0.3, 0.3)],
        "100 * (u[0]**2 + now.q('x')[3]**2)",
        limits=[tf.Limit("now.q('x')[3]", -0.05, 0.05, name="steering")],
    )


@case(-1.7123149, "transcription (PSOPT, Bryson's maximum range: 1.712312)", n=40, degree=3)
def largest_range() -> tf.OptimalControl:
    return of_states(
        lambda x, u: ca.vertcat(x[2] * u[0], x[2] * u[1], 0.5 - u[1]),
        [0, 0, 0],
        [None, 0.1, None],
        (0, 2),
        [(-10, 10), (-10, 10)],
        end_cost="-end.q('x')[0]",
        limits=[tf.Limit("u[0]**2 + u[1]**2", 1, 1, name="direction")],
    )


@case(143.58973, "transcription (dymos, single stage to orbit from Earth: 143 s)", n=60)
def ascent() -> tf.OptimalControl:
    """Least time to 185 km at orbital speed, with drag and mass; scaled: 100 km, km/s, 100 t, 100 s."""

    def rate(x, u):
        h, vx, vy, mass = 1e5 * x[0], 1e3 * x[1], 1e3 * x[2], 1e5 * x[3]
        drag = 0.5 * 1.225 * ca.exp(-h / 8.44e3) * 0.5 * 7.069 * ca.sqrt(vx**2 + vy**2 + 1e-4)
        return ca.vertcat(
            vy / 1e5,
            (2.1e6 * ca.cos(u[0]) - drag * vx) / mass / 1e3,
            ((2.1e6 * ca.sin(u[0]) - drag * vy) / mass - 9.80665) / 1e3,
            -2.1e6 / (265.2 * 9.80665) / 1e5,
        )

    return of_states(
        rate,
        [0, 0, 0, 1.17],
        [1.85, 7.7966961, 0, None],
        (0, 150),
        [(-1.57, 1.57)],
        end_cost="end.t",
        free_time=True,
        bounds={"duration": (50, 144.5)},
    )


@case(-3.2133648, "transcription (dymos, cannonball: size and angle for the largest range, 3183 m)", n=30)
def cannonball() -> tf.OptimalControl:
    """Range, height [km], angle, speed [100 m/s] and the radius [dm], which is found; 400 kJ, 7870 kg/m^3."""

    def rate(x, u):
        v, mass = 100 * x[3], 7.87 * 4 / 3 * np.pi * x[4] ** 3
        drag = 0.5 * np.pi * 1e-2 * x[4] ** 2 * 1.225 * ca.exp(-x[1] / 8.44) * v**2 / 2
        return ca.vertcat(
            v * ca.cos(x[2]) / 1e3,
            v * ca.sin(x[2]) / 1e3,
            -9.80665 * ca.cos(x[2]) / v,
            (-drag / mass - 9.80665 * ca.sin(x[2])) / 100,
            u[0],
        )

    energy = tf.Limit("7.87 * 4 / 3 * pi * now.q('x')[4]**3 * now.q('x')[3]**2", 80, 80, at="start", name="energy")
    radius = tf.Limit("now.q('x')[4]", 0.1, 2.0, at="start", name="radius")
    speed = tf.Limit("now.q('x')[3]", 0.1, None, name="speed")  # drag would drive it where it is below zero
    problem = of_states(
        rate,
        [0, 0, None, None, None],
        [None, 0, None, None, None],
        (0, 25),
        [(-1e-9, 1e-9)],
        end_cost="-end.q('x')[0]",
        free_time=True,
        limits=[energy, radius, speed],
        bounds={"duration": (5, 80)},
    )
    return problem.guessed_near({"x": tf.EndState(q=[0, 0, 0.6, 4.0, 0.5])})


@case(1.904681, "transcription (CasADi, race_car)", n=60, finer=8)
def race_car() -> tf.OptimalControl:
    """Once round in least time, with a limit of the speed that depends on the place."""
    speed = tf.Limit("now.q('x')[1] + sin(2 * pi * now.q('x')[0]) / 2", None, 1, name="speed")
    return of_states(
        lambda x, u: ca.vertcat(x[1], u[0] - x[1]),
        [0, 0],
        [1, None],
        (0, 1),
        [(0, 1)],
        end_cost="end.t",
        free_time=True,
        bounds={"duration": (0.1, 10)},
        limits=[speed],
    )


@case(9.638421, "transcription (a car of 2.5 m that parks beside itself; opty and others)", n=60, starts=3, finer=4)
def parking() -> tf.OptimalControl:
    """Place, heading, speed and steering angle, within 1.5 m/s^2 and 0.8 rad/s; 2.5 m to the side in 9 s."""
    return of_states(
        lambda x, u: ca.vertcat(
            x[3] * ca.cos(x[2]), x[3] * ca.sin(x[2]), x[3] * ca.tan(x[4]) / 2.5, u[0], u[1]
        ),
        [0, 0, 0, 0, 0],
        [0, 2.5, 0, 0, 0],
        (0, 9),
        [(-1.5, 1.5), (-0.8, 0.8)],
        "u[0]**2 + u[1]**2",
        limits=[tf.Limit("now.q('x')[4]", -0.6, 0.6, name="steering")],
    )


@case(40.911939, "transcription (Subchan and Zbikowski, terminal bunt in least time; PSOPT, missile: 40.91)", n=60)
def missile() -> tf.OptimalControl:
    """Path angle, speed, distance and height [100 m/s, 10 km, km]; thrust [kN] and attack, within a load of 4 g."""

    def forces(x, u):
        height, attack = 1e3 * x[3], u[1]
        pressure = (3.312e-9 * height**2 - 1.142e-4 * height + 1.224) * (100 * x[1]) ** 2 / 2 * 0.3376
        return 21.9 * attack * pressure, (-1.9431 * attack**2 - 0.1499 * attack + 0.2359) * pressure

    def rate(x, u):
        v, (lift, drag), s, c = 100 * x[1], forces(x, u), ca.sin(u[1]), ca.cos(u[1])
        push = 1e3 * u[0] - drag
        return ca.vertcat((push * s + lift * c) / (1005 * v) - 9.81 * ca.cos(x[0]) / v,
                          ((push * c - lift * s) / 1005 - 9.81 * ca.sin(x[0])) / 100,
                          v * ca.cos(x[0]) / 1e4, v * ca.sin(x[0]) / 1e3)

    load = tf.Limit(lambda now, u: forces(now.q("x"), u)[0] / (1005 * 9.81), -4, 4, name="load")
    height = tf.Limit("now.q('x')[3] - 0.015 * (1 + tanh((0.75 - now.q('x')[2]) / 0.001))", 0, None, name="height")
    return of_states(
        rate, [0, 2.72, 0, 0.03], [-np.pi / 2, 3.1, 1, 0], (0, 40), [(1, 6), (-0.3, 0.3)], end_cost="end.t",
        free_time=True, bounds={"duration": (10, 100)},
        limits=[load, height, tf.Limit("now.q('x')[1]", 2, 3.1, name="speed")])
