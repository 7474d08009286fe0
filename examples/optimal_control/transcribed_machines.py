"""The cases of `machines`, written for `transcribe`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from transcription import INF, transcribe


def acrobot(guess: Callable[[float], Any] | None = None) -> float:
    """Of the minimum near a guess; from a straight line 77.851."""

    def rate(x, u, t):
        c, s = ca.cos(x[0] - x[1]), ca.sin(x[0] - x[1])
        first = (-9.81 * ca.sin(x[0]) - u[0]) * 4 - s * x[3] ** 2
        second = (-9.81 / 2 * ca.sin(x[1]) + u[0]) * 4 + s * x[2] ** 2
        return [x[2], x[3], (first - c * second) / (2 - c**2), (2 * second - c * first) / (2 - c**2)]

    return transcribe(
        rate, [0] * 4, [np.pi, np.pi, 0, 0], (0, 2), [(-20, 20)], 100, guess=guess, running=lambda x, u, t: u[0] ** 2
    )[0]


def double_pendulum_on_cart(guess: Callable[[float], Any] | None = None) -> float:
    """Of the minimum near a guess; from a straight line 170.434."""

    def rate(x, u, t):
        a, b = x[1], x[2]
        c1, c2, c, s = ca.cos(a), ca.cos(b), ca.cos(a - b), ca.sin(a - b)
        m = ca.vertcat(
            ca.horzcat(1.6, 0.3 * c1, 0.15 * c2),
            ca.horzcat(0.3 * c1, 0.15, 0.075 * c),
            ca.horzcat(0.15 * c2, 0.075 * c, 0.075),
        )
        f = ca.vertcat(
            u[0] + 0.3 * ca.sin(a) * x[4] ** 2 + 0.15 * ca.sin(b) * x[5] ** 2,
            -0.3 * 9.81 * ca.sin(a) - 0.075 * s * x[5] ** 2,
            -0.15 * 9.81 * ca.sin(b) + 0.075 * s * x[4] ** 2,
        )
        return [*ca.vertsplit(x[3:]), *ca.vertsplit(ca.solve(m, f))]

    return transcribe(
        rate,
        [0] * 6,
        [0, np.pi, np.pi, 0, 0, 0],
        (0, 2.5),
        [(-40, 40)],
        100,
        guess=guess,
        running=lambda x, u, t: u[0] ** 2,
        states=[(-1.5, 1.5)] + [(-INF, INF)] * 5,
    )[0]


def chain_of_masses() -> float:
    def rate(x, u, t):
        places = [ca.SX(2, 1), *(x[2 * i : 2 * i + 2] for i in range(4))]
        forces = [(b - a) * (1 - 0.033 / ca.norm_2(b - a)) for a, b in pairwise(places)]
        pulls = [b - a for a, b in pairwise(forces)] + [u - forces[-1]]
        return [x[8:], *(pull / 0.03 for pull in pulls)]

    places = np.array([[0.25 * (i + 1), 0] for i in range(4)])
    still = np.zeros(8)
    return transcribe(
        rate,
        [*places.ravel(), *still],
        [*places[:, ::-1].ravel(), *still],
        (0, 2),
        [(-2, 2)] * 2,
        30,
        running=lambda x, u, t: 100 * ca.sumsqr(u),
    )[0]


def muscles() -> float:
    def rate(x, u, t):
        return [
            x[1],
            (6 * (x[2] - x[3]) * ca.cos(x[0] / 2) - 0.1 * x[1]) / 0.1,
            (u[0] - x[2]) / 0.05,
            (u[1] - x[3]) / 0.05,
        ]

    return transcribe(
        rate,
        [0, 0, 0.05, 0.05],
        [2, 0, None, None],
        (0, 0.6),
        [(0.01, 1)] * 2,
        60,
        running=lambda x, u, t: ca.sumsqr(u),
    )[0]


def stirred_tank() -> float:
    def rate(x, u, t):
        made = (x[1] + 0.5) * ca.exp(25 * x[0] / (x[0] + 2))
        return [-(2 + u[0]) * (x[0] + 0.25) + made, 0.5 - x[1] - made]

    return transcribe(
        rate,
        [0.09, 0.09],
        [None, None],
        (0, 0.78),
        [(-INF, INF)],
        20,
        running=lambda x, u, t: ca.sumsqr(x) + 0.1 * u[0] ** 2,
    )[0]


def tumour() -> float:
    def rate(x, u, t):
        p, q = 1e4 * x[0], 1e4 * x[1]
        return [-0.084 * x[0] * ca.log(p / q), x[1] * (5.85 - 0.02 - 0.00873 * p ** (2 / 3) - 0.15 * u[0]), u[0]]

    most = (5.83 / 0.00873) ** 1.5 / 1e4
    return transcribe(
        rate,
        [most / 2, most / 4, 0],
        [None] * 3,
        (0, 1),
        [(0, 75)],
        120,
        terminal=lambda x, T: 1e4 * x[0],
        duration=(0.1, 5),
        states=[(0.01, 3), (0.01, 3), (0, 15)],
        sizes=([1, 1, 10], [75]),
    )[0]


def motor_with_current() -> float:
    return transcribe(
        lambda x, u, t: [x[1], (0.15 * x[2] - 0.002 * x[1]) / 0.005, (u[0] - 1.5 * x[2] - 0.15 * x[1]) / 0.2],
        [0, 0, 0],
        [10, 0, None],
        (0, 1),
        [(-8, 8)],
        100,
        running=lambda x, u, t: 1.5 * x[2] ** 2 + 0.01 * u[0] ** 2,
    )[0]


def gantry_crane() -> float:
    def rate(x, u, t):
        s, c = ca.sin(x[1]), ca.cos(x[1])
        a = (400 * u[0] + 300 * s * (6 * x[3] ** 2 + 9.81 * c)) / (600 + 300 * s**2)
        return [x[2], x[3], a, -(a * c + 9.81 * s) / 6]

    return transcribe(
        rate, [0] * 4, [8, 0, 0, 0], (0, 10), [(-1, 1)], 120, terminal=lambda x, T: T, duration=(2, 60)
    )[0]


def brachistochrone_above_a_line() -> float:
    return transcribe(
        lambda x, u, t: [x[2] * ca.sin(u[0]), -x[2] * ca.cos(u[0]), 9.80665 * ca.cos(u[0])],
        [0, 10, 0],
        [10, None, None],
        (0, 2),
        [(0, 3.2)],
        80,
        terminal=lambda x, T: T,
        duration=(0.5, 10),
        path=lambda x, u, t: [8.5 - x[1] - x[0] / 2],
        guess=lambda s: [10 * s, 10 - 4 * s, 0.1 + 9 * s],
    )[0]


def furuta() -> float:
    """Accelerations solved by hand: masses 0.3 and 0.024 kg, an arm of 85 mm, a rod of 129 mm."""
    coupled, rod, arm = 0.024 * 0.085 * 0.0645, 0.024 * 0.129**2 / 3, 0.3 * 0.085**2 / 3 + 0.024 * 0.085**2

    def rate(x, u, t):
        s, c = ca.sin(x[1]), ca.cos(x[1])
        first = 0.05 * u[0] - 2 * rod * s * c * x[2] * x[3] + coupled * s * x[3]**2
        second = rod * s * c * x[2]**2 + 0.024 * 9.81 * 0.0645 * s
        a, b = arm + rod * s**2, coupled * c
        det = a * rod - b**2
        return [x[2], x[3], (rod * first - b * second) / det, (a * second - b * first) / det]

    return transcribe(rate, [0, np.pi, 0, 0], [0, 0, 0, 0], (0, 1), [(-1, 1)], 240, running=lambda x, u, t: u[0]**2)[0]


def pendulum_as_dae() -> float:
    return transcribe(lambda x, u, t: [x[1], u[0] - 9.81 * ca.sin(x[0])], [np.pi / 2, 0], [0, 0], (0, 3), [(-INF, INF)],
                      80, running=lambda x, u, t: u[0] ** 2)[0]


def sprung_double_pendulum() -> float:
    def rate(x, u, t):
        cosine, sine, spring = ca.cos(x[1] - x[0]), ca.sin(x[1] - x[0]), 8 * (x[1] - x[0])
        mass = ca.vertcat(ca.horzcat(3, cosine), ca.horzcat(cosine, 1))
        forces = ca.vertcat(u[0] - 2 * 9.81 * ca.sin(x[0]) + spring + x[3] ** 2 * sine,
                            -9.81 * ca.sin(x[1]) - spring - x[2] ** 2 * sine)
        return [x[2], x[3], *ca.vertsplit(ca.solve(mass, forces))]

    return transcribe(rate, [0, 0, 0, 0], [np.pi, np.pi, 0, 0], (0, 2), [(-40, 40)], 60,
                      running=lambda x, u, t: u[0] ** 2)[0]
