"""What a new user tries in the first hour: each with its lines of code, its seconds, and its number beside the truth.

    python benchmarks/bench_first_hour.py [--quick] [--json]

Lines are those of the functions below, from the model to the number, without docstrings and blank lines. Seconds are of
a process that has compiled the model before: each row is run twice.
"""

import ast
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from _common import quick_or_json

import timefem as tf
from timefem.cases import find_case
from timefem.cases.nonholonomic import bicycle
from timefem.solution.drawing.scene import make_scene

matplotlib.use("Agg")
G, OWN = (0, 0, -9.81), Path(__file__).parents[1]
DRIVERS = OWN / "docs" / "tutorial" / "global-solve.md"


def quadcopter(quick):
    """Quadcopter with a hanging load, hover to hover, no guess: least effort [N^2 s]; truth: mG(3), twice the mesh."""
    body, load = tf.RigidBody(1.2, (0.02, 0.025, 0.04), name="body"), tf.PointMass(0.3, name="load")
    lift = tf.ControlForce(body, ((0, 0, 1),), frame="body", name="lift")
    turn = tf.ControlTorque(body, name="turn")
    system = tf.System([body, load, tf.RigidDistance(body, load, length=0.8)], gravity=G)
    still = dict(velocity=(0, 0, 0))
    end = {body: tf.EndState((1, 0, 0), (1, 0, 0, 0), angular_velocity=(0, 0, 0), **still),
           load: tf.EndState((1, 0, -0.8), **still)}
    problem = tf.OptimalControl(system, {body: tf.Pose(), load: tf.Pose((0, 0, -0.8))}, end, (0, 2.5),
                                cost=[tf.Effort(lift), tf.Effort(turn)])
    sol = tf.solve(problem, tf.MixedGalerkin(2), 24, progress=False)
    return sol.objective, lambda: tf.solve(problem, tf.MixedGalerkin(3), 48, guess=sol, progress=False).objective, 1e-5


def quadcopter_from_controls(quick):
    """The same from controls as a guess, as a dict: least effort [N^2 s]; truth: without a guess."""
    body, load = tf.RigidBody(1.2, (0.02, 0.025, 0.04), name="body"), tf.PointMass(0.3, name="load")
    lift = tf.ControlForce(body, ((0, 0, 1),), frame="body", name="lift")
    turn = tf.ControlTorque(body, name="turn")
    system = tf.System([body, load, tf.RigidDistance(body, load, length=0.8)], gravity=G)
    still = dict(velocity=(0, 0, 0))
    end = {body: tf.EndState((1, 0, 0), (1, 0, 0, 0), angular_velocity=(0, 0, 0), **still),
           load: tf.EndState((1, 0, -0.8), **still)}
    problem = tf.OptimalControl(system, {body: tf.Pose(), load: tf.Pose((0, 0, -0.8))}, end, (0, 2.5),
                                cost=[tf.Effort(lift), tf.Effort(turn)])
    sol = tf.solve(problem, tf.MixedGalerkin(2), 24, guess={lift: 14.7}, progress=False)
    return sol.objective, lambda: tf.solve(problem, tf.MixedGalerkin(2), 24, progress=False).objective, 1e-9


def reorientation(quick):
    """Reorientation in least time from a bent path [s]; truth: Betts (2010), 28.6304077."""
    problem = find_case("reorientation-time").make()
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, guess=tf.Guess(bend=0.3), progress=False)
    return sol.objective, 28.6304077, 1e-3


def container_crane(quick):
    """Container crane, 120 elements: iterations of the own method, at most those of IPOPT on the same equations."""
    problem = find_case("container-crane").make()
    sol, other = (tf.solve(problem, tf.MixedGalerkin(2), 120, method=m, progress=False) for m in (None, "ipopt"))
    assert abs(sol.objective / other.objective - 1) < 1e-6
    return tuple(s.statistics["newton_iterations"]["max"] for s in (sol, other)) + ("at most",)


def critical_speed(quick):
    """Critical speeds of a bicycle: capsize [m/s]; truth: Meijaard et al. (2007)."""
    system, riding = bicycle()
    weave, capsize = tf.critical_values(lambda speed: tf.linearize(system, riding(speed)), (0.5, 8))
    assert abs(weave.value - 4.29238253634111) < 1e-10
    return capsize.value, 6.02426201538837, 1e-10 / 6


def singular_position(quick):
    """Four-bar linkage through its singular position: passes solved of 11 meshes and random speeds."""
    left, top, right = bars = [tf.RigidBody(1.0, (1e-3, 1 / 12, 1 / 12), "directors", name=n) for n in "abc"]
    axis, a, b = dict(axis_a=(0, 0, 1), axis_b=(0, 0, 1)), (-0.5, 0, 0), (0.5, 0, 0)
    parts = [*bars, tf.Revolute(left, None, point_a=a, point_b=(0, 0, 0), **axis),
             tf.Revolute(top, left, point_a=a, point_b=b, **axis),
             tf.Revolute(right, None, point_a=a, point_b=(1, 0, 0), **axis),
             tf.Revolute(right, top, point_a=b, point_b=b, **axis)]
    system, up = tf.System(parts, gravity=(0, -9.81, 0), redundant="drop"), (np.sqrt(0.5), 0, 0, np.sqrt(0.5))

    def passes(v, n):
        state = {left: tf.Pose((0, 0.5, 0), up, (v / 2, 0, 0), (0, 0, -v)),
                 top: tf.Pose((0.5, 1, 0), velocity=(v, 0, 0)),
                 right: tf.Pose((1, 0.5, 0), up, (v / 2, 0, 0), (0, 0, -v))}
        sol = tf.solve(tf.InitialValueProblem(system, state, (0, 2)), tf.MixedGalerkin(3), n, progress=False)
        return bool(sol.success and np.ptp(sol.energy()) < 1e-10)

    rng, n_random = np.random.default_rng(0), 10 if quick else 150
    runs = [(1.0, n) for n in range(100, 375, 25)] + [(rng.uniform(0.5, 3), rng.integers(100, 500))
                                                       for _ in range(n_random)]
    return sum(passes(v, int(n)) for v, n in runs), len(runs), 0.0


def bubnov_in_windows(quick):
    """Bubnov-Galerkin, double pendulum: the table of drivers says that windows are not global: error over error."""
    a, b = tf.RigidBody(1.0, (0.1, 0.1, 0.01), name="upper"), tf.RigidBody(1.0, (0.1, 0.1, 0.01), name="lower")
    axis = dict(axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    joints = [tf.Revolute(a, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), **axis),
              tf.Revolute(b, a, point_a=(0, 0, 0.5), point_b=(0, 0, -0.5), **axis)]
    start = {a: tf.Pose((-0.5, 0, 0), (np.sqrt(0.5), 0, np.sqrt(0.5), 0)),
             b: tf.Pose((-1.5, 0, 0), (np.sqrt(0.5), 0, np.sqrt(0.5), 0))}
    problem, n = tf.InitialValueProblem(tf.System([a, b, *joints], gravity=G), start, (0, 2)), 200 if quick else 1600
    truth = tf.solve(problem, tf.MixedGalerkin(4), 2 * n, progress=False).position(b, 2.0)
    found = [tf.solve(problem, tf.BubnovGalerkin(3), n, driver=d, progress=False) for d in (tf.Windows(20), "global")]
    errors = [np.abs(sol.position(b, 2.0) - truth).max() for sol in found]
    said = "not the numbers of `global`" in DRIVERS.read_text()
    return f"{errors[0]:.1e} / {errors[1]:.1e}", "said" if said else "not said", None


def picture(quick):
    """Snapshots, film and page of a body, a mass, a rope and a wheel: parts drawn, with up against gravity."""
    body, load = tf.RigidBody(1, (0.1, 0.2, 0.1), size=(0.5, 0.1, 0.5), shape="cylinder"), tf.PointMass(0.3)
    rope = tf.Rope(tf.Line((1, 0, 0), (2, 0, 0)), tf.RopeSection(EA=100.0, mass=0.1), n_elements=3)
    parts = [body, load, tf.RigidDistance(body, load, length=0.8), rope, tf.Spring(load, None, stiffness=10.0)]
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, -9.81, 0)), {load: tf.Pose((0, -0.8, 0))}, (0, 0.2))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 20, progress=False)
    sol.plot.snapshots([0, 0.1, 0.2]).figure.canvas.draw()
    scene = make_scene(sol, [0, 0.1])
    kinds = {b.shape for b in scene.bodies} | {link.kind for link in scene.links}
    return len(kinds & {"cylinder", "sphere", "rod", "rope", "spring"}) + (scene.view.up == 1), 6, 0.0


def front_page(quick):
    """README says when to use it and when not, with a picture before line 40; reference pages are no stubs."""
    lines = (OWN / "README.md").read_text().splitlines()
    pages = [p for p in (OWN / "docs" / "reference").glob("*.md") if p.stat().st_size < 300]
    found = [any(word in line for line in lines[:40]) for word in ("What it is for, and when not", "Not for ", "![")]
    return sum(found) + (not pages), 4, 0.0


def one_rank_prints(quick):
    """The tutorial's guard under mpirun -n 2: lines printed."""
    if not shutil.which("mpirun"):
        return "no mpirun", "", None
    code = """import timefem as tf
    box = tf.RigidBody(12, [5, 26, 29])
    problem = tf.InitialValueProblem(tf.System([box]), {box: tf.Pose(angular_velocity=[0, 5, 1])}, (0, 1))
    sol = tf.solve(problem, tf.BubnovGalerkin(2), 20, driver=tf.Global(tf.PETSc()), progress=False)
    if sol.is_root: print("once")"""
    own = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm": "isolated",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "script.py"
        script.write_text(code.replace("\n    ", "\n"))
        run = subprocess.run(["mpirun", "-n", "2", sys.executable, str(script)], env=os.environ | own, text=True,
                             capture_output=True)
    return run.stdout.count("once"), 1, 0.0


def names(quick):
    """A wrong argument, part and case get the nearest name; `tf.<tab>` has public names only."""
    body = tf.RigidBody(1, (1, 1, 1), name="body")
    told = []
    for wrong in (lambda: tf.Spring(body, None, stifness=3.0),  # codespell:ignore
                  lambda: tf.Spring(body, None, stiffness=3.0, lenght=1),  # codespell:ignore
                  lambda: tf.System([body]).find("bodi"), lambda: find_case("spining-box")):
        try:
            wrong()
        except (TypeError, tf.InputError) as error:
            told.append("did you mean" in str(error) or "body" in str(error))
    return sum(told) + (not {"os", "display", "validate"} & set(dir(tf))), 5, 0.0


ROWS = [quadcopter, quadcopter_from_controls, reorientation, container_crane, critical_speed, singular_position,
        bubnov_in_windows, picture, front_page, one_rank_prints, names]


def n_lines(function):
    """Lines of code without the docstring and blank lines."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0].end_lineno
    return sum(bool(line.strip()) for line in lines[docstring:])


def main(quick, rows=ROWS):
    """Rows: what, lines, seconds, number, truth, whether they agree."""
    results = []
    for row in rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not quick:
                row(True)
            start = time.perf_counter()
            number, truth, within = row(quick)
            seconds = time.perf_counter() - start
            truth = truth() if callable(truth) else truth
        if within == "at most":
            agrees = number <= truth
        else:
            agrees = within is None or abs(number - truth) <= within * abs(truth)
        results.append({"what": row.__doc__.strip().rstrip("."), "lines": n_lines(row), "seconds": seconds,
                        "number": number, "truth": truth, "agrees": bool(agrees)})
        show(results[-1:])
    return results


def show(results):
    for r in results:
        number, truth = (f"{x:.14g}" if isinstance(x, float) else str(x) for x in (r["number"], r["truth"]))
        print(f"{r['what']}\n    {r['lines']} lines, {r['seconds']:.2f} s: {number}, truth {truth}, "
              f"{'agrees' if r['agrees'] else 'DIFFERS'}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    quick_or_json(__doc__, main, lambda results: None)
