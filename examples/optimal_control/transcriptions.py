"""Values of cases that no one publishes, or to more digits: the same problems, written for `transcribe`."""

from __future__ import annotations

import casadi as ca
import numpy as np
from transcription import INF, transcribe


def least_work() -> float:
    return transcribe(lambda x, u, t: [x[1], u[0]], [0, 0], [1, 0], (0, 1), [(-20, 20), (0, INF), (0, INF)], 120,
                      running=lambda x, u, t: u[1] + u[2] + 1e-3 * u[0]**2,
                      path=lambda x, u, t: [u[0] * x[1] - u[1] + u[2], -(u[0] * x[1] - u[1] + u[2])])[0]


def powered_descent() -> float:
    g, most, slope = 3.7114, 0.8 * 6 * 3100 * np.cos(np.deg2rad(27)), np.tan(np.deg2rad(86))
    per_force = 1 / (225 * 9.807 * np.cos(np.deg2rad(27)))
    def rate(x, u, t):
        return [x[2], x[3], u[0] * ca.cos(u[1]) / x[4], u[0] * ca.sin(u[1]) / x[4] - g, -per_force * u[0]]

    return 1e3 * transcribe(
        rate, [2000, 1500, 100, -75, 1905], [0, 0, 0, 0, None], (0, 75),
        [(most * 3 / 8, most), (-np.pi, 2 * np.pi)], 60,
        terminal=lambda x, T: (1905 - x[4]) / 1e3, duration=(30, 120), guessed_controls=[1e4, np.pi / 2],
        path=lambda x, u, t: [(x[0] - slope * x[1]) / 1e3], sizes=([1e3, 1e3, 1e2, 1e2, 1e3], [1e4, 1]))[0]


def mountain_car() -> float:
    return transcribe(lambda x, u, t: [x[1], 1e-3 * u[0] - 2.5e-3 * ca.cos(3 * x[0])], [-0.5, 0], [0.5, None], (0, 100),
                      [(-1, 1)], 120, terminal=lambda x, T: T, duration=(20, 500))[0]


def free_flying_robot() -> float:
    def rate(x, u, t):
        push = u[0] - u[1] + u[2] - u[3]
        return [*ca.vertsplit(x[3:]), push * ca.cos(x[2]), push * ca.sin(x[2]),
                0.2 * (u[0] - u[1]) - 0.2 * (u[2] - u[3])]

    return transcribe(rate, [-10, -10, np.pi / 2, 0, 0, 0], [0] * 6, (0, 12), [(0, 1)] * 4, 120,
                      running=lambda x, u, t: ca.sum1(u))[0]


def cart_pole() -> float:
    def rate(x, u, t):
        s, c = ca.sin(x[1]), ca.cos(x[1])
        a = (0.5 * 0.3 * s * x[3]**2 + u[0] + 0.3 * 9.81 * c * s) / (1 + 0.3 * s**2)
        return [x[2], x[3], a, -(0.5 * 0.3 * c * s * x[3]**2 + u[0] * c + 1.3 * 9.81 * s) / (0.5 * (1 + 0.3 * s**2))]

    return transcribe(rate, [0, 0, 0, 0], [1, np.pi, 0, 0], (0, 2), [(-20, 20)], 40, running=lambda x, u, t: u[0]**2,
                      states=[(-2, 2), *[(-INF, INF)] * 3])[0]


def pendulum() -> float:
    return transcribe(lambda x, u, t: [x[1], u[0] - 0.1 * x[1] - ca.sin(x[0])], [0, 0], [np.pi, 0], (0, 10),
                      [(-0.7, 0.7)], 60,
                      running=lambda x, u, t: u[0]**2)[0]


def two_link_arm() -> float:
    def rate(x, u, t):
        s, c = ca.sin(x[2]), ca.cos(x[2])
        whole = 31 / 36 + 9 / 4 * s**2
        return [(s * (9 / 4 * c * x[0]**2 + 2 * x[1]**2) + 4 / 3 * (u[0] - u[1]) - 3 / 2 * c * u[1]) / whole,
                -(s * (7 / 2 * x[0]**2 + 9 / 4 * c * x[1]**2) - 7 / 3 * u[1] + 3 / 2 * c * (u[0] - u[1])) / whole,
                x[1] - x[0], x[0]]

    return transcribe(rate, [0, 0, 0.5, 0], [0, 0, 0.5, 0.522], (0, 3), [(-1, 1)] * 2, 100, terminal=lambda x, T: T,
                      duration=(1, 10))[0]


def planar_quadrotor() -> float:
    def rate(x, u, t):
        lift = u[0] + u[1]
        return [*ca.vertsplit(x[3:]), -lift * ca.sin(x[2]), lift * ca.cos(x[2]) - 9.81, 3 * (u[1] - u[0])]

    return transcribe(rate, [0] * 6, [2, 1, 0, 0, 0, 0], (0, 1.5), [(0, 10)] * 2, 40,
                      running=lambda x, u, t: (u[0] - 4.905)**2 + (u[1] - 4.905)**2)[0]


def fishing() -> float:
    return transcribe(lambda x, u, t: [x[0] - x[0] * x[1] - 0.4 * x[0] * u[0], -x[1] + x[0] * x[1] - 0.2 * x[1] * u[0]],
                      [0.5, 0.7], [None, None], (0, 12), [(0, 1)], 120,
                      running=lambda x, u, t: (x[0] - 1)**2 + (x[1] - 1)**2)[0]


def van_der_pol() -> float:
    return transcribe(lambda x, u, t: [(1 - x[1]**2) * x[0] - x[1] + u[0], x[0]], [0, 1], [None, None], (0, 10),
                      [(-1, 1)], 80,
                      running=lambda x, u, t: x[0]**2 + x[1]**2 + u[0]**2, states=[(-0.25, INF), (-INF, INF)])[0]


def rayleigh() -> float:
    return transcribe(lambda x, u, t: [x[1], -x[0] + x[1] * (1.4 - 0.14 * x[1]**2) + 4 * u[0]], [-5, -5], [None, None],
                      (0, 4.5), [(-1, 1)], 120, running=lambda x, u, t: u[0]**2 + x[0]**2)[0]


def hypersensitive() -> float:
    return transcribe(lambda x, u, t: [-x[0]**3 + u[0]], [1.5], [1.0], (0, 20), [(-INF, INF)], 200,
                      running=lambda x, u, t: (x[0]**2 + u[0]**2) / 2)[0]


def container_crane() -> float:
    def rate(x, u, t):
        return [9 * x[3], 9 * x[4], 9 * x[5], 9 * (u[0] + 17.2656 * x[2]), 9 * u[1],
                -9 / x[1] * (u[0] + 27.0756 * x[2] + 2 * x[4] * x[5])]

    states = [(-INF, INF)] * 3 + [(-2.5, 2.5), (-1, 1), (-INF, INF)]
    return transcribe(rate, [0, 22, 0, 0, -1, 0], [10, 14, 0, 2.5, 0, 0], (0, 1), [(-2.83374, 2.83374),
                                                                                   (-0.80865, 0.71265)], 80,
                      running=lambda x, u, t: 4.5 * (x[2]**2 + x[5]**2), states=states)[0]


def zermelo() -> float:
    return transcribe(lambda x, u, t: [ca.cos(u[0]) - x[1], ca.sin(u[0])], [3.5, -1.8], [0, 0], (0, 5), [(-INF, INF)],
                      60,
                      terminal=lambda x, T: T, duration=(1, 20), guessed_controls=[2.0])[0]


def dubins() -> float:
    return transcribe(lambda x, u, t: [ca.cos(x[2]), ca.sin(x[2]), u[0]], [0, 0, 0], [4, 4, np.pi], (0, 8), [(-1, 1)],
                      120,
                      terminal=lambda x, T: T, duration=(2, 20))[0]


def batch_reactor() -> float:
    def rate(x, u, t):
        first, second = 4000 * ca.exp(-2500 / u[0]), 620000 * ca.exp(-5000 / u[0])
        return [-first * x[0]**2, first * x[0]**2 - second * x[1]]

    return transcribe(rate, [1, 0], [None, None], (0, 1), [(298, 398)], 60, terminal=lambda x, T: -x[1],
                      sizes=([1, 1], [100]))[0]


def singular_at_last() -> float:
    return transcribe(lambda x, u, t: [x[1], u[0]], [0, 1], [None, None], (0, 5), [(-1, 1)], 160,
                      running=lambda x, u, t: (x[0]**2 + x[1]**2) / 2)[0]


def isoperimetric() -> float:
    return transcribe(lambda x, u, t: [u[0] - ca.sin(x[0]), u[0]**2], [1, 0], [0, None], (0, 1), [(-4, 10)],
                      running=lambda x, u, t: x[0], states=[(-INF, INF), (-INF, 10)])[0]


def cable_robot() -> float:
    def rate(x, u, t):
        pull = ca.DM([0, -9.81])
        for force, point in zip(ca.vertsplit(u), ([0, 2], [2, 2], [1, 0]), strict=True):
            rope = ca.DM(point) - x[:2]
            pull += force * rope / ca.norm_2(rope)
        return [x[2], x[3], *ca.vertsplit(pull)]

    return transcribe(rate, [0.5, 0.7, 0, 0], [1.5, 1.2, 0, 0], (0, 1), [(1, 20)] * 3, 240,
                      terminal=lambda x, T: T, duration=(0.1, 5))[0]


if __name__ == "__main__":
    for name, value in list(globals().items()):
        if getattr(value, "__module__", "") == __name__ and callable(value):
            print(f"{name:24}{value():16.9g}")
