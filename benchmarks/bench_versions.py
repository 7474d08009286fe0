"""This version of the package beside another one: solves of many kinds in turns, and the ratio of their time.

    git worktree add ../before COMMIT
    python benchmarks/bench_versions.py ../before [--rounds 5] [--only NAME ...] [--json]

Each solve is a process of its own, which solves once before the clock runs and then takes the least of three; the
ratio is that of the least over the rounds, now over before (below 1: faster now). The goal is at most 1.05. Processor
time is the measure, so that on a busy machine a few percent mean nothing before some rounds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

OWN, GOAL = Path(__file__).parents[1], 1.05
SOLVES = {  # what -> (case, element, elements, further arguments of tf.solve)
    "free body, mG(2)": ("spinning-box", "tf.MixedGalerkin(2)", 2000, {}),
    "free body, BG(3) global": ("spinning-box", "tf.BubnovGalerkin(3)", 500, {"driver": "global"}),
    "free body, mG(2) global": ("spinning-box", "tf.MixedGalerkin(2)", 1000, {"driver": "global"}),
    "heavy top, mG(3)": ("heavy-top", "tf.MixedGalerkin(3)", 500, {}),
    "heavy top, EML": ("heavy-top", "tf.EML()", 2000, {}),
    "heavy top, tolerance 1e-6": ("heavy-top", "tf.MixedGalerkin(3)", None, {"tolerance": 1e-6}),
    "four-bar, mG(2)": ("four-bar", "tf.MixedGalerkin(2)", 200, {}),
    "Andrews, mG(1)": ("andrews-squeezer", "tf.MixedGalerkin(1)", 200, {}),
    "closed chain of 100, mG(1)": ("closed-chain-100", "tf.MixedGalerkin(1)", 10, {}),
    "flexible pendulum, mG(1)": ("flexible-pendulum", "tf.MixedGalerkin(1)", 20, {}),
    "rolling disc, mG(1)": ("rolling-disc", "tf.MixedGalerkin(1)", 500, {}),
    "crane, inverse dynamics": ("crane-inverse", "tf.MixedGalerkin(2)", 40, {}),
    "pendulum, both ends": ("pendulum-boundary", "tf.MixedGalerkin(2)", 200, {}),
    "reorientation, optimal control": ("reorientation-effort", "tf.MixedGalerkin(2)", 100, {}),
    "Bryson-Denham, inequalities": ("bryson-denham", "tf.MixedGalerkin(1)", 100, {}),
    "container crane, inequalities": ("container-crane", "tf.MixedGalerkin(2)", 20, {}),
}
SOLVE = """
import sys, time, json, warnings
warnings.simplefilter("ignore")
import timefem as tf
from timefem.cases import find_case
name, element, n, further = json.loads(sys.argv[1])
element, seconds = eval(element), []
for k in range(4):
    problem = find_case(name).make()
    start = time.process_time()
    tf.solve(problem, element, *([] if n is None else [n]), progress=False, **further)
    seconds.append(time.process_time() - start)
print(min(seconds[1:]))
"""


def least(folder, cache, solve):
    """Seconds of one solve in a process of a version of the package; None where it cannot do that."""
    process = run([sys.executable, "-c", SOLVE, json.dumps(solve)], folder, cache)
    if process.returncode:
        print(f"{folder}: {solve[0]}: {process.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return float(process.stdout.split()[-1])


def run(command, folder, cache):
    own = {"PYTHONPATH": str(folder), "TIMEFEM_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=os.environ | own, cwd=cache, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(SOLVES), choices=list(SOLVES), metavar="NAME")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not Path(options.before, "timefem", "__init__.py").exists():
        parser.error(f"{options.before} is no checkout of timefem")
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folders = {Path(place, "now"): OWN, Path(place, "before"): options.before.resolve()}
        for cache, folder in folders.items():
            cache.mkdir()
            run([sys.executable, "-m", "timefem", "prepare"], folder, cache)
        for what in options.only:
            rounds = [[least(folder, cache, SOLVES[what]) for cache, folder in folders.items()]
                      for _ in range(options.rounds)]
            if None in rounds[0]:
                continue
            now, before = found[what] = [min(s) for s in zip(*rounds, strict=True)]
            if not options.json:
                print(f"{what:34s} {1e3 * before:9.2f} -> {1e3 * now:9.2f} ms  {now / before:6.2f}"
                      f"  {'holds' if now <= GOAL * before else 'missed'}", flush=True)
    if options.json:
        print(json.dumps({what: {"now": now, "before": before} for what, (now, before) in found.items()}, indent=1))


if __name__ == "__main__":
    main()
