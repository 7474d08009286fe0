"""The inside of elements eliminated first, beside the time chain alone: microseconds per element.

    python benchmarks/bench_condensation.py [--quick] [--json]

Tangents at the end of a global solve; processor time, medians of calls in turns. "first" is the first factorisation of
a pattern, with the lists of multiplications that it makes.
"""

import time

import numpy as np
from _common import quick_or_json
from bench_panels import show

import timefem as tf
from timefem.cases import find_case
from timefem.solvers.linear.time_chain.condensed_lu import condensation
from timefem.solvers.linear.time_chain.lu import ChainLU

TANGENTS = [("spinning-box", 1, 0.005, 2000), ("spinning-box", 2, 0.02, 2000), ("spinning-box", 3, 0.02, 2000),
            ("heavy-top", 1, 0.0005, 2000), ("heavy-top", 2, 0.002, 2000), ("heavy-top", 3, 0.002, 2000)]


class Kept(tf.TimeChain):
    """The time chain; keeps the solver that it makes."""

    def make(self, pattern):
        Kept.solver = super().make(pattern)
        return Kept.solver


def seconds_of(call, *arguments):
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def measure(case, k, h, n, repeats):
    sol = tf.solve(find_case(case).make(t_end=h * n), tf.MixedGalerkin(k), n, driver="global", linear=Kept(),
                   progress=False)
    solver, p = Kept.solver, Kept.solver.pattern
    data, b = solver._matrix.data.copy(), np.random.default_rng(0).standard_normal(len(p.indptr) - 1)
    lus = ChainLU(p.indptr, p.indices, p.column_starts, p.row_starts), condensation(p)
    first = [seconds_of(lu.factor, data) for lu in lus][1]
    taken = np.array([[[seconds_of(lu.factor, data), seconds_of(lu.solve, b)] for lu in lus] for _ in range(repeats)])
    (chain, chain_solve), (inside, inside_solve) = 1e6 / n * np.median(taken, axis=0)
    errors, norm, x = [], solver.norm(), np.zeros_like(b)
    for _ in range(2):
        x = x + lus[1].solve(b - solver.multiply(x))
        errors.append(np.abs(b - solver.multiply(x)).max() / (norm * np.abs(x).max() + np.abs(b).max()))
    return {"tangent": f"{case}, mG({k}), {n} elements", "converged": bool(sol.success),
            "factor, chain": round(chain, 2), "factor": round(inside, 2), "solve, chain": round(chain_solve, 2),
            "solve": round(inside_solve, 2), "ratio": round((chain + chain_solve) / (inside + inside_solve), 2),
            "numbers kept": round(lus[1].fill / lus[0].fill, 2), "first [ms]": round(1e3 * first, 1),
            "backward error": f"{errors[0]:.0e}", "refined": f"{errors[1]:.0e}"}


def main(quick=False):
    return [measure(case, k, h, 100 if quick else n, 3 if quick else 15) for case, k, h, n in TANGENTS]


if __name__ == "__main__":
    quick_or_json(__doc__.splitlines()[0], main, show)
