"""An open chain of n rigid bodies, marched: seconds to set up and to step, and the exponents of n that they grow with.

Links of 1 kg and 1 m hang from a fixed point under gravity as a coil, each joined to the next by a spherical joint, and
start from rest. "setup" runs from nothing to the start of the march: bodies, system, initial state with its checks,
kernels, patterns, scaling, and one step. Each exponent is the slope of log(time per step) over log(n) up to the last n.

    python benchmarks/bench_chain_of_bodies.py [--n 3 10 100 1000] [--steps 50] [--degree 1] [--repeats 5] [--json]
"""

import argparse
import itertools
import json
import multiprocessing
import statistics
import time

import numpy as np

import timefem as tf


def chain(n, rotation="quaternion", t_end=1.0, tilt=0.3, links_per_turn=10):
    """Initial-value problem of n links; `tilt` [rad] is the angle of each link to the vertical."""
    end = np.array([0, 0, 0.5])
    inertia = np.array([1.04, 1.01, 0.05]) / 12  # of a box of 0.1 m by 0.2 m by 1 m
    bodies = [tf.RigidBody(1.0, inertia, rotation) for _ in range(n)]
    joints = [tf.FixedPoint(bodies[0], end)]
    joints += [tf.Spherical(a, b, point_a=-end, point_b=end) for a, b in itertools.pairwise(bodies)]
    around, place, state = 2 * np.pi / links_per_turn, np.zeros(3), {}
    for i, body in enumerate(bodies):
        axis = np.array([np.cos(around * i), np.sin(around * i), 0])
        turn = np.append(np.cos(tilt / 2), np.sin(tilt / 2) * axis)
        down = -np.cos(tilt) * np.array([0, 0, 1]) + np.sin(tilt) * np.cross([0, 0, 1], axis)
        state[body] = tf.Pose(place + 0.5 * down, turn)
        place = place + down
    return tf.InitialValueProblem(tf.System(bodies + joints, gravity=[0, 0, -9.81]), state, (0, t_end))


def seconds(n, steps, degree, step_size):
    """Whole time, time of the march, and Newton iterations per step, of one run from nothing."""
    start = time.perf_counter()
    problem = chain(n, t_end=steps * step_size)
    solution = tf.solve(problem, tf.MixedGalerkin(degree), steps, progress=False)
    if not solution.success:
        raise SystemExit(f"n = {n}: {solution.status.message}")
    statistics_ = solution.statistics
    return time.perf_counter() - start, statistics_["seconds"]["solve"], statistics_["newton_iterations"]["mean"]


def measure(n, steps, degree, step_size, repeats):
    """One row of the table; in a fresh process, so that kernels are compiled as part of the set-up."""
    setup, _, _ = seconds(n, 1, degree, step_size)
    steps = max(steps, 5000 // n)  # short chains need more: set-up cancels in the difference up to its noise
    pairs = [(seconds(n, 1, degree, step_size)[1], seconds(n, 1 + steps, degree, step_size)) for _ in range(repeats)]
    step = statistics.median((many - one) / steps for one, (_, many, _) in pairs)
    return {"n": n, "setup_s": setup, "step_ms": 1e3 * step, "step_us_per_body": 1e6 * step / n,
            "iterations": pairs[0][1][2]}


def exponent(rows, name, first):
    """Slope of log(time) over log(n), from n = `first` to the last."""
    a, b = next(row for row in rows if row["n"] == first), rows[-1]
    return float(np.log(b[name] / a[name]) / np.log(b["n"] / a["n"]))


def main(n=(3, 10, 100, 1000), steps=50, degree=1, step_size=1e-3, repeats=5):
    """Measure all n, smallest first; exponents of the time per step up to the largest n."""
    seconds(2, 2, degree, step_size)  # compiles the loops, which stay on disk
    seconds(12, 2, degree, step_size)
    rows = []
    for size in sorted(n):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(measure, (size, steps, degree, step_size, repeats)))
    exponents = {f"{row['n']} to {rows[-1]['n']}": exponent(rows, "step_ms", row["n"]) for row in rows[:-1]}
    return {"degree": degree, "steps": steps, "step_size": step_size, "rows": rows, "exponents": exponents}


def show(result):
    print(f"mG({result['degree']}), at least {result['steps']} steps of {result['step_size']:g} s")
    print(f"{'n':>6} {'set-up [s]':>11} {'step [ms]':>10} {'per body [us]':>14} {'iterations':>11}")
    for row in result["rows"]:
        print(f"{row['n']:6} {row['setup_s']:11.2f} {row['step_ms']:10.3f} {row['step_us_per_body']:14.1f} "
              f"{row['iterations']:11.2f}")
    for span, value in result["exponents"].items():
        print(f"exponent of the time per step, n = {span}: {value:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[3, 10, 100, 1000])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--degree", type=int, default=1)
    parser.add_argument("--step-size", type=float, default=1e-3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = vars(parser.parse_args())
    as_json = arguments.pop("json")
    outcome = main(**arguments)
    print(json.dumps(outcome, indent=1)) if as_json else show(outcome)
