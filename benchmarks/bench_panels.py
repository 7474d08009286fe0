"""The time-chain LU by panels of pivots beside one pivot at a time: factorisation, microseconds per block.

    python benchmarks/bench_panels.py [--quick] [--json]

Processor time, the lowest tenth of calls in turns. Factors are the same bit by bit; which of both a pattern gets is
counted in its first factorisation. Synthetic chains are those of `bench_chain.py`.
"""

import time

import numpy as np
import scipy.sparse as sp
from _common import quick_or_json
from bench_chain import make_chain

import timefem as tf
from timefem.assembly import Scaling
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.linear.time_chain.lu import ChainLU

TANGENTS = [("four-bar", tf.MixedGalerkin(1), 0.01), ("four-bar", tf.MixedGalerkin(2), 0.01),
            ("four-bar", tf.BubnovGalerkin(1), 0.01), ("heavy-top", tf.MixedGalerkin(2), 0.001),
            ("heavy-top", tf.BubnovGalerkin(2), 0.001), ("double-pendulum", tf.BubnovGalerkin(2), 0.01),
            ("spinning-box", tf.MixedGalerkin(3), 0.02)]


def tangent(case, element, h, n=40):
    """CSR matrix, column starts, row starts of a motion that is solved."""
    problem = find_case(case).make(t_end=h * n)
    sol = tf.solve(problem, element, n, driver="global", progress=False)
    plan, mesh = ElementPlan(problem.system, element), tf.TimeMesh.uniform(problem.t_span, n)
    scaling = Scaling.of("full", problem.system, element, 0.0, problem.z0)
    equations = ElementEquations(plan, mesh, scaling, linear=tf.TimeChain("time"))
    equations.evaluate(plan.pack(mesh, sol.nodal.state, sol.nodal.multipliers))
    pattern = equations.pattern
    return sp.csr_matrix((equations.data, pattern.indices, pattern.indptr)), pattern.column_starts, pattern.row_starts


def measure(what, chain, repeats):
    matrix, *starts = chain
    lus, seconds = [], ([], [])
    for by_panels in (False, True):
        lu = ChainLU(matrix.indptr, matrix.indices, *starts)
        lu._by_panels = by_panels
        lu.factor(matrix.data)
        lus.append(lu)
    chosen = ChainLU(matrix.indptr, matrix.indices, *starts)
    chosen.factor(matrix.data)
    for _ in range(repeats):
        for lu, taken in zip(lus, seconds, strict=True):
            start = time.process_time()
            lu.factor(matrix.data)
            taken.append(time.process_time() - start)
    single, panels = (1e6 * float(np.quantile(taken, 0.1)) / lus[0].n_blocks for taken in seconds)
    b = np.random.default_rng(1).standard_normal(matrix.shape[0])
    x = chosen.solve(b)
    scale = abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    return {"what": what, "unknowns of a block": matrix.shape[0] // lus[0].n_blocks, "single pivots": round(single, 2),
            "panels": round(panels, 2), "ratio": round(single / panels, 2), "chosen": chosen._by_panels,
            "backward error": float(np.abs(b - matrix @ x).max() / scale)}


def main(quick=False):
    repeats = 5 if quick else 41
    rows = [measure("synthetic", make_chain(size, 200), repeats) for size in (10, 20, 30, 40, 80)]
    return rows + [measure(f"{case}, {element.name}({element.degree})", tangent(case, element, h), repeats)
                   for case, element, h in TANGENTS]


def show(rows):
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for row in rows:
        values = (f"{x:.1e}" if isinstance(x, float) and x < 1e-3 else str(x) for x in row.values())
        print("| " + " | ".join(values) + " |")


if __name__ == "__main__":
    quick_or_json(__doc__.splitlines()[0], main, show)
