"""Starts and set-ups, each in a new process, beside the goals: with nothing compiled, with all loops prepared by
`timefem prepare` or when the package was built (as `pip install` does), and of models that were set up before.

    python benchmarks/bench_start.py [--quick] [--json] [--old FOLDER]

Set-up is what comes before the march: kernels and index maps of an element, its order of elimination, scales and
multipliers. A new model finds all loops and no kernel on disk. `--old` names the folder of another version of the
package, which is measured in turn with this one. Seconds of the wall clock and of the processor, which other work on
the machine lengthens, too, by a third and more.
"""

import argparse
import functools
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
CLI = "from timefem.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
MG = ["run", "spinning-box", "--json"]
BG = [*MG, "--element", "bg", "--degree", "1"]
SETUP = """
import json, sys, time
sys.path.insert(0, sys.argv[2])
import casadi, h5py, numba, scipy.linalg, scipy.sparse.csgraph
import timefem as tf
from _common import PreparedMarch
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.elements.evaluation.elements_in_lanes import evaluate_batch
name, _, form = sys.argv[1].partition(":")
if form:
    from pathlib import Path
    import tempfile
    from bench_machines import Bodies, robot
    problem = robot(name, Path(tempfile.mkdtemp()))[0]
    if form == "bodies":
        problem = Bodies(problem).problem
else:
    problem = find_case(name).make()
element = tf.MixedGalerkin(2, form="lagrange") if form == "tree" else tf.MixedGalerkin(2)
start = time.process_time()
if hasattr(problem, "z0"):
    PreparedMarch(problem, element)
else:
    ElementPlan(problem.system, element)
print(time.process_time() - start)
"""
SOLVE = """
import timefem as tf
box = tf.RigidBody(12, [5, 26, 29])
problem = tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=[0, 5, 1])}, (0, 1))
tf.solve(problem, tf.MixedGalerkin(2), 20)
"""
RUNS = {  # what -> (code, its arguments, ranks, what is there, goal in seconds)
    "mG march, nothing compiled": (CLI, MG, 1, "nothing", 10.0),
    "mG march, again": (CLI, MG, 1, "all", 1.05),
    "BG global, nothing compiled": (CLI, BG, 1, "nothing", 10.0),
    "BG global, again": (CLI, BG, 1, "all", 1.05),
    "a solve on 2 ranks, nothing compiled": (SOLVE, [], 2, "nothing", 10.0),
    "mG march, prepared": (CLI, MG, 1, "loops", 3.0),
    "BG global, prepared": (CLI, BG, 1, "loops", 3.0),
    "mG march, after pip install": (CLI, MG, 1, "package", 3.0),
    "BG global, after pip install": (CLI, BG, 1, "package", 3.0),
    "a solve on 2 ranks, after pip install": (SOLVE, [], 2, "package", 3.0),
    "import timefem": ("import timefem", [], 1, "all", 0.3),
    "import of all that a run needs": ("import timefem.cli.run", [], 1, "all", None),
}
MODELS = {  # case, or robot and form -> (title, goal of a new model; of a known one 0.05 s, UR5 0.1 s)
    "free-body": ("free body", 0.1), "four-bar": ("four-bar", 0.35), "andrews-squeezer": ("Andrews", 1.5),
    "crane-inverse": ("crane, inverse dynamics", 1.6), "bricard": ("Bricard", 1.1),
    "closed-chain-100": ("chain of 100", 0.5), "ur5:bodies": ("UR5, redundant", 5.0), "ur5:tree": ("UR5, tree", None),
    "g1:tree": ("G1, tree of 29 joints", None),
}


def process(folder, cache, code, *arguments, ranks=1):
    """Run code in a new process with a version of the package and a cache: seconds (wall, processor), output."""
    own = {"PYTHONPATH": str(folder), "TIMEFEM_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache / "numba"),
           "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm": "isolated"}
    launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    others = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run([*launcher, sys.executable, "-c", code, *arguments], env=others | own, cwd=cache.parent,
                         capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        raise SystemExit(f"{folder}: {run.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, run.stdout


def fresh(place, source=None):
    """An empty cache, or a copy of another one."""
    cache = Path(place, "cache")
    shutil.rmtree(cache, ignore_errors=True)
    if source is None:
        cache.mkdir()
    else:
        shutil.copytree(source, cache)
    return cache


@functools.cache
def built(folder, place):
    """The package as it is installed, compiled loops and bytecode included; None of a version that has no setup.py."""
    if not (folder / "setup.py").exists():
        return None
    library = Path(place, "installed")
    environment = {name: value for name, value in os.environ.items() if name != "TIMEFEM_CACHE_DIR"}
    subprocess.run([sys.executable, "setup.py", "-q", "build_py", "-d", library], cwd=folder, env=environment,
                   check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", library], check=True)
    return library


def bench_runs(folder, place, prepared, repeats, show):
    """Seconds (wall, processor) of each of `RUNS`, medians."""
    found = {}
    for what, (code, arguments, ranks, there, goal) in RUNS.items():
        installed = there == "package"
        if (ranks > 1 and not shutil.which("mpirun")) or (installed and not built(folder, place)):
            continue
        seconds = []
        for k in range(repeats):
            if there != "all":
                cache = fresh(place, prepared if there == "loops" else None)
            elif k == 0:
                process(folder, cache, code, *arguments)  # bytecode
            seconds.append(process(built(folder, place) if installed else folder, cache, code, *arguments,
                                   ranks=ranks)[:2])
        wall, cpu = found[what] = [statistics.median(s) for s in zip(*seconds, strict=True)]
        show(f"  {what:38s}{wall:10.2f}{cpu:10.2f}{judged(cpu, goal):>24s}")
    return found


def bench_models(folder, place, prepared, repeats, show):
    """Seconds of set-up of the models that are new, and of those that another process has set up before."""
    found = {}
    for model, (title, goal) in MODELS.items():
        seconds, goals = {"new": [], "known": []}, {"new": goal, "known": 0.1 if model.startswith("ur5") else 0.05}
        for _ in range(repeats):
            cache = fresh(place, prepared)
            for s in seconds.values():
                s.append(float(process(folder, cache, SETUP, model, str(OWN / "benchmarks"))[2].split()[-1]))
        found[model] = {which: statistics.median(s) for which, s in seconds.items()}
        for which, s in found[model].items():
            show(f"  {f'{title}, {which}':48s}{s:10.3f}{judged(s, goals[which]):>24s}")
    return found


LOOPS_ALONE = """
import sys
from timefem.cli import main
from timefem.kernels.store import Store
write = Store.write
Store.once = lambda self, name, make: make()  # kernels are not kept, nor what is known of systems
Store.write = lambda self, *entry: sys._getframe(1).f_globals["__name__"].startswith("timefem.kernels") and write(
    self, *entry)
main(["prepare"])
"""


def measured(folder, repeats, show):
    """Facts of one version of the package."""
    with tempfile.TemporaryDirectory() as place:
        prepared = Path(place, "prepared")
        prepared.mkdir()
        process(folder, prepared, LOOPS_ALONE)
        show(f"{folder!s:40s}  wall [s]  processor [s]     goal")
        runs = bench_runs(folder, place, prepared, repeats, show)
        show("  set-up, processor [s]")
        return {"runs": runs, "set-up": bench_models(folder, place, prepared, repeats, show)}


def judged(seconds, goal):
    return "" if goal is None else f"{goal:8.2f}  {'holds' if seconds <= goal else 'missed'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--old", type=Path)
    options = parser.parse_args()
    folders = {"now": OWN} | ({"before": options.old.resolve()} if options.old else {})
    results = {name: measured(folder, 1 if options.quick else 3,
                              lambda line: None if options.json else print(line, flush=True))
               for name, folder in folders.items()}
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
