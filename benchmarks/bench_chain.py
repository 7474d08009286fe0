"""The time-chain LU against SuperLU and LAPACK's band solver: factor and solve, microseconds per block.

Synthetic chains: each block has 30 % interior unknowns and a node. Interior rows see the node before and their block,
node rows see their block and the next one. Rows of a kind are in random order within their block, so that pivots are
anywhere; a large entry per row keeps the solution bounded over any number of blocks. And a real one: the tangent of a
pendulum by BG(1), 22 unknowns per block, whose node rows see three blocks. Solvers take turns; the table has medians.

    python benchmarks/bench_chain.py [--sizes 10 20 40] [--blocks 10000] [--repeats 5] [--json]
"""

import argparse
import json
import statistics
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import solve_banded

import timefem as tf
from timefem.assembly import Scaling
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.linear.time_chain.lu import ChainLU


def make_tangent(n_blocks, h=0.0125):
    """Pendulum with a quaternion and a spherical joint, BG(1): CSR matrix, column starts, row starts."""
    body = tf.RigidBody(100, [100 * 101 / 12, 100 * 2 / 12, 100 * 101 / 12])
    system = tf.System([body, tf.FixedPoint(body, [0, -5, 0])], gravity=[0, 0, -9.81])
    mesh, element = tf.TimeMesh.uniform((0, h * n_blocks), n_blocks), tf.BubnovGalerkin(1)
    problem = tf.InitialValueProblem(system, {body: tf.Pose(position=[0, 5, 0])}, (0, h * n_blocks))
    chain = ElementEquations(ElementPlan(system, element), mesh, Scaling.of("full", system, element, 0, problem.z0))
    guess = tf.solve(problem, tf.MixedGalerkin(1), n_blocks, progress=False)
    chain.evaluate(chain.plan.pack(mesh, guess.nodal.state, guess.nodal.multipliers))
    pattern = chain.assembler.pattern
    matrix = sp.csr_matrix((chain.data, pattern.indices, pattern.indptr))
    return matrix, pattern.column_starts, pattern.row_starts


def make_chain(size, n_blocks, seed=0):
    """Synthetic chain: CSR matrix, column starts, row starts."""
    rng = np.random.default_rng(seed)
    n_interior, n = size * 3 // 10, size * n_blocks
    starts = np.arange(0, n + 1, size)
    start = np.repeat(starts[:-1], size)
    interior = np.tile(np.arange(size) < n_interior, n_blocks)
    first = np.where(interior, np.maximum(start - size + n_interior, 0), start)
    last = np.minimum(np.where(interior, start + size, start + 2 * size), n)
    length = last - first
    indptr = np.concatenate([[0], np.cumsum(length)])
    rows = np.repeat(np.arange(n), length)
    indices = np.arange(indptr[-1]) - indptr[rows] + first[rows]
    data = rng.standard_normal(indptr[-1]) / np.sqrt(length[rows])
    places = np.arange(n).reshape(n_blocks, size)
    large = np.hstack([rng.permuted(places[:, :n_interior], axis=1), rng.permuted(places[:, n_interior:], axis=1)])
    data[indices == large.ravel()[rows]] += 3
    return sp.csr_matrix((data, indices, indptr), shape=(n, n)), starts, starts


def make_solvers(matrix, column_starts, row_starts, band):
    """Name -> function b -> (seconds to factor, seconds to solve, x). Preparation of the formats is not counted."""
    lu, columns = ChainLU(matrix.indptr, matrix.indices, column_starts, row_starts), matrix.tocsc()

    def timed(factor, solve):
        def run(b):
            t = [time.perf_counter()]
            factors = factor()
            t.append(time.perf_counter())
            x = solve(factors, b)
            t.append(time.perf_counter())
            return t[1] - t[0], t[2] - t[1], x
        return run

    def superlu(**options):
        return timed(lambda: spla.splu(columns, **options), lambda factors, b: factors.solve(b))

    solvers = {
        "chain": timed(lambda: lu.factor(matrix.data), lambda _, b: lu.solve(b)),
        "SuperLU natural": superlu(permc_spec="NATURAL", diag_pivot_thresh=1.0),
        "SuperLU natural, tuned": superlu(permc_spec="NATURAL", diag_pivot_thresh=1.0, relax=1, panel_size=1),
        "SuperLU natural, thresh 0.1": superlu(permc_spec="NATURAL", diag_pivot_thresh=0.1),
        "SuperLU COLAMD": superlu(permc_spec="COLAMD"),
    }
    if band:
        entries = matrix.tocoo()
        below, above = (entries.row - entries.col).max(), (entries.col - entries.row).max()
        diagonals = np.zeros((below + above + 1, matrix.shape[0]))
        diagonals[above + entries.row - entries.col, entries.col] = entries.data
        solvers["LAPACK band"] = timed(  # it factors and solves in one call
            lambda: None, lambda _, b: solve_banded((below, above), diagonals, b, check_finite=False))
    return solvers


def measure(what, chain, n_blocks, repeats):
    """One row per solver: medians in microseconds per block, ratio to the chain LU, and backward error."""
    matrix, *starts = chain
    size = matrix.shape[0] // n_blocks
    b = np.random.default_rng(1).standard_normal(matrix.shape[0])
    norm = abs(matrix).sum(axis=1).max()
    solvers = make_solvers(matrix, *starts, band=size * matrix.shape[0] <= 5e6)
    seconds, errors = {name: [] for name in solvers}, {}
    for _ in range(repeats + 1):
        for name, run in solvers.items():
            *times, x = run(b)
            seconds[name].append(times)
            errors[name] = float(np.abs(b - matrix @ x).max() / (norm * np.abs(x).max() + np.abs(b).max()))
    table = []
    for name in solvers:
        timings = np.array(seconds[name][1:]) * 1e6 / n_blocks  # the first round compiles and warms up
        factor, solve = (float(statistics.median(column)) for column in timings.T)
        total = float(statistics.median(timings.sum(axis=1)))
        table.append({"what": what, "size": size, "solver": name, "factor": factor, "solve": solve, "total": total,
                      "ratio": total / (table[0]["total"] if table else total), "backward_error": errors[name]})
    return table


def main(sizes=(10, 20, 40), n_blocks=10_000, repeats=5):
    """Results of all block sizes and of the real tangent, and of the claim."""
    table = [row for size in sizes for row in measure("synthetic", make_chain(size, n_blocks), n_blocks, repeats)]
    table += measure("BG(1) pendulum", make_tangent(n_blocks), n_blocks, repeats)
    report = {"n_blocks": n_blocks, "repeats": repeats, "unit": "us per block", "results": table}
    ratio = [row["ratio"] for row in table
             if (row["what"], row["size"], row["solver"]) == ("synthetic", 20, "SuperLU natural")]
    if ratio:
        report |= {"claim": "at least 2.5 times faster than SuperLU in natural order, 20 unknowns per block",
                   "ratio": ratio[0], "holds": ratio[0] >= 2.5}
    return report


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 40], help="unknowns per block")
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


if __name__ == "__main__":
    options = parse()
    report = main(options.sizes, options.blocks, options.repeats)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        print(f"{'chain':<16}{'size':>4}  {'solver':<28}{'factor':>8}{'solve':>8}{'total':>8}  us/block{'ratio':>7}"
              "  backward error")
        for row in report["results"]:
            print("{what:<16}{size:>4}  {solver:<28}{factor:8.2f}{solve:8.2f}{total:8.2f}          {ratio:7.2f}  "
                  "{backward_error:.0e}".format(**row))
        if "claim" in report:
            print(f"{report['claim']}: {report['ratio']:.2f}, {'holds' if report['holds'] else 'fails'}")
