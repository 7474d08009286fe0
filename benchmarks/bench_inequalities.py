"""Optimal control with inequalities: timefem's interior-point method against IPOPT and fatrop.

Two comparisons, candidates in turns and ratios of medians:

- one nonlinear program, that of timefem, and three methods: its own, IPOPT and fatrop, through the same entries;
- CasADi's usual way, multiple shooting by RK4 with controls constant over each step, and IPOPT or fatrop, on as many
  intervals. Building that program is not counted; `solve` of timefem counts from the problem to the solution, on a
  problem that was solved before. The first solve has a column of its own.

    python benchmarks/bench_inequalities.py [--json] [--repeats 3] [--large 1000]
"""

import argparse
import json
import time

import casadi as ca
import numpy as np

import timefem as tf
from timefem.cases import CASES

ELEMENT = tf.MixedGalerkin(2, n_points=2)
SIZES = {"cart-pole-limited": 80, "speed-limit": 60, "robot-arm-time": 100, "two-link-arm-time": 60}
METHODS = "interior-point", "ipopt", "fatrop"
SAME = 1e-7  # objectives of one program


def by_timefem(problem, n, method):
    start = time.perf_counter()
    sol = tf.solve(problem, ELEMENT, n, method=method, progress=False)
    seconds = time.perf_counter() - start
    assert sol.success, sol.status.message
    return sol.objective, seconds, sol.statistics["newton_iterations"]["max"]


def cart_pole():
    """Rates, cost rate, start, end, bounds of controls, limits of states, t_end, and whether it is free."""
    x, u, m1, m2, length = ca.SX.sym("x", 4), ca.SX.sym("u"), 1.0, 0.3, 0.5
    s, c, w = ca.sin(x[1]), ca.cos(x[1]), x[3]
    cart = (length * m2 * s * w**2 + u + m2 * 9.81 * c * s) / (m1 + m2 * (1 - c**2))
    pole = -(length * m2 * c * s * w**2 + u * c + (m1 + m2) * 9.81 * s) / (length * (m1 + m2 * (1 - c**2)))
    limit = np.array([2, np.inf, np.inf, np.inf])
    rates = ca.vertcat(x[2], x[3], cart, pole)
    return x, u, rates, u**2, [0, 0, 0, 0], [1, np.pi, 0, 0], 12, (-limit, limit), 2.0, False


def robot_arm():
    x, u = ca.SX.sym("x", 6), ca.SX.sym("u", 3)
    inertia = ((5 - x[0])**3 + x[0]**3) / 3
    rates = ca.vertcat(x[3:], u[0] / 5, u[1] / (inertia * ca.sin(x[2])**2), u[2] / inertia)
    lower, upper = (np.array([*b, *np.full(3, s * np.inf)]) for b, s in (([0, -np.pi, 0], -1), ([5, np.pi, np.pi], 1)))
    return (x, u, rates, 0, [4.5, 0, np.pi / 4, 0, 0, 0], [4.5, 2 * np.pi / 3, np.pi / 4, 0, 0, 0], 1, (lower, upper),
            9.0, True)


def speed_limit():
    x, u, limit = ca.SX.sym("x", 2), ca.SX.sym("u"), np.array([np.inf, 0.8])
    return x, u, ca.vertcat(x[1], u), 0, [0, 0], [1, 0], 1, (np.full(2, -np.inf), limit), 2.0, True


def two_link_arm():
    x, u, free = ca.SX.sym("x", 4), ca.SX.sym("u", 2), np.full(4, np.inf)  # two angles and their rates
    c, s = ca.cos(x[1] - x[0]), ca.sin(x[1] - x[0])
    mass = ca.vertcat(ca.horzcat(7 / 3, 1.5 * c), ca.horzcat(1.5 * c, 4 / 3))
    force = ca.vertcat(u[0] - u[1] + 1.5 * s * x[3]**2, u[1] - 1.5 * s * x[2]**2)
    rates = ca.vertcat(x[2:], ca.solve(mass, force))
    return x, u, rates, 0, [0, 0.5, 0, 0], [0.522, 1.022, 0, 0], 1, (-free, free), 3.0, True


PROBLEMS = {"cart-pole-limited": cart_pole, "robot-arm-time": robot_arm, "speed-limit": speed_limit,
            "two-link-arm-time": two_link_arm}


class Shooting:
    """Multiple shooting by RK4 in n steps; a free time is a state that does not change."""

    def __init__(self, name, n, solver):
        x, u, rates, cost, first, last, most, limits, t_end, free = PROBLEMS[name]()
        n_x, n_u, duration = x.numel(), u.numel(), ca.SX.sym("duration")
        f = ca.Function("f", [x, u], [rates, cost])
        h, y, total, stages = duration / n, x, 0, []
        for share in (0, 0.5, 0.5, 1):
            at = y if not stages else y + share * h * stages[-1][0]
            stages.append(f(at, u))
        weights = (1, 2, 2, 1)
        y = y + h / 6 * sum(w * k for w, (k, _) in zip(weights, stages, strict=True))
        total = h / 6 * sum(w * k for w, (_, k) in zip(weights, stages, strict=True))
        state = ca.vertcat(x, duration) if free else x
        following = ca.vertcat(y, duration) if free else y
        step = ca.Function("step", [state, u] if free else [state, u, duration], [following, total])
        size, w, g, lower, upper, start, objective, previous = n_x + free, [], [], [], [], [], 0, None
        for k in range(n + 1):
            now = ca.MX.sym("x", size)
            if previous is not None:
                g.append(now - previous)
            w.append(now)
            ends = (first, first) if k == 0 else (last, last) if k == n else limits
            for side, out in zip(ends, (lower, upper), strict=True):
                out.append(np.append(side, (0.1, 100)[out is upper]) if free else np.asarray(side, float))
            guess = np.array(first) + (np.array(last) - np.array(first)) * k / n
            start.append(np.append(guess, t_end) if free else guess)
            if k < n:
                control = ca.MX.sym("u", n_u)
                w.append(control)
                lower.append(np.full(n_u, -most))
                upper.append(np.full(n_u, most))
                start.append(np.zeros(n_u))
                previous, cost_of_step = step(now, control) if free else step(now, control, t_end)
                objective += cost_of_step
        if free:
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
        start = time.perf_counter()
        result = self.solver(**self.arguments)
        seconds = time.perf_counter() - start
        stats = self.solver.stats()
        return float(result["f"]) if stats["success"] else None, seconds, int(stats["iter_count"])


def compare(name, n, repeats, shooting=True):
    problem = CASES[name].make()
    candidates = {method: lambda method=method: by_timefem(problem, n, method) for method in METHODS}
    if shooting:
        candidates |= {f"RK4 shooting, {solver}": Shooting(name, n, solver) for solver in ("ipopt", "fatrop")}
    first = time.perf_counter()
    candidates["interior-point"]()
    first = time.perf_counter() - first
    runs = {key: [] for key in candidates}
    for _ in range(repeats):
        for key, run in candidates.items():
            runs[key].append(run())
    found = {key: {"objective": r[0][0], "seconds": float(np.median([s for _, s, _ in r])), "iterations": r[0][2]}
             for key, r in runs.items()}
    return {"case": name, "n_elements": n, "first_solve_seconds": first, **found}


def main(repeats=3, large=None, sizes=SIZES):
    """Results per case: dict of objective, median seconds and iterations of each candidate."""
    results = [compare(name, n, repeats) for name, n in sizes.items()]
    if large:
        results.append(compare("cart-pole-limited", large, 1, shooting=False))
    return results


def report(results):
    for r in results:
        own = r["interior-point"]
        print(f"{r['case']}, {r['n_elements']} elements: interior-point {own['seconds']:.3f} s ({own['iterations']} "
              f"iterations; first solve {r['first_solve_seconds']:.2f} s), objective {own['objective']:.8g}")
        for key in (k for k in r if isinstance(r[k], dict) and k != "interior-point"):
            other = r[key]
            apart = "failed" if other["objective"] is None else \
                f"objective apart by {abs(other['objective'] - own['objective']) / own['objective']:.1e}"
            print(f"    {key}: {other['seconds']:.3f} s, ratio {other['seconds'] / own['seconds']:.2f}, "
                  f"{other['iterations']} iterations, {apart}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", type=int, help="elements of a further comparison of methods")
    arguments = parser.parse_args()
    results = main(repeats=arguments.repeats, large=arguments.large)
    print(json.dumps(results)) if arguments.json else report(results)
