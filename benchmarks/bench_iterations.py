"""Iterations of hard problems from their cold guesses: the own method and IPOPT on the same programs.

    python benchmarks/bench_iterations.py [--only glider] [--near 16]

The problems are those of `tests/problems/optimal/test_iterations.py`, and thrusts of given size, u^2 = 1, of which the
guess has none; no further strategies are tried. Printed are iterations, objectives, and processor time of solves; with
`--near` their least, middle and largest values from that many starts whose duration is off by some 1e-9 of it.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import timefem as tf

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults.test_globalisation import linear_tangent, orbit_transfer, rest_to_rest
from tests.problems.optimal.test_iterations import ELEMENT, PROBLEMS

THRUSTS = {"circle, orbit": orbit_transfer, "circle, rest to rest": rest_to_rest("sumsqr(u) - 1"),
           "circle, linear tangent": linear_tangent}
ALL = PROBLEMS | {name: (lambda make=make: make()[0], ELEMENT, 30) for name, make in THRUSTS.items()}


def solved(problem, element, n, method, guess=None):
    begun = time.process_time()
    sol = tf.solve(problem, element, n, method=method, guess=guess, strategies=[], progress=False)
    took = time.process_time() - begun
    return int(sol.statistics["newton_iterations"]["max"]), sol.objective if sol.success else float("nan"), took


def spread(make, element, n, method, near):
    """Least, middle and largest iterations and objectives from starts that differ by rounding, and how many fail."""
    rng, problem = np.random.default_rng(0), make()
    guesses = [tf.Guess(duration=problem.guesses[0] * (1 + 1e-9 * rng.standard_normal())) for _ in range(near)]
    found = np.array([solved(problem, element, n, method, guess)[:2] for guess in guesses])
    fine = found[np.isfinite(found[:, 1])]
    return "; ".join(", ".join(f"{x:.6g}" for x in np.quantile(column, (0, 0.5, 1))) for column in fine.T), \
        near - len(fine)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(ALL))
    parser.add_argument("--near", type=int, default=0, help="starts beside each, where the duration is free")
    given = parser.parse_args()
    only = given.only
    warnings.simplefilter("ignore")
    print(f"{'problem':24}{'iterations':>12}{'IPOPT':>8}{'ratio':>8}{'objective':>14}{'IPOPT':>14}{'s':>8}{'IPOPT':>8}")
    for name in [only] if only else ALL:
        make, element, n = ALL[name]
        own, other = (solved(make(), element, n, method) for method in ("interior-point", "ipopt"))
        print(f"{name:24}{own[0]:12}{other[0]:8}{own[0] / other[0]:8.2f}{own[1]:14.8g}{other[1]:14.8g}"
              f"{own[2]:8.2f}{other[2]:8.2f}", flush=True)
        for method in ("interior-point", "ipopt") if given.near and make().free_time else ():
            values, failed = spread(make, element, n, method, given.near)
            print(f"    {given.near} starts beside it, {method}: {values}; {failed} failed", flush=True)


if __name__ == "__main__":
    main()
