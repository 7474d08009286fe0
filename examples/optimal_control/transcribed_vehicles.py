"""The cases of `vehicles`, written for `transcribe`."""

from __future__ import annotations

import casadi as ca
import numpy as np
from transcription import INF, transcribe


def hang_glider() -> float:
    def rate(x, u, t):
        place = (x[0] / 100 - 2.5) ** 2
        up = x[3] - 2.5 * (1 - place) * ca.exp(-place)
        speed = ca.sqrt(x[2] ** 2 + up**2)
        q = 1.13 * 14 * speed / 200
        drag, lift = (0.034 + 0.069662 * u[0] ** 2) * q, u[0] * q
        return [x[2], x[3], -lift * up - drag * x[2], lift * x[2] - drag * up - 9.80665]

    return transcribe(
        rate,
        [0, 1000, 13.2275675, -1.28750052],
        [None, 900, 13.2275675, -1.28750052],
        (0, 100),
        [(0, 1.4)],
        100,
        terminal=lambda x, T: -x[0],
        duration=(20, 200),
        guess=lambda s: [1250 * s, 1000 - 100 * s, 13.2, -1.3],
        sizes=([1e3, 1e3, 1e1, 1], [1]),
    )[0]


def shuttle_reentry() -> float:
    re, mu, mass = 20902900.0, 0.14076539e17, 203000 / 32.174

    def rate(x, u, t):
        h, v, attack = 1e5 * x[0], 1e4 * x[2], u[0] * 180 / np.pi
        r, pressure = re + h, 0.002378 * ca.exp(-h / 23800) * v**2 / 2 * 2690 / mass
        drag = (0.07854 - 0.0061592 * attack + 6.21408e-4 * attack**2) * pressure
        lift, g = (-0.20704 + 0.029244 * attack) * pressure, mu / r**2
        s, c = ca.sin(x[3]), ca.cos(x[3])
        return [
            v * s / 1e5,
            v / r * c * ca.cos(x[4]),
            (-drag - g * s) / 1e4,
            lift / v * ca.cos(u[1]) + c * (v / r - g / v),
            lift * ca.sin(u[1]) / (v * c) + v / r * c * ca.sin(x[4]) * ca.tan(x[1]),
        ]

    return transcribe(
        rate,
        [2.6, 0, 2.56, np.deg2rad(-1), np.pi / 2],
        [0.8, None, 0.25, np.deg2rad(-5), None],
        (0, 2000),
        [(-np.pi / 2, np.pi / 2), (-np.pi / 2, np.deg2rad(1))],
        60,
        terminal=lambda x, T: -x[1],
        duration=(500, 4000),
    )[0]


def lane_change() -> float:
    return transcribe(
        lambda x, u, t: [15 * ca.cos(x[2]), 15 * ca.sin(x[2]), 6 * ca.tan(x[3]), u[0]],
        [0] * 4,
        [None, 3.5, 0, 0],
        (0, 2.5),
        [(-0.3, 0.3)],
        60,
        running=lambda x, u, t: 100 * (u[0] ** 2 + x[3] ** 2),
        guess=lambda s: [37 * s, 3.5 * s, 0, 0],
        states=[(-INF, INF)] * 3 + [(-0.05, 0.05)],
        sizes=([10, 1, 0.1, 0.1], [0.1]),
    )[0]


def largest_range() -> float:
    return transcribe(
        lambda x, u, t: [x[2] * u[0], x[2] * u[1], 0.5 - u[1]],
        [0, 0, 0],
        [None, 0.1, None],
        (0, 2),
        [(-10, 10)] * 2,
        40,
        terminal=lambda x, T: -x[0],
        guessed_controls=[1, 0.1],
        path=lambda x, u, t: [u[0] ** 2 + u[1] ** 2 - 1, 1 - u[0] ** 2 - u[1] ** 2],
    )[0]


def ascent() -> float:
    def rate(x, u, t):
        h, vx, vy, mass = 1e5 * x[0], 1e3 * x[1], 1e3 * x[2], 1e5 * x[3]
        drag = 0.5 * 1.225 * ca.exp(-h / 8.44e3) * 0.5 * 7.069 * ca.sqrt(vx**2 + vy**2 + 1e-4)
        return [
            vy / 1e5,
            (2.1e6 * ca.cos(u[0]) - drag * vx) / mass / 1e3,
            ((2.1e6 * ca.sin(u[0]) - drag * vy) / mass - 9.80665) / 1e3,
            -2.1e6 / (265.2 * 9.80665) / 1e5,
        ]

    return transcribe(
        rate,
        [0, 0, 0, 1.17],
        [1.85, 7.7966961, 0, None],
        (0, 150),
        [(-1.57, 1.57)],
        60,
        terminal=lambda x, T: T,
        duration=(50, 144.5),
        guess=lambda s: [1.85 * s, 7.8 * s, 0.1, 1.17 - 1.1 * s],
    )[0]


def cannonball() -> float:
    def rate(x, u, t):
        v, mass = 100 * x[3], 7.87 * 4 / 3 * np.pi * u[0] ** 3
        drag = 0.5 * np.pi * 1e-2 * u[0] ** 2 * 1.225 * ca.exp(-x[1] / 8.44) * v**2 / 2
        return [
            v * ca.cos(x[2]) / 1e3,
            v * ca.sin(x[2]) / 1e3,
            -9.80665 * ca.cos(x[2]) / v,
            (-drag / mass - 9.80665 * ca.sin(x[2])) / 100,
        ]

    def found(radius):
        v = np.sqrt(80 / (7.87 * 4 / 3 * np.pi * radius**3))
        return transcribe(
            rate,
            [0, 0, None, v],
            [None, 0, None, None],
            (0, 25),
            [(radius, radius + 1e-12)],
            40,
            terminal=lambda x, T: -x[0],
            duration=(5, 80),
            guess=lambda s: [s, s * (1 - s), 0.6 - 1.2 * s, v],
        )[0]

    low, high = 0.3, 0.7  # golden section
    for _ in range(30):
        a, b = high - 0.618034 * (high - low), low + 0.618034 * (high - low)
        low, high = (low, b) if found(a) < found(b) else (a, high)
    return found((low + high) / 2)


def race_car() -> float:
    return transcribe(
        lambda x, u, t: [x[1], u[0] - x[1]],
        [0, 0],
        [1, None],
        (0, 1),
        [(0, 1)],
        320,
        terminal=lambda x, T: T,
        duration=(0.1, 10),
        path=lambda x, u, t: [x[1] + ca.sin(2 * np.pi * x[0]) / 2 - 1],
    )[0]


def parking() -> float:
    """From a path that goes ahead and back, with its speeds."""
    return transcribe(
        lambda x, u, t: [x[3] * ca.cos(x[2]), x[3] * ca.sin(x[2]), x[3] * ca.tan(x[4]) / 2.5, u[0], u[1]],
        [0, 0, 0, 0, 0],
        [0, 2.5, 0, 0, 0],
        (0, 9),
        [(-1.5, 1.5), (-0.8, 0.8)],
        240,
        running=lambda x, u, t: u[0] ** 2 + u[1] ** 2,
        states=[(-INF, INF)] * 4 + [(-0.6, 0.6)],
        guess=lambda s: [5 * np.sin(np.pi * s), 2.5 * s, 0.3 * np.sin(2 * np.pi * s), 2 * np.cos(np.pi * s), 0],
    )[0]


def unicycle() -> float:
    return transcribe(
        lambda x, u, t: [x[3] * ca.cos(x[2]), x[3] * ca.sin(x[2]), x[4], u[0], u[1]], [-1, -1, 0, 0, 0],
        [0, 0, np.pi / 2, 0, 0], (0, 4), [(-1, 1), (-2, 2)], 40,
        running=lambda x, u, t: u[0] ** 2 + u[1] ** 2 + 0.1 * (x[0] ** 2 + x[1] ** 2))[0]


def missile() -> float:
    def forces(x, u):
        pressure = (3.312e-9 * x[3] ** 2 - 1.142e-4 * x[3] + 1.224) * x[1] ** 2 / 2 * 0.3376
        return 21.9 * u[1] * pressure, (-1.9431 * u[1] ** 2 - 0.1499 * u[1] + 0.2359) * pressure

    def rate(x, u, t):
        (lift, drag), s, c = forces(x, u), ca.sin(u[1]), ca.cos(u[1])
        return [((u[0] - drag) * s + lift * c) / (1005 * x[1]) - 9.81 * ca.cos(x[0]) / x[1],
                ((u[0] - drag) * c - lift * s) / 1005 - 9.81 * ca.sin(x[0]), x[1] * ca.cos(x[0]), x[1] * ca.sin(x[0])]

    def path(x, u, t):
        load = forces(x, u)[0] / (1005 * 9.81)
        return [load - 4, -4 - load, (15 * (1 + ca.tanh((7500 - x[2]) / 10)) - x[3]) / 100]

    return transcribe(rate, [0, 272, 0, 30], [-np.pi / 2, 310, 10000, 0], (0, 40), [(1000, 6000), (-0.3, 0.3)], 60,
                      terminal=lambda x, T: T, duration=(10, 100), path=path, sizes=([1, 100, 1e4, 1e3], [1e3, 0.1]),
                      states=[(-INF, INF), (200, 310), (-INF, INF), (-INF, INF)])[0]
