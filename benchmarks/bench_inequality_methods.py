"""Interior-point method against IPOPT and fatrop: iterations and objectives of all cases, and random starts.

    python benchmarks/bench_inequality_methods.py                 # all cases with inequalities, contacts and phases
    python benchmarks/bench_inequality_methods.py --starts 200    # cart-pole and quadrotor from random starts

Random starts are those of `solve_all`: motions that go aside by 0.1 to 1, and smooth controls within their bounds. Each
is solved by both methods, on the same program, at most 500 iterations. Cases are solved by all methods from the guess,
then from the solutions of the own method and of IPOPT: minima may differ, but each is one for all.
"""

import argparse
import json
import warnings

import numpy as np

import timefem as tf
from timefem.cases import CASES
from timefem.models import load_model
from timefem.problems.optimal.guesses.guess import starts
from timefem.progress import progress

ELEMENT = tf.MixedGalerkin(2, n_points=2)
SAME = 1e-6  # objectives, relative
MOST = 500
METHODS = {"interior-point": tf.InteriorPoint(max_iterations=MOST), "ipopt": tf.Ipopt(max_iterations=MOST),
           "fatrop": tf.Fatrop(max_iterations=MOST)}
COMPARED = "interior-point", "ipopt"
ENDS = {name: f", from that of {name}" for name in COMPARED}  # cases that all methods begin where one ends


def solved(problem, n, name, guess=None, element=ELEMENT):
    """Objective, or None, iterations, and the solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sol = tf.solve(problem, element, n, method=METHODS[name], guess=guess, progress=False)
    return (sol.objective if sol.success else None), int(sol.statistics["newton_iterations"]["max"]), sol


def problems():
    """Problem, elements and kind of element of each case with inequalities."""
    found = {}
    for name, case in CASES.items():
        if case.kind == "phases" or (case.kind == "optimal" and case.make().bounded):
            element = load_model(case.path).element if case.path else ELEMENT
            found[name] = case.make(), case.n_elements, element
    return found


def all_cases():
    """(objective, iterations) by case and method, from the guess and from where methods end."""
    given = problems()
    with progress("cases", len(given) * len(METHODS) * (1 + len(ENDS))) as bar:
        out = {}
        for name, (problem, n, element) in given.items():
            ends = {"": None}
            while ends:
                end, guess = ends.popitem()
                by = out[name + end] = {}
                for method in METHODS:
                    *by[method], sol = solved(problem, n, method, guess, element)
                    if guess is None and method in ENDS and sol.success:
                        ends[ENDS[method]] = sol
                    bar.advance()
    return out


def random_starts(problem, n, n_starts):
    """(objective, iterations) of each start, by method."""
    guesses = starts(problem, n_starts + 1)[1:]
    with progress("starts", n_starts) as bar:
        out = {name: [] for name in COMPARED}
        for guess in guesses:
            for name in COMPARED:
                out[name].append(solved(problem, n, name, guess)[:2])
            bar.advance()
    return out


def report_cases(results):
    print(f"{'case':46}" + "".join(f"{m:>34}" for m in METHODS))
    for name, by in results.items():
        best = by["interior-point"][0]
        texts = []
        for objective, iterations in by.values():
            apart = "failed" if objective is None else f"{objective:.9g}" if best is None else \
                f"{objective:.9g} ({abs(objective - best) / max(abs(best), 1e-9):.0e})"
            texts.append(f"{apart} {iterations:4d}")
        print(f"{name:46}" + "".join(f"{t:>34}" for t in texts))
    ratio = [by["interior-point"][1] / by["ipopt"][1] for name, by in results.items()
             if by["ipopt"][0] is not None and not name.endswith(tuple(ENDS.values()))]
    print(f"iterations over those of IPOPT: {min(ratio):.2f} to {max(ratio):.2f}")


def report_starts(name, results):
    best = min(f for runs in results.values() for f, _ in runs if f is not None)
    for method, runs in results.items():
        good = [(f, i) for f, i in runs if f is not None]
        at_best = sum(abs(f / best - 1) < SAME for f, _ in good)
        print(f"{name}, {method}: {len(good)} of {len(runs)} solved, {at_best} at the best value {best:.8g}, "
              f"{np.mean([i for _, i in good]):.0f} iterations on average")
    own, other = ([f is not None for f, _ in runs] for runs in results.values())
    print(f"    only by its own: {sum(a and not b for a, b in zip(own, other, strict=True))}, only by IPOPT: "
          f"{sum(b and not a for a, b in zip(own, other, strict=True))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.starts:
        given = {"cart-pole-limited": (CASES["cart-pole-limited"].make(), 40),
                 "quadrotor": (CASES["quadrotor"].make(), 20)}
        results = {name: random_starts(*of, arguments.starts) for name, of in given.items()}
    else:
        results = all_cases()
    if arguments.json:
        print(json.dumps(results))
    elif arguments.starts:
        for name, of in results.items():
            report_starts(name, of)
    else:
        report_cases(results)
