"""The speed claims of the core, side by side in one run: ratios of medians of interleaved timings.

    python benchmarks/bench_core.py [--quick] [--json]
"""

import time

import numpy as np
import reference
from _common import interleaved, quick_or_json

import timefem as tf
from timefem.assembly import Scaling
from timefem.elements.evaluation.elements_in_lanes import evaluate_batch
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.march.march import march
from timefem.solvers.nonlinear.newton import Newton

H = 0.0125
TOLERANCES = dict(tol_residual=1e-13, tol_increment=1e-8)


def spinning_box(t_end):
    box = tf.RigidBody(12, [5, 26, 29])
    return tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=[0, 5, 1])}, (0, t_end))


def prepared_march(n_elements, element):
    """A march with everything but the loop done beforehand, as for the C++."""
    problem = spinning_box(n_elements * H)
    plan = ElementPlan(problem.system, element)
    mesh = tf.TimeMesh.uniform(problem.t_span, n_elements)
    scaling = Scaling.of("full", problem.system, element, 0, problem.z0)
    multipliers = np.zeros(problem.system.n_multipliers)
    return lambda: march(plan, mesh, problem.z0, multipliers, scaling, Newton(**TOLERANCES))


def bench_march(n_steps, repeats):
    """mG(1) with 4 points, quaternion body, Newton included: at most 0.6 times C++."""
    ours = prepared_march(n_steps, tf.MixedGalerkin(1, 4))
    z0 = reference.initial_state((5.0, 26.0, 29.0), (1.0, 0, 0, 0), (0.0, 5, 1))
    size = Scaling.of("full", (p := spinning_box(1)).system, tf.MixedGalerkin(1), 0, p.z0).size(p.z0)
    # the same tolerances: ours are relative to the size of the scaled state
    tolerances = dict(tol_residual=TOLERANCES["tol_residual"] * size, tol_increment=TOLERANCES["tol_increment"] * size)

    def cpp():
        return reference.march_mg1(12.0, (5.0, 26.0, 29.0), z0, H, n_steps, 4, **tolerances)

    t_ours, t_cpp = interleaved(ours, cpp, repeats=repeats)
    _, _, status, iterations = ours()
    _, n_iter = cpp()
    assert status.success
    return {"what": "march mG(1), 4 points, us/step", "timefem": t_ours / n_steps * 1e6, "C++": t_cpp / n_steps * 1e6,
            "ratio": t_ours / t_cpp, "claim": "<= 0.6", "holds": t_ours / t_cpp <= 0.6,
            "iterations": [float(iterations.mean()), float(np.mean(n_iter))]}


def bench_elements(n_elements, repeats):
    """Element residual and tangent in batches, k = 2 with 3 points: at most 1.2 times C++."""
    system = spinning_box(1).system
    batch = tf.ElementBatch(system, tf.MixedGalerkin(2, 3))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_elements, batch.n_columns))
    t, h = np.zeros(n_elements), np.full(n_elements, H)
    residual, tangent = np.empty((n_elements, batch.n_rows)), np.empty((n_elements, len(batch.pattern[0])))
    z, lam = rng.normal(size=(2 * n_elements + 1, 14)), rng.normal(size=(n_elements, 2, 2))
    out = np.empty((n_elements, 32)), np.empty((n_elements, 32, 46))
    ours, cpp = interleaved(
        lambda: evaluate_batch(batch.plan.arrays, x, t, h, residual, tangent),
        lambda: reference.elements_mg2(12.0, (5.0, 26.0, 29.0), z, lam, H, 3, out=out), repeats=repeats)
    return {"what": f"{n_elements} elements mG(2), 3 points, us/element", "timefem": ours / n_elements * 1e6,
            "C++": cpp / n_elements * 1e6, "ratio": ours / cpp, "claim": "<= 1.2", "holds": ours / cpp <= 1.2}


def bench_global(n_elements, repeats):
    """One global Newton iteration of BG(1) against one march of the same mesh by mG(1): under 4 times."""
    problem, element = spinning_box(n_elements * H), tf.BubnovGalerkin(1)
    plan = ElementPlan(problem.system, element)
    mesh = tf.TimeMesh.uniform(problem.t_span, n_elements)
    chain = ElementEquations(plan, mesh, Scaling.of("full", problem.system, element, 0, problem.z0))
    guess = tf.solve(problem, tf.MixedGalerkin(1), n_elements)
    x = plan.columns.pack(guess.nodal.state, guess.nodal.multipliers)
    seconds = {}

    def iteration():
        start = time.perf_counter()
        residual = chain.evaluate(x)
        middle = time.perf_counter()
        chain.linear_step(residual)
        seconds.update(assemble=middle - start, solve=time.perf_counter() - middle)

    one, whole = interleaved(iteration, prepared_march(n_elements, tf.MixedGalerkin(1)), repeats=repeats)
    return {"what": f"global Newton iteration of BG(1), {n_elements} elements, s", "timefem": one, "march": whole,
            "ratio": one / whole, "claim": "< 4", "holds": one / whole < 4,
            **{k: v / n_elements * 1e6 for k, v in seconds.items()}}


def main(quick=False):
    n = 10 if quick else 1
    return [bench_march(100_000 // n, 9), bench_elements(10_000 // n, 15), bench_elements(500, 51),
            bench_global(100_000 // n, 5)]


def show(results):
    for r in results:
        print(", ".join(f"{k}: {v:.3g}" if isinstance(v, float) else f"{k}: {v}" for k, v in r.items()))


if __name__ == "__main__":
    quick_or_json(__doc__, main, show)
