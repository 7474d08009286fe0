"""CasADi's usual way to optimal control, for comparison: multiple shooting by RK4, with IPOPT or fatrop.

Models are written as explicit rates of a state, by hand, as a user of CasADi would.

    python benchmarks/shooting.py CASE STEPS SOLVER
"""

import sys
import time
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np


@dataclass
class Model:
    """`min integral of cost, or the duration`, with rates of x by (x, u), bounds, and rows between bounds.

    Attributes
    ----------
    x, u, rates : SX
    first, last : array_like
        States at both ends; NaN at the end leaves free.
    t_end : float
        Duration, or its guess.
    cost : SX or float
    free : bool
        Whether the duration is free, and the objective.
    controls, states : (array_like, array_like)
        Bounds.
    rows : SX, optional
        Formulas of (x, u) within `within` at the start of each step.
    guess : callable, optional
        Share of the time -> state; default: straight from first to last.
    """

    x: Any
    u: Any
    rates: Any
    first: Any
    last: Any
    t_end: float
    cost: Any = 0.0
    free: bool = False
    controls: Any = (-np.inf, np.inf)
    states: Any = (-np.inf, np.inf)
    rows: Any = None
    within: Any = field(default=((), ()))
    guess: Any = None

    def at(self, s):
        if self.guess is not None:
            return self.guess(s)
        first, last = (np.asarray(x, float) for x in (self.first, self.last))
        return first + s * (np.where(np.isnan(last), first, last) - first)


def cart_pole():
    x, u, m1, m2, length = ca.SX.sym("x", 4), ca.SX.sym("u"), 1.0, 0.3, 0.5
    s, c, w = ca.sin(x[1]), ca.cos(x[1]), x[3]
    cart = (length * m2 * s * w**2 + u + m2 * 9.81 * c * s) / (m1 + m2 * (1 - c**2))
    pole = -(length * m2 * c * s * w**2 + u * c + (m1 + m2) * 9.81 * s) / (length * (m1 + m2 * (1 - c**2)))
    limit = np.array([2, np.inf, np.inf, np.inf])
    return Model(x, u, ca.vertcat(x[2], x[3], cart, pole), [0, 0, 0, 0], [1, np.pi, 0, 0], 2.0, u**2,
                 controls=(-12, 12), states=(-limit, limit))


def robot_arm():
    x, u = ca.SX.sym("x", 6), ca.SX.sym("u", 3)
    inertia = ((5 - x[0])**3 + x[0]**3) / 3
    rates = ca.vertcat(x[3:], u[0] / 5, u[1] / (inertia * ca.sin(x[2])**2), u[2] / inertia)
    bounds = tuple(np.array([*b, *np.full(3, s * np.inf)]) for b, s in (([0, -np.pi, 0], -1), ([5, np.pi, np.pi], 1)))
    return Model(x, u, rates, [4.5, 0, np.pi / 4, 0, 0, 0], [4.5, 2 * np.pi / 3, np.pi / 4, 0, 0, 0], 9.0, free=True,
                 controls=(-1, 1), states=bounds)


def speed_limit():
    x, u, limit = ca.SX.sym("x", 2), ca.SX.sym("u"), np.array([np.inf, 0.8])
    return Model(x, u, ca.vertcat(x[1], u), [0, 0], [1, 0], 2.0, free=True, controls=(-1, 1),
                 states=(np.full(2, -np.inf), limit))


def two_link_arm():
    x, u = ca.SX.sym("x", 4), ca.SX.sym("u", 2)  # two angles and their rates
    c, s = ca.cos(x[1] - x[0]), ca.sin(x[1] - x[0])
    mass = ca.vertcat(ca.horzcat(7 / 3, 1.5 * c), ca.horzcat(1.5 * c, 4 / 3))
    force = ca.vertcat(u[0] - u[1] + 1.5 * s * x[3]**2, u[1] - 1.5 * s * x[2]**2)
    return Model(x, u, ca.vertcat(x[2:], ca.solve(mass, force)), [0, 0.5, 0, 0], [0.522, 1.022, 0, 0], 3.0, free=True,
                 controls=(-1, 1))


def crane():
    """With the controls of the source."""
    x, u = ca.SX.sym("x", 6), ca.SX.sym("u", 2)  # trolley, rope, swing, and their rates
    sway = -(u[0] + 27.0756 * x[2] + 2 * x[4] * x[5]) / x[1]
    rates = ca.vertcat(x[3:], u[0] + 17.2656 * x[2], u[1], sway)
    limit = np.array([np.inf, np.inf, np.inf, 2.5, 1.0, np.inf])
    return Model(x, u, rates, [0, 22, 0, 0, -1, 0], [10, 14, 0, 2.5, 0, 0], 9.0, (x[2]**2 + x[5]**2) / 2,
                 controls=([-2.83374, -0.80865], [2.83374, 0.71265]), states=(-limit, limit))


INERTIA, TURN, TILT, T_TURN = np.array([5621.0, 4547.0, 2364.0]), np.radians(150), 0.3, 30.0


def turning(s):
    """Quaternion and angular velocity (over the duration) on a way that is not about x alone, shape (7, ...)."""
    s = np.asarray(s, float)
    angle, rate = TURN * s**2 * (3 - 2 * s), TURN * 6 * s * (1 - s)
    aside = TILT * np.sin(np.pi * s)
    axis = np.array([np.cos(aside), np.sin(aside) / np.sqrt(2), np.sin(aside) / np.sqrt(2)])
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis), *(rate * axis)])


def reorientation():
    x, u = ca.SX.sym("x", 7), ca.SX.sym("u", 3)
    a, v, omega = x[0], x[1:4], x[4:]
    spin = ca.vertcat(-ca.dot(v, omega), a * omega + ca.cross(v, omega)) / 2
    rates = ca.vertcat(spin, (u - ca.cross(omega, INERTIA * omega)) / INERTIA)
    half = TURN / 2

    def guess(s):
        state = turning(s)
        state[4:] /= T_TURN
        return state

    # the length of the quaternion is kept but for the error of RK4, so that its first component is left free
    return Model(x, u, rates, [1, 0, 0, 0, 0, 0, 0], [np.nan, np.sin(half), 0, 0, 0, 0, 0], T_TURN, free=True,
                 controls=(-50, 50), guess=guess)


QUADROTOR = {"inertia": (0.01, 0.01, 0.02), "arm": 0.2, "drag": 0.02, "limit": 3.5, "t_end": 1.5, "to": (3, 1, 0.5)}


def quadrotor():
    """1 kg, four rotors; from hover to hover with the least integral of the squared thrusts."""
    x, u, q = ca.SX.sym("x", 13), ca.SX.sym("u", 4), QUADROTOR  # place, quaternion, velocity, angular velocity in body
    a, e, v, w = x[3], x[4:7], x[7:10], x[10:]
    inertia, arm, drag = np.array(q["inertia"]), q["arm"], q["drag"]
    up = ca.vertcat(2 * (e[0] * e[2] + a * e[1]), 2 * (e[1] * e[2] - a * e[0]), 1 - 2 * (e[0]**2 + e[1]**2))
    torque = ca.vertcat(arm * (u[2] - u[3]), arm * (u[1] - u[0]), drag * (u[0] + u[1] - u[2] - u[3]))
    rates = ca.vertcat(v, -ca.dot(e, w) / 2, (a * w + ca.cross(e, w)) / 2, up * ca.sum1(u) - np.array([0, 0, 9.81]),
                       (torque - ca.cross(w, inertia * w)) / inertia)
    first, last = [0, 0, 0, 1, *np.zeros(9)], [*q["to"], np.nan, *np.zeros(9)]
    return Model(x, u, rates, first, last, q["t_end"], ca.sumsqr(u) / 2, controls=(0, q["limit"]))


MODELS = {"quadrotor": quadrotor, "cart-pole-limited": cart_pole, "robot-arm-time": robot_arm,
          "speed-limit": speed_limit, "two-link-arm-time": two_link_arm, "container-crane": crane,
          "reorientation-time": reorientation}


class Shooting:
    """Multiple shooting by RK4 in n steps, controls constant in each; a free time is a state that does not change."""

    def __init__(self, name, n, solver):
        m = MODELS[name]()
        n_x, n_u, duration = m.x.numel(), m.u.numel(), ca.SX.sym("duration")
        f = ca.Function("f", [m.x, m.u], [m.rates, m.cost])
        h, stages = duration / n, []
        for share in (0, 0.5, 0.5, 1):
            at = m.x if not stages else m.x + share * h * stages[-1][0]
            stages.append(f(at, m.u))
        weights = (1, 2, 2, 1)
        y = m.x + h / 6 * sum(w * k for w, (k, _) in zip(weights, stages, strict=True))
        total = h / 6 * sum(w * k for w, (_, k) in zip(weights, stages, strict=True))
        state = ca.vertcat(m.x, duration) if m.free else m.x
        following = ca.vertcat(y, duration) if m.free else y
        step = ca.Function("step", [state, m.u] if m.free else [state, m.u, duration], [following, total])
        size, w, g, lower, upper, start, objective, previous = n_x + m.free, [], [], [], [], [], 0, None
        first, last = np.asarray(m.first, float), np.asarray(m.last, float)
        for k in range(n + 1):
            now = ca.MX.sym("x", size)
            if previous is not None:
                g.append(now - previous)
            w.append(now)
            ends = (first, first) if k == 0 else m.states
            for sign, side, out in zip((-1, 1), ends, (lower, upper), strict=True):
                side = np.broadcast_to(np.asarray(side, float), n_x)
                if k == n:
                    side = np.where(np.isnan(last), sign * np.inf, last)
                out.append(np.append(side, (0.1, 100)[sign > 0]) if m.free else side)
            guess = m.at(k / n)
            start.append(np.append(guess, m.t_end) if m.free else guess)
            if k < n:
                control = ca.MX.sym("u", n_u)
                w.append(control)
                for side, out in zip(m.controls, (lower, upper), strict=True):
                    out.append(np.broadcast_to(np.asarray(side, float), n_u))
                start.append(np.zeros(n_u))
                previous, cost_of_step = step(now, control) if m.free else step(now, control, m.t_end)
                objective += cost_of_step
        if m.free:
            objective = now[-1]
        options, inner = {"print_time": False}, {"print_level": 0}
        if solver == "fatrop":
            options |= {"structure_detection": "auto", "equality": [True] * (size * n)}
            inner["tolerance"] = 1e-9
        else:
            inner |= {"sb": "yes", "tol": 1e-9}
        nlp = {"x": ca.vertcat(*w), "f": objective, "g": ca.vertcat(*g)}
        self.solver = ca.nlpsol("shooting", solver, nlp, {**options, solver: inner, "expand": True})
        self.arguments = {"x0": np.concatenate(start), "lbx": np.concatenate(lower), "ubx": np.concatenate(upper),
                          "lbg": 0, "ubg": 0}

    def __call__(self):
        """Objective (None where it fails), seconds of the processor, iterations."""
        start = time.process_time()
        result = self.solver(**self.arguments)
        seconds = time.process_time() - start
        stats = self.solver.stats()
        return float(result["f"]) if stats["success"] else None, seconds, int(stats["iter_count"])


if __name__ == "__main__":
    name, steps, solver = sys.argv[1:]
    sys.exit(Shooting(name, int(steps), solver)()[0] is None)
