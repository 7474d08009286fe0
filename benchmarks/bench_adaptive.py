"""Step-size control against equal steps at equal error, on the heavy top in deep nutation.

For each degree and tolerance: the adaptive solution, and the number of equal elements that gives the same error at the
nodes (found by trial, which is not counted). Both then take turns; ratios are of medians.

    python benchmarks/bench_adaptive.py [--case nutating-top] [--repeats 9] [--all] [--json]

The last run, of mG(1) to 1e-6 with some 10^6 equal elements, takes minutes and is made with --all only.
"""

import argparse
import json
import statistics
import time

import numpy as np

import timefem as tf
from timefem.cases import find_case
from timefem.solvers.march.motion import size_of_motion

RUNS = ((1, 1e-4), (2, 1e-4), (2, 1e-6), (3, 1e-4), (3, 1e-6), (3, 1e-8), (1, 1e-6))


def error(sol, problem):
    """Largest error of the state at the nodes, relative to the motion, against mG(4) on a mesh twice as fine."""
    mesh = np.sort(np.concatenate([sol.t, (sol.t[1:] + sol.t[:-1]) / 2]))
    exact = tf.solve(problem, tf.MixedGalerkin(4), mesh=mesh, progress=False).z[::2]
    return float((np.abs(sol.z - exact) / size_of_motion(sol.system, sol.t, exact)).max())


def equal_steps(problem, element, n, wanted):
    """Number of equal elements with the wanted error, and the error."""
    for _ in range(8):
        sol = tf.solve(problem, element, n, progress=False)
        found = error(sol, problem) if sol.success else np.inf
        if abs(np.log(found / wanted)) < 0.1:
            break
        n = int(np.ceil(n * min(max((found / wanted) ** (1 / element.order), 0.5), 2.0)))
    return n, found


def main(case="nutating-top", repeats=9, runs=RUNS[:-1]):
    problem, rows = find_case(case).make(), []
    for degree, tolerance in runs:
        element = tf.MixedGalerkin(degree)
        sol = tf.solve(problem, element, tolerance=tolerance, progress=False)
        reached = error(sol, problem)
        n, other = equal_steps(problem, element, len(sol.t) - 1, reached)
        seconds = ([], [])
        for _ in range(repeats):
            for times, arguments in zip(seconds, ({"tolerance": tolerance}, {"n_elements": n}), strict=True):
                start = time.perf_counter()
                tf.solve(problem, element, progress=False, **arguments)
                times.append(time.perf_counter() - start)
        adaptive, fixed = map(statistics.median, seconds)
        rows.append({"degree": degree, "tolerance": tolerance, "elements": len(sol.t) - 1,
                     "pilot": sol.statistics["pilot_elements"], "error": reached, "equal elements": n,
                     "their error": other, "steps ratio": n / (len(sol.t) - 1), "time ratio": fixed / adaptive})
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="nutating-top")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = main(options.case, options.repeats, RUNS if options.all else RUNS[:-1])
    if options.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print("  ".join(f"{key} {value:.3g}" for key, value in row.items()))
