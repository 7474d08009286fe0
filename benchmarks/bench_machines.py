"""Robots in joint coordinates: one second at equal error, beside Pinocchio's ABA with SciPy's DOP853.

The robots are those of tests/data/robots, whose files have the end of the motion by DOP853 with a tolerance of 1e-12.
timefem marches mG(k) in Lagrange's form; the error is the largest one of all coordinates at the end. Pinocchio is
called from Python, once for each stage of DOP853, with dampers and mimic joints in NumPy as in the script truth.py
there, in a process of its own, which may have other versions of NumPy: `--pinocchio FOLDER` is put on its path. Times
are minima of several runs on one thread; set-up is that of a new process whose kernels are on disk.

    python benchmarks/bench_machines.py [--pinocchio FOLDER] [--robots ur5 go2] [--repeats 3] [--json]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

ROOT = Path(__file__).parents[1]
ROBOTS = sorted(path.stem for path in (ROOT / "tests" / "data" / "robots").glob("*.json"))
TARGET = 1e-9
MESHES = {2: (200, 400, 800, 1600, 3200), 3: (50, 100, 200, 400, 800), 4: (25, 50, 100, 200, 400)}
TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)

PEER = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np, scipy, truth
data = json.load(open(sys.argv[2]))
robot, motion = truth.Robot(data["urdf"], data["base"]), data["motion"]
q0, v0, n = np.array(motion["q0"]), np.array(motion["v0"]), len(motion["q0"])
def f(t, y):
    return np.concatenate([robot.rate(y[:n], y[n:]), robot.acceleration(y[:n], y[n:])])
if not np.any(robot.damping) and robot.G.shape[0] == robot.G.shape[1]:
    import pinocchio
    zero = np.zeros(robot.model.nv)
    def f(t, y):
        a = pinocchio.aba(robot.model, robot.data, robot.coordinates(y[:n]), y[n:], zero)
        return np.concatenate([robot.rate(y[:n], y[n:]), a])
out = []
for tolerance in json.loads(sys.argv[3]):
    best = np.inf
    for _ in range(int(sys.argv[4])):
        start = time.perf_counter()
        y = scipy.integrate.solve_ivp(f, (0, motion["t_end"]), np.concatenate([q0, v0]), method="DOP853",
                                      rtol=tolerance, atol=tolerance * 0.1).y[:n, -1]
        best = min(best, time.perf_counter() - start)
    out.append([float(np.abs(y - motion["q1"]).max()), best])
    if best > 60 or out[-1][0] < 1e-10:
        break
print(json.dumps(out))
"""


def ours(name, repeats):
    """(error, seconds) of each degree and mesh, and seconds of set-up."""
    sys.path.insert(0, str(ROOT))
    import tempfile

    import numpy as np

    import timefem as tf
    from tests.models.test_robots import Truth

    with tempfile.TemporaryDirectory() as folder:
        truth = Truth(name, Path(folder))
    motion, tree, points, setup = truth.data["motion"], truth.tree, [], None
    q0 = truth.coordinates(motion["q0"])
    problem = tf.InitialValueProblem(tf.System([tree], gravity=(0, 0, -9.81)),
                                     {tree: tf.Coordinates(q0, truth.rates(motion["q0"]) @ motion["v0"])},
                                     (0, motion["t_end"]))
    expected = np.array(motion["q1"])
    for degree, meshes in MESHES.items():
        element = tf.MixedGalerkin(degree, form="lagrange")
        tf.solve(problem, element, 2, progress=False)
        for n in meshes:
            best = np.inf
            for _ in range(repeats):
                start = time.perf_counter()
                sol = tf.solve(problem, element, n, progress=False)
                best = min(best, time.perf_counter() - start)
            q = sol.z[-1][:tree.n_q][truth.order]
            if truth.free:
                q[3:7] /= np.linalg.norm(q[3:7])
            error = float(np.abs(q - expected).max()) if sol.success else float("nan")
            points.append([error, best, degree, n])
            if error < TARGET / 5:
                break
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import sys, bench_machines as b; b.first(sys.argv[1])", name], check=True,
                   cwd=Path(__file__).parent, env={**os.environ, "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}"})
    setup = time.perf_counter() - start
    return tree.n_v, points, setup


def first(name):
    """One element, in a new process."""
    sys.path.insert(0, str(ROOT))
    import tempfile

    import timefem as tf
    from tests.models.test_robots import Truth

    with tempfile.TemporaryDirectory() as folder:
        tree = Truth(name, Path(folder)).tree
    tf.solve(tf.InitialValueProblem(tf.System([tree], gravity=(0, 0, -9.81)), {}, (0, 0.01)),
             tf.MixedGalerkin(2, form="lagrange"), 1, progress=False)


def peer(name, folder, repeats):
    """(error, seconds) of DOP853 on Pinocchio; None without it."""
    data = ROOT / "tests" / "data" / "robots"
    paths = [str(p) for p in (Path(folder), *Path(folder).glob("cmeel.prefix/lib/python*/site-packages"))] if folder \
        else []
    run = subprocess.run([sys.executable, "-c", PEER, str(data), str(data / f"{name}.json"), json.dumps(TOLERANCES),
                          str(repeats)], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
    return json.loads(run.stdout) if run.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pinocchio", help="folder with the wheel pin")
    parser.add_argument("--robots", nargs="*", default=ROBOTS, choices=ROBOTS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {}
    for name in options.robots:
        n, points, setup = ours(name, options.repeats)
        other = peer(name, options.pinocchio, options.repeats)
        good = [p for p in points if p[0] <= TARGET]
        there = [p for p in other or () if p[0] <= TARGET]
        results[name] = {"degrees of freedom": n, "points": points, "process": setup, "peer": other,
                         "best": min(good, key=lambda p: p[1], default=None),
                         "best of peer": min(there, key=lambda p: p[1], default=None)}
        if not options.json:
            r = results[name]
            mine = "not reached" if r["best"] is None else \
                f"{1e3 * r['best'][1]:.1f} ms (mG({r['best'][2]}), {r['best'][3]} elements, {r['best'][0]:.1e})"
            theirs = "not there" if r["best of peer"] is None else \
                f"{1e3 * r['best of peer'][1]:.1f} ms ({r['best of peer'][0]:.1e})"
            print(f"{name}, {n}: timefem {mine}, Pinocchio and DOP853 {theirs}; first element in a new process "
                  f"{setup:.2f} s", flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
