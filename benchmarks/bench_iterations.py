"""Iterations of hard problems from their cold guesses: the own method and IPOPT on the same programs.

    python benchmarks/bench_iterations.py [--only glider]

The problems are those of `tests/problems/optimal/test_iterations.py`, and thrusts of given size, u^2 = 1, of which the
guess has none; no further strategies are tried. Printed are iterations, objectives, and processor time of solves.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import timefem as tf

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults.test_globalisation import linear_tangent, orbit_transfer, rest_to_rest
from tests.problems.optimal.test_iterations import ELEMENT, PROBLEMS

THRUSTS = {"circle, orbit": orbit_transfer, "circle, rest to rest": rest_to_rest("sumsqr(u) - 1"),
           "circle, linear tangent": linear_tangent}
ALL = PROBLEMS | {name: (lambda make=make: make()[0], ELEMENT, 30) for name, make in THRUSTS.items()}


def solved(problem, element, n, method):
    begun = time.process_time()
    sol = tf.solve(problem, element, n, method=method, strategies=[], progress=False)
    took = time.process_time() - begun
    return int(sol.statistics["newton_iterations"]["max"]), sol.objective if sol.success else float("nan"), took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(ALL))
    only = parser.parse_args().only
    warnings.simplefilter("ignore")
    print(f"{'problem':24}{'iterations':>12}{'IPOPT':>8}{'ratio':>8}{'objective':>14}{'IPOPT':>14}{'s':>8}{'IPOPT':>8}")
    for name in [only] if only else ALL:
        make, element, n = ALL[name]
        own, other = (solved(make(), element, n, method) for method in ("interior-point", "ipopt"))
        print(f"{name:24}{own[0]:12}{other[0]:8}{own[0] / other[0]:8.2f}{own[1]:14.8g}{other[1]:14.8g}"
              f"{own[2]:8.2f}{other[2]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
