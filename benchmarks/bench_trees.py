"""How the march and the set-up of trees grow with their joints: chains, and five limbs on a base.

mG(2) in Lagrange's form, 40 elements, prepared solvers, medians of processor time; set-up is from the links through the
first march, in this process. Run it twice: the second time kernels are on disk.

    python benchmarks/bench_trees.py [--quick] [--json]
"""

import statistics
import sys
import time
import warnings

import numpy as np
from _common import quick_or_json

import timefem as tf

N = 40  # elements


def tree(n, limbs):
    """n links of 1 kg with skew centres of mass, and joints about x, y, z in turn."""
    links, joints = [tf.Link("0")], []
    for i in range(1, n + 1):
        links.append(tf.Link(str(i), mass=1, centre=(0, 0.02, 0.05), inertia=(2e-3, 2e-3, 1e-3)))
        joints.append(tf.TreeJoint(f"j{i}", str(max(i - limbs, 0)), str(i), position=(0, 0, 0.1), damping=0.1,
                                   axis=np.eye(3)[i % 3]))
    return tf.Tree(links, joints, name="arm")


def measured(n, limbs):
    """Seconds of an element and of the set-up, and iterations."""
    start, robot = time.process_time(), tree(n, limbs)
    problem = tf.InitialValueProblem(tf.System([robot], gravity=(0, 0, -9.81)),
                                     {robot: tf.Coordinates(np.linspace(-0.4, 0.5, n))}, (0, 0.01))
    solver = tf.prepare(problem, tf.MixedGalerkin(2, form="lagrange"), N, progress=False)
    solver.solve()
    setup, seconds = time.process_time() - start, []
    for _ in range(9):
        start = time.process_time()
        sol = solver.solve()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds) / N, setup, sol.statistics["newton_iterations"]["mean"]


def main(quick):
    """Rows of both shapes, and exponents in n."""
    sizes, results = (6, 12) if quick else (6, 12, 18, 24, 30), {}
    for name, limbs in (("chain", 1), ("five limbs", 5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = [(n, *measured(n, limbs)) for n in sizes]
        n, element, _, iterations = np.array(rows).T
        slopes = {key: float(np.polyfit(np.log(n), np.log(y), 1)[0]) for key, y in (
            ("element", element), ("iteration", element / iterations))}
        results[name] = {"rows": [[float(x) for x in row] for row in rows], "exponents": slopes}
        for n, element, setup, iterations in rows:
            print(f"{name}, {n} joints: {1e6 * element:.0f} us per element, {iterations:.2f} iterations, set-up "
                  f"{setup:.2f} s", file=sys.stderr, flush=True)
        print(f"{name}: exponent {slopes['element']:.2f}, of an iteration {slopes['iteration']:.2f}", file=sys.stderr,
              flush=True)
    return results


if __name__ == "__main__":
    quick_or_json(__doc__, main, lambda results: None)
