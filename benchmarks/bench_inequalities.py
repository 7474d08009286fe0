"""Optimal control with inequalities: timefem's interior-point method against IPOPT and fatrop.

Two comparisons, candidates in turns, processor time, ratios of medians:

- at equal error of the objective against CasADi's usual way, multiple shooting by RK4 (`shooting.py`) with IPOPT or
  fatrop: the error is that on a grid that people use, and each takes the cheapest mesh, or grid, from which on its own
  is no larger. Building the program of shooting is not counted; `solve` of timefem counts from the problem to the
  solution, on a problem that was solved before. First solves are those of new processes, from their start to their end,
  imports included;
- `--methods`: one nonlinear program, that of timefem, and three methods: its own, IPOPT and fatrop, through the same
  entries; with `--large N` on N elements, its own and IPOPT;
- `--stages`: fatrop on its own ground, a quadrotor with limited thrusts in 300 stages: mG(1) on 300 elements by three
  methods, and 300 steps of shooting.

    python benchmarks/bench_inequalities.py [--methods | --stages] [--json] [--repeats 7] [--large 1000]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
from inequalities_once import by_timefem, case
from shooting import QUADROTOR, Shooting

import timefem as tf
from timefem.cases import CASES

OWN_FILE, SHOOTING_FILE = (Path(__file__).with_name(name) for name in ("inequalities_once.py", "shooting.py"))
METHODS = "interior-point", "ipopt", "fatrop"
SIZES = {"cart-pole-limited": 80, "speed-limit": 60, "robot-arm-time": 100, "two-link-arm-time": 60}  # one program
LARGE = "cart-pole-limited", "robot-arm-time", "speed-limit"
# of IPOPT on many elements: by its default, what products of slacks and multipliers are left adds up over these, and
# moves objectives by 5e-7 to 9e-7 on 10^4 elements
TIGHT = 1e-11
# steps of shooting, and the converged objective: published, or by both codes on 1000 and more
SHOOTING = {"cart-pole-limited": (80, 59.19148), "reorientation-time": (200, 28.6304077),
            "robot-arm-time": (100, 9.14091), "container-crane": (60, 5.1505e-3)}
STAGES = "quadrotor", 300
COARSER = 1, 0.9, 0.8, 0.7, 0.6, 0.5  # grids of shooting over the one that sets the error
MESHES = {1: (40, 60, 80, 100, 120, 150, 200, 250, 300, 350, 400, 500),
          2: (10, 16, 20, 24, 32, 40, 48, 64, 80, 100, 120), 3: (8, 12, 16, 20, 24, 32, 40, 48, 64, 80),
          4: (6, 8, 10, 12, 16, 20, 24, 32, 40)}


def quadrotor():
    q = QUADROTOR
    frame = tf.RigidBody(1.0, q["inertia"], name="frame")
    rotors = [tf.Thruster(frame, point=point, drag=drag, name=f"rotor {i}") for i, (point, drag) in enumerate((
        ((q["arm"], 0, 0), q["drag"]), ((-q["arm"], 0, 0), q["drag"]), ((0, q["arm"], 0), -q["drag"]),
        ((0, -q["arm"], 0), -q["drag"])))]
    return tf.OptimalControl(tf.System([frame], gravity=(0, 0, -9.81)), {frame: tf.Pose()}, {frame: tf.Pose(q["to"])},
                             (0, q["t_end"]), [tf.Effort(r) for r in rotors],
                             bounds={r: (0, q["limit"]) for r in rotors})


def median(runs):
    return {"objective": runs[0][0], "seconds": float(np.median([s for _, s, _ in runs])), "iterations": runs[0][2]}


def in_turns(candidates, repeats):
    """Objective, median seconds and iterations of each, after a run that does not count."""
    runs = {key: [] for key in candidates}
    for i in range(repeats + 1):
        for key, run in candidates.items():
            found = run()
            if i:
                runs[key].append(found)
    return {key: median(r) for key, r in runs.items()}


def coarsest(name, solver, n, value, target):
    """Shooting with the fewest steps whose error, and that of all finer grids that were tried, is no larger."""
    best = None
    for share in COARSER:
        shooting = Shooting(name, round(share * n), solver)
        objective, _, _ = shooting()
        if objective is None or abs(objective - value) > target:
            break
        best = round(share * n), shooting
    return best or (n, Shooting(name, n, solver))


def at_equal_error(name, repeats):
    """The cheapest mesh of timefem whose error, and that of all finer ones that were tried, is no larger than that of
    shooting; shooting on the coarsest such grid; and all three in turns."""
    n, value = SHOOTING[name]
    solvers = "ipopt", "fatrop"
    found = [Shooting(name, n, solver)()[0] for solver in solvers]
    target = max(abs(x - value) for x in found if x is not None)
    shooting = {solver: coarsest(name, solver, n, value, target) for solver in solvers}
    problem, guess = case(name)
    good = []
    for degree, sizes in MESHES.items():
        for size in reversed(sizes):
            by_timefem(problem, degree, size, guess)
            objective, seconds, _ = by_timefem(problem, degree, size, guess)
            if objective is None or abs(objective - value) > target:
                break
            good.append((min(seconds, by_timefem(problem, degree, size, guess)[1]), degree, size))
    if not good:
        return {"case": name, "error": target / value, "steps": n, "mesh": None}
    _, degree, size = min(good)
    runs = in_turns({"timefem": lambda: by_timefem(problem, degree, size, guess)} |
                    {f"RK4, {solver}": run for solver, (_, run) in shooting.items()}, repeats)
    once = {f"RK4, {solver}": (SHOOTING_FILE, name, steps, solver) for solver, (steps, _) in shooting.items()}
    for key, arguments in {"timefem": (OWN_FILE, name, degree, size), **once}.items():
        runs[key]["first"] = float(np.median([in_new_process(*arguments) for _ in range(3)]))
    for solver, (steps, _) in shooting.items():
        runs[f"RK4, {solver}"]["steps"] = steps
    return {"case": name, "error": target / value, "steps": n, "mesh": (degree, size),
            "own error": abs(runs["timefem"]["objective"] - value) / value, **runs}


def in_new_process(*arguments):
    """Seconds of the processor of a process that solves once, from its start to its end, sources compiled before as
    they are where packages are installed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *map(str, arguments)], check=True, capture_output=True,
                   env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_one_program(name, n, repeats, methods):
    problem = CASES[name].make()
    runs = in_turns({key: lambda m=m: by_timefem(problem, 2, n, method=m) for key, m in methods.items()}, repeats)
    return {"case": name, "n_elements": n, **runs}


def in_stages(repeats):
    name, n = STAGES
    problem = quadrotor()
    runs = in_turns({m: lambda m=m: by_timefem(problem, 1, n, method=m) for m in METHODS} |
                    {f"RK4, {solver}": Shooting(name, n, solver) for solver in ("ipopt", "fatrop")}, repeats)
    return {"case": name, "n_elements": n, **runs}


def main(repeats=7, methods=False, large=None, cases=SHOOTING, stages=False):
    """Results per case, of the comparison at equal error or of methods: dict of objective, seconds and iterations."""
    if stages:
        return [in_stages(repeats)]
    if not methods:
        return [at_equal_error(name, repeats) for name in cases]
    if large:
        return [of_one_program(name, large, repeats, {METHODS[0]: None, "ipopt": tf.Ipopt(tolerance=TIGHT)})
                for name in LARGE]
    return [of_one_program(name, n, repeats, dict(zip(METHODS, METHODS, strict=True))) for name, n in SIZES.items()]


def report(results):
    for r in results:
        own = r.get("timefem") or r.get("interior-point")
        if own is None:
            print(f"{r['case']}: no mesh of timefem with the error of {r['steps']} steps of RK4, {r['error']:.1e}")
            continue
        what = f"{r['n_elements']} elements, interior-point" if "n_elements" in r else \
            f"error {r['error']:.1e} ({r['steps']} steps), timefem mG({r['mesh'][0]}), {r['mesh'][1]} elements"
        first = f"; first {own['first']:.2f} s" if "first" in own else ""
        print(f"{r['case']}, {what}: {own['seconds'] * 1e3:.1f} ms ({own['iterations']} iterations{first}), "
              f"objective {own['objective']:.8g}")
        for key, other in r.items():
            if not isinstance(other, dict) or other is own:
                continue
            first = f"; first {other['first']:.2f} s, ratio {other['first'] / own['first']:.2f}" if first else ""
            apart = "failed" if other["objective"] is None else \
                f"objective apart by {abs(other['objective'] - own['objective']) / own['objective']:.1e}"
            steps = f", {other['steps']} steps" if "steps" in other else ""
            print(f"    {key}{steps}: {other['seconds'] * 1e3:.1f} ms, ratio {other['seconds'] / own['seconds']:.2f}, "
                  f"{other['iterations']} iterations, {apart}{first}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--methods", action="store_true", help="three methods on one program")
    parser.add_argument("--stages", action="store_true", help="a quadrotor in 300 stages")
    parser.add_argument("--large", type=int, help="elements of a comparison of methods")
    parser.add_argument("--cases", nargs="+", choices=SHOOTING, default=list(SHOOTING))
    arguments = parser.parse_args()
    results = main(arguments.repeats, arguments.methods, arguments.large, arguments.cases, arguments.stages)
    print(json.dumps(results)) if arguments.json else report(results)
