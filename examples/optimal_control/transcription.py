"""An independent transcription: collocation at Gauss points in CasADi, solved by IPOPT; nothing of it is timefem's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

INF = float("inf")
Found: TypeAlias = "tuple[float, np.ndarray, np.ndarray, np.ndarray]"


def transcribe(rate: Callable[..., Any], start: Sequence[float | None], end: Sequence[float | None],
               t_span: tuple[float, float], controls: Sequence[tuple[float, float]], n: int = 40, degree: int = 3, *,
               running: Callable[..., Any] | None = None, terminal: Callable[..., Any] | None = None,
               path: Callable[..., Any] | None = None, duration: tuple[float, float] | None = None,
               states: Sequence[tuple[float, float]] | None = None, guess: Callable[..., Any] | None = None,
               guessed_controls: Sequence[float] | None = None,
               sizes: tuple[Sequence[float], Sequence[float]] | None = None) -> Found:
    """Least `terminal(x, T) + int running(x, u, t) dt` with `x' = rate(x, u, t)`.

    Parameters
    ----------
    start, end
        States; None where they are free.
    controls, states
        (lower, upper) of each control, and of each state.
    path
        `path(x, u, t)` <= 0, at the collocation points.
    duration
        (lower, upper), where it is free.
    guess
        `guess(s)` -> state at the share s of the time; default: a straight line.
    sizes
        Of states and controls, in which IPOPT sees them.

    Returns
    -------
    objective, times of the ends of elements (n + 1,), states there (n + 1, n_x), controls (n, degree, n_u)
    """
    x0, x1 = np.array(start, float), np.array(end, float)
    n_x, n_u = len(x0), len(controls)
    tau = np.append(0, ca.collocation_points(degree, "legendre"))
    slopes, ends, weights = (np.array(x) for x in ca.collocation_coeff(tau[1:].tolist()))
    span = ca.SX.sym("T")
    shortest, longest = duration or (t_span[1] - t_span[0],) * 2
    v, low, high, first, g, g_low, g_high = [span], [shortest], [longest], [t_span[1] - t_span[0]], [], [], []
    line = guess or (lambda s: np.where(np.isnan(x0), np.nan_to_num(x1), x0) * (1 - s)
                     + np.where(np.isnan(x1), np.nan_to_num(x0), x1) * s)
    limits = np.array(states if states is not None else [(-INF, INF)] * n_x)
    u_limits = np.array(controls, float)
    middle = np.array(guessed_controls) if guessed_controls is not None else np.array(
        [(a + b) / 2 if np.isfinite([a, b]).all() else 0.0 for a, b in controls])

    unit = dict(zip("xu", map(np.asarray, sizes or (np.ones(n_x), np.ones(n_u))), strict=True))

    def unknown(name: str, size: int, value: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> ca.SX:
        x = ca.SX.sym(name, size)
        v.append(x)
        low.extend(lower / unit[name])
        high.extend(upper / unit[name])
        first.extend(value / unit[name])
        return x * unit[name]

    def held(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(np.isnan(target), limits[:, 0], target), np.where(np.isnan(target), limits[:, 1], target)

    h, objective = span / n, ca.SX(0)
    x = unknown("x", n_x, line(0.0), *held(x0))
    nodes, us = [x], []
    for i in range(n):
        points = [unknown("x", n_x, line((i + c) / n), limits[:, 0], limits[:, 1]) for c in tau[1:]]
        us.append([unknown("u", n_u, middle, u_limits[:, 0], u_limits[:, 1]) for _ in points])
        for j, (xj, uj) in enumerate(zip(points, us[-1], strict=True)):
            t = t_span[0] + h * (i + tau[j + 1])
            g.append(sum(slopes[r, j] * z for r, z in enumerate([x, *points])) - h * ca.vertcat(*rate(xj, uj, t)))
            g[-1] = g[-1] / unit["x"]
            g_low += [0.0] * n_x
            g_high += [0.0] * n_x
            if running is not None:
                objective += h * float(weights[j]) * running(xj, uj, t)
            if path is not None:
                rows = ca.vertcat(*path(xj, uj, t))
                g.append(rows)
                g_low += [-INF] * rows.numel()
                g_high += [0.0] * rows.numel()
        new = unknown("x", n_x, line((i + 1) / n), *held(x1 if i == n - 1 else np.full(n_x, np.nan)))
        g.append((new - sum(float(ends[r]) * z for r, z in enumerate([x, *points]))) / unit["x"])
        g_low += [0.0] * n_x
        g_high += [0.0] * n_x
        x = new
        nodes.append(x)
    if terminal is not None:
        objective += terminal(x, span)
    program = {"x": ca.vertcat(*v), "f": objective, "g": ca.vertcat(*g)}
    solver = ca.nlpsol("solver", "ipopt", program, {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes",
                                                     "ipopt.tol": 1e-10, "ipopt.max_iter": 3000})
    found = solver(x0=first, lbx=low, ubx=high, lbg=g_low, ubg=g_high)
    if not solver.stats()["success"]:
        raise RuntimeError(solver.stats()["return_status"])
    read = ca.Function("read", [program["x"]], [ca.horzcat(*nodes), ca.horzcat(*(u for e in us for u in e))])
    states_found, controls_found = (np.array(y).T for y in read(found["x"]))
    times = t_span[0] + np.linspace(0, 1, n + 1) * float(found["x"][0])
    return float(found["f"]), times, states_found, controls_found.reshape(n, degree, n_u)
