"""Marches of this version of the package beside another one, in turns: bodies, mechanisms, robots and a beam.

    git worktree add ../before COMMIT
    python benchmarks/bench_marches.py ../before [--rounds 3] [--only NAME ...] [--degrees 1 2] [--json]

Each march is a process of its own that prepares everything but the march and goes through it 25 times: of each of its
parts, some twenty, it takes the least, as other processes disturb some part of every march. The ratio is that of the
least sum over the rounds, before over now (above 1: faster now). States at the end are compared by their size. The
robots are trees in Lagrange's form. The first round compiles kernels, which the others find in the cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OWN, GOAL, PARTS, MARCHES = Path(__file__).parents[1], 1.3, 20, 26
ELEMENTS = {"free body": 4000, "heavy top": 1000, "four-bar": 128, "chain of 20": 64, "six hinged links": 100,
            "UR5": 200, "G1": 200, "beam of 31 nodes": 40}


def problem(name):
    """The problem, and the form of its elements."""
    from bench_chain_of_bodies import chain
    from bench_elements import arm, beam

    import timefem as tf
    from timefem.cases import find_case

    if name in ("UR5", "G1"):
        from bench_machines import robot
        return robot(name.lower(), Path(tempfile.mkdtemp()))[0], {"form": "lagrange"}
    if name == "free body":
        box = tf.RigidBody(12, [5, 26, 29])
        start = {box: tf.Pose(angular_velocity=[0, 5, 1])}
        return tf.InitialValueProblem(tf.System([box]), start, (0, 0.0125 * ELEMENTS[name])), {}
    makers = {"heavy top": lambda: find_case("heavy-top").make(t_end=5.0), "chain of 20": lambda: chain(20, t_end=1.0),
              "four-bar": lambda: find_case("four-bar").make(t_end=2.0), "six hinged links": arm,
              "beam of 31 nodes": lambda: beam(31, 1.0)}
    return makers[name](), {}


def measure(name, degree):
    """Print microseconds per element, iterations, and the state at the end of one march."""
    import numpy as np
    from _common import PreparedMarch

    import timefem as tf
    from timefem.solvers.march.march import Run, march

    task, form = problem(name)
    n, prepared = ELEMENTS[name], PreparedMarch(task, tf.MixedGalerkin(degree, **form))
    mesh, part, times = tf.TimeMesh.uniform(task.t_span, n), n // PARTS, []
    for _ in range(MARCHES):
        prepared.loop.chunk, ends = part, [time.perf_counter()]
        x, _, status, iterations = march(
            prepared.plan, mesh, task.z0, prepared.multipliers, prepared.scaling, prepared.newton,
            Run(lambda _, ends=ends: ends.append(time.perf_counter()), part, loop=prepared.loop))
        if not status.success:
            raise SystemExit(str(status))
        times.append(np.diff(ends))
    q = prepared.plan.columns.unpack(x)[0][-1, -1, :task.system.n_q]
    print(json.dumps([1e6 * float(np.min(times[1:], axis=0).sum()) / n, float(np.mean(iterations)), q.tolist()]))


def run(name, degree, folder, cache):
    own = {"PYTHONPATH": f"{folder}:{OWN / 'benchmarks'}:{OWN}", "TIMEFEM_CACHE_DIR": str(cache),
           "OMP_NUM_THREADS": "1"}
    process = subprocess.run([sys.executable, "-c", f"import bench_marches as b; b.measure({name!r}, {degree})"],
                             env=os.environ | own, cwd=cache, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"{folder}: {name}: {process.stderr[-2000:]}")
    return json.loads(process.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(ELEMENTS), choices=list(ELEMENTS), metavar="NAME")
    parser.add_argument("--degrees", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--cache", type=Path, help="folder whose compiled kernels are kept, with one for each version")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not Path(options.before, "timefem", "__init__.py").exists():
        parser.error(f"{options.before} is no checkout of timefem")
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folders = {options.before.resolve(): Path(options.cache or place, "before"),
                   OWN: Path(options.cache or place, "now")}
        for cache in folders.values():
            cache.mkdir(parents=True, exist_ok=True)
        for name in options.only:
            for degree in options.degrees:
                times = {folder: [] for folder in folders}
                for _ in range(options.rounds):
                    for folder, cache in folders.items():
                        times[folder].append(run(name, degree, folder, cache))
                rows.append(row(f"{name}, mG({degree})", *times.values()))
                if not options.json:
                    print(rows[-1]["text"], flush=True)
    if options.json:
        print(json.dumps(rows))


def row(what, before, now):
    """Ratio, times, iterations and the distance of the states at the end."""
    (old, old_iterations, q), (new, iterations, own) = min(before), min(now)
    distance = max(abs(a - b) for a, b in zip(q, own, strict=True)) / max(map(abs, q))
    text = (f"{what}: {old:.3g} us before, {new:.3g} now, ratio {old / new:.2f} (goal {GOAL}), iterations "
            f"{old_iterations:.2f}, {iterations:.2f}, states differ by {distance:.0e}")
    return {"what": what, "before": old, "now": new, "ratio": old / new, "iterations": [old_iterations, iterations],
            "distance": distance, "holds": old / new >= GOAL, "text": text}


if __name__ == "__main__":
    main()
