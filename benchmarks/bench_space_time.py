"""Global systems that are wide in space: nested dissection, the time chain and MUMPS on the same tangents.

Two-point problems of a free beam (all positions and orientations at both ends), mG(1), quaternion nodes, the tangent
of the first iteration. Processor time of one factorisation and one solve, numbers stored, backward error.

    python benchmarks/bench_space_time.py [--grids 10x100 30x100] [--solvers dissection time mumps bounded]
        [--memory "1 GB"] [--json]

"bounded" is dissection with no more memory for its factors than `--memory`, which factors in the solve.

`--exponents` fits time and storage by powers of the nodes N and the elements T, over all grids of one solver.
"""

import argparse
import json
import resource
import time

import numpy as np

import timefem as tf
from timefem.cases import find_case
from timefem.solvers.linear import LINEAR_SOLVERS
from timefem.solvers.linear.base import LinearOptions

STEP = 0.01  # s
CHOICES = {"dissection": lambda: tf.TimeChain("dissection"), "time": lambda: tf.TimeChain("time"), "mumps": tf.PETSc,
           "bounded": lambda: tf.TimeChain("dissection", MEMORY["given"])}
MEMORY = {"given": "100 MB"}


class Caught(Exception):
    """The first solver that is made, and its matrix."""


class _Catching(LinearOptions):
    name = "chain"

    def make(self, pattern):
        solver = LINEAR_SOLVERS["chain"]("time").make(pattern)

        def factor(data):
            raise Caught(pattern, data)

        solver.factor = factor
        return solver


def tangent(nodes, steps):
    """Pattern and values of a tangent."""
    ivp = find_case("flying-beam").make(t_end=steps * STEP, elements_space=nodes - 1, degree_space=1)
    system = ivp.system
    ends = {b: tf.Pose(q[:3], q[3:]) for b, q in zip(system.bodies, ivp.z0[:system.n_q].reshape(-1, 7), strict=True)}
    problem = tf.BoundaryValueProblem(system, (0.0, steps * STEP), ends, ends)
    try:
        tf.solve(problem, tf.MixedGalerkin(1), steps, guess=np.tile(ivp.z0, (steps + 1, 1)),
                 driver=tf.Global(linear=_Catching()), progress=False)
    except Caught as caught:
        return caught.args
    raise SystemExit("nothing was factored")


def measure(grid, solvers):
    pattern, data = tangent(*grid)
    b, rows = np.random.default_rng(0).uniform(-1, 1, len(pattern.indptr) - 1), []
    for name in solvers:
        start = time.process_time()
        solver = CHOICES[name]().make(pattern)
        planned = time.process_time()
        solver.factor(data)
        factored = time.process_time()
        x = solver.solve(b)
        solved = time.process_time()
        held = getattr(getattr(solver, "_lu", None), "kept", solver.factor_size)
        rows.append({"nodes": grid[0], "elements": grid[1], "unknowns": len(b), "solver": name,
                     "plan": planned - start, "factor": factored - planned, "solve": solved - factored,
                     "factors GB": 8e-9 * solver.factor_size, "held GB": 8e-9 * held,
                     "backward error": solver.backward_error(x, b)[0],
                     "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1e-6})
        del solver
    return rows


def exponents(rows):
    """Of N and T in `c N^a T^b`, least squares of logarithms, per solver: dict solver -> quantity -> (a, b)."""
    fits = {}
    for solver in dict.fromkeys(row["solver"] for row in rows):
        own = [row for row in rows if row["solver"] == solver]
        powers = np.array([[1, np.log(row["nodes"]), np.log(row["elements"])] for row in own])
        fits[solver] = {what: np.linalg.lstsq(powers, np.log([row[what] for row in own]), rcond=None)[0][1:].tolist()
                        for what in ("plan", "factor", "solve", "factors GB")}
    return fits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grids", nargs="+", default=["10x100", "30x100"], help="nodes x elements")
    parser.add_argument("--solvers", nargs="+", default=["dissection", "time", "mumps"],
                        choices=list(CHOICES))
    parser.add_argument("--memory", default=MEMORY["given"], help="for the factors of 'bounded'")
    parser.add_argument("--exponents", action="store_true", help="fit powers of nodes and elements")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    MEMORY["given"], rows = arguments.memory, []
    for grid in arguments.grids:
        rows += measure(tuple(map(int, grid.split("x"))), arguments.solvers)
        for row in [] if arguments.json else rows[-len(arguments.solvers):]:
            print(", ".join(f"{k}: {v:.3g}" if isinstance(v, float) else f"{k}: {v}" for k, v in row.items()),
                  flush=True)
    fits = exponents(rows) if arguments.exponents else {}
    if arguments.json:
        print(json.dumps({"rows": rows, "exponents": fits} if fits else rows))
    for solver, found in {} if arguments.json else fits.items():
        print(f"{solver}: " + ", ".join(f"{what} N^{a:.2f} T^{b:.2f}" for what, (a, b) in found.items()))


if __name__ == "__main__":
    main()
