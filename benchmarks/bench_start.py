"""Starts, each in a new process: with nothing compiled, with the loops prepared, and of a model that was solved before.

    python benchmarks/bench_start.py [--quick] [--json] [--old FOLDER]

`--old` names the folder of another version of the package, which is measured in turn with this one. Seconds of the wall
clock and of the processor: on a machine with other work the second is the one to compare.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OWN = Path(__file__).parents[1]
RUN = "from timefem.cli import main; import sys; sys.exit(main(['run', 'spinning-box', '--json']))"
SETUP = """
import sys, time
import numba, scipy.linalg, scipy.sparse.csgraph, casadi, h5py
import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.elements.evaluation.elements_in_lanes import evaluate_batch
problem = find_case(sys.argv[1]).make()
start = time.process_time()
plan = ElementPlan(problem.system, tf.MixedGalerkin(2))
print(time.process_time() - start)
"""
SOLVE = """
import time
import timefem as tf
box = tf.RigidBody(12, [5, 26, 29])
problem = tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=[0, 5, 1])}, (0, 1))
tf.solve(problem, tf.MixedGalerkin(2), 20)
"""
MODELS = {"free-body": "free body", "four-bar": "four-bar", "andrews-squeezer": "Andrews"}


def process(folder, cache, code, *arguments, ranks=1):
    """Run code in a new process with a version of the package and a cache: seconds (wall, processor), output."""
    own = {"PYTHONPATH": str(folder), "TIMEFEM_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache / "numba"),
           "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm": "isolated"}
    launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run = subprocess.run([*launcher, sys.executable, "-c", code, *arguments], env=os.environ | own, cwd=cache.parent,
                         capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        raise SystemExit(f"{folder}: {run.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, run.stdout + run.stderr


def bench_runs(folder, repeats):
    """The first run, with nothing compiled; the same again; and another process that solves another problem."""
    found = {"first": [], "again": [], "first on 2 ranks": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as place:
            cache = Path(place, "cache")
            cache.mkdir()
            found["first"].append(process(folder, cache, RUN)[:2])
            found["again"].append(process(folder, cache, RUN)[:2])
            if shutil.which("mpirun"):
                shutil.rmtree(cache)
                cache.mkdir()
                found["first on 2 ranks"].append(process(folder, cache, SOLVE, ranks=2)[:2])
    return {what: [statistics.median(s) for s in zip(*seconds, strict=True)] for what, seconds in found.items()
            if seconds}


def bench_models(folder, repeats):
    """Seconds of set-up of an element plan: of a new model, and of one that was set up by a process before."""
    found = {}
    for case in MODELS:
        seconds = {"new": [], "known": []}
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as place:
                cache = Path(place, "cache")
                cache.mkdir()
                for which in seconds:
                    seconds[which].append(float(process(folder, cache, SETUP, case)[2].split()[-1]))
        found[case] = {which: statistics.median(s) for which, s in seconds.items()}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--old", type=Path)
    options = parser.parse_args()
    folders = {"now": OWN} | ({"before": options.old.resolve()} if options.old else {})
    repeats = 1 if options.quick else 3
    results = {name: {"spinning-box": bench_runs(folder, repeats), "set-up": bench_models(folder, repeats)}
               for name, folder in folders.items()}
    if options.json:
        return print(json.dumps(results, indent=1))
    for name, facts in results.items():
        print(f"{name}\n  timefem run spinning-box        wall [s]  processor [s]")
        for what, (wall, cpu) in facts["spinning-box"].items():
            print(f"    {what:26s} {wall:10.1f} {cpu:10.1f}")
        print("  set-up, processor [s]                new      known")
        for case, s in facts["set-up"].items():
            print(f"    {MODELS[case]:26s} {s['new']:10.3f} {s['known']:10.3f}")


if __name__ == "__main__":
    main()
