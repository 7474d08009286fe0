"""Reduction pays: EML against its reductions, time per step, interleaved in one run (Kinon & Betsch (2024), Fig. 9).

    python benchmarks/bench_schemes.py [--quick] [--json]
"""

import argparse
import json

from _common import interleaved

import timefem as tf
from timefem.assembly import Scaling
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.march.march import LoopArrays, Run, march
from timefem.solvers.nonlinear.newton import Newton

CLAIMS = {"reml": 0.8, "null-eml": 0.6}
PROBLEMS = {"free-body": 0.005, "heavy-top": 0.00125, "four-bar": 0.01}  # steps


def prepared_march(case, element, n_elements):
    """A march with everything but the loop done beforehand."""
    problem = find_case(case).make(t_end=n_elements * PROBLEMS[case])
    system, mesh = problem.system, tf.TimeMesh.uniform(problem.t_span, n_elements)
    plan = ElementPlan(system, element)
    scaling = Scaling.of("full", system, element, 0, problem.z0)
    multipliers = system.consistent_multipliers(0, problem.z0)
    loop = LoopArrays(plan, scaling)
    return lambda: march(plan, mesh, problem.z0, multipliers, scaling, Newton(), Run(loop=loop))


def bench(case, n_elements, repeats):
    runs = {e.name: prepared_march(case, e, n_elements) for e in (tf.EML(), tf.REML(), tf.NullEML())}
    seconds = dict(zip(runs, interleaved(*runs.values(), repeats=repeats), strict=True))
    results = []
    for name, most in CLAIMS.items():
        ratio = seconds[name] / seconds["eml"]
        results.append({"what": f"{case}: {name} against eml, us/step", name: seconds[name] / n_elements * 1e6,
                        "eml": seconds["eml"] / n_elements * 1e6, "ratio": ratio, "claim": f"<= {most}",
                        "holds": ratio <= most,
                        "iterations": [float(runs[n]()[3].mean()) for n in (name, "eml")]})
    return results


def main(quick=False):
    repeats = 5 if quick else 15
    return [r for case, n in (("free-body", 2000), ("heavy-top", 5000), ("four-bar", 1000))
            for r in bench(case, n, repeats)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = main(arguments.quick)
    if arguments.json:
        print(json.dumps(results))
    else:
        for r in results:
            print(", ".join(f"{k}: {v:.3g}" if isinstance(v, float) else f"{k}: {v}" for k, v in r.items()))
