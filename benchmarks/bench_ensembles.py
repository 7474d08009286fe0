"""Prepared solvers and ensembles against bare marches and bare Newton iterations.

    python benchmarks/bench_ensembles.py [--quick] [--json]

Seconds of the processor, of all threads, so that other work on the machine does not count. A bare march is the
compiled loop alone, called with all that it takes at hand; a second solve is `solver.solve(start=...)`, which checks
the start, marches, and audits the motion; what is prescribed is made before. Newton iterations are those of the
nonlinear method, with all that it does; besides stands the ratio to the assembly and the linear solves alone. Of an
ensemble the bare marches are those of all its runs, which differ in their states at the start, or in the mass of the
body. Medians of several turns.
"""

import time
from unittest import mock

import numpy as np
from _common import interleaved, quick_or_json

import timefem as tf
from timefem.problems.boundary import solver as solver_of_boundary
from timefem.problems.optimal.strategies import mesh_sequence
from timefem.solvers.march import march
from timefem.solving.many_runs import cores

GOALS = {"second solve": 1.2, "ensemble": 1.3, "sweep": 1.3, "boundary": 1.1, "optimal": 1.1}


class Clock:
    """Seconds of the processor while a compiled loop runs, of all threads that run it."""

    def __init__(self, own):
        self.seconds, self.own = 0.0, own

    def __call__(self, *arguments):
        start = time.thread_time()
        found = self.own(*arguments)
        self.seconds += time.thread_time() - start
        return found


def clocked(solve, room, name):
    """Seconds of a solve, and of the compiled loop of that name in it."""
    clock = Clock(getattr(room, name))
    setattr(room, name, clock)
    try:
        start = time.process_time()
        solve()
        return time.process_time() - start, clock.seconds
    finally:
        setattr(room, name, clock.own)


def free_body():
    body = tf.RigidBody(12, (5, 26, 29), name="box")
    return tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=(0, 5, 1))}, (0, 1))


def starts(n):
    problem, rng = free_body(), np.random.default_rng(0)
    body = problem.system.bodies[0]
    return np.array([np.concatenate(body.state(tf.Pose(angular_velocity=rng.uniform(-5, 5, 3)))) for _ in range(n)])


def second_solves(degree, n_elements, repeats):
    """Medians of a second solve and of its march; and of a fresh solve."""
    problem = free_body()
    solver, z = tf.prepare(problem, tf.MixedGalerkin(degree), n_elements, progress=False), starts(repeats + 1)
    solver.solve(start=z[-1])
    whole, bare = np.array([clocked(lambda i=i: solver.solve(start=z[i]), march, "march_elements")
                            for i in range(repeats)]).T
    fresh, = interleaved(lambda: tf.solve(problem, tf.MixedGalerkin(degree), n_elements, progress=False),
                         repeats=max(3, repeats // 50))
    return {"what": f"second solve, mG({degree}), {n_elements} elements", "seconds": float(np.median(whole)),
            "bare": float(np.median(bare)), "ratio": float(np.median(whole / bare)), "fresh": fresh,
            "goal": GOALS["second solve"]}


def ensemble(what, n_runs, n_elements, repeats, **runs):
    """All runs on all threads, over their marches there."""
    solver, n = tf.prepare(free_body(), tf.MixedGalerkin(2), n_elements), cores()

    def solve(n_workers):
        found = solver.solve_many(**runs, n_workers=n_workers, progress=False)
        assert found.success.all()

    solve(n)
    whole, bare = np.array([clocked(lambda: solve(n), march, "march_run") for _ in range(repeats)]).T
    return {"what": f"{what}, {n_runs} free bodies, mG(2), {n_elements} elements, {n} threads",
            "seconds": float(np.median(whole)), "bare": float(np.median(bare)),
            "ratio": float(np.median(whole / bare)), "goal": GOALS[what]}


def turned(angle):
    return np.cos(angle / 2), 0, np.sin(angle / 2), 0


def boundary(n_elements, repeats):
    body = tf.RigidBody(1, (1, 2, 3), name="box")
    problem = tf.BoundaryValueProblem(tf.System([body]), (0, 1), {body: tf.Pose()},
                                      {body: tf.Pose((1, 0, 0.5), turned(1.2))})
    solver = tf.prepare(problem, tf.MixedGalerkin(2), n_elements, progress=False)
    return _global(solver, lambda i: {body: tf.Pose((1, 0, 0.5), turned(1.2 + 0.01 * i))}, n_elements, repeats,
                   "boundary", (solver_of_boundary, "newton_with_homotopy"))


def optimal(n_elements, repeats):
    body = tf.RigidBody(1, (1, 2, 3), name="box")
    wheels = tf.ControlTorque(body, name="wheels")

    def end(angle):
        return {body: tf.EndState(orientation=turned(angle), angular_velocity=(0, 0, 0))}

    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end(1.2), (0, 2), tf.Effort(wheels))
    solver = tf.prepare(problem, tf.MixedGalerkin(2), n_elements, progress=False)
    return _global(solver, lambda i: end(1.2 + 0.01 * i), n_elements, repeats, "optimal",
                   (mesh_sequence.saddle_point, "solve_saddle"))


def _global(solver, end, n_elements, repeats, kind, method):
    """A second solve over its Newton iterations, and over the assembly and the linear solves in these."""
    ends, rows = [end(i) for i in range(5)], []
    solver.solve(end=ends[0])
    for i in range(repeats):
        with mock.patch("time.perf_counter", time.process_time):  # by which solutions tell their seconds
            found = []
            whole, iterations = clocked(lambda i=i, found=found: found.append(solver.solve(end=ends[i % 5])), *method)
        seconds = found[0].statistics["seconds"]
        rows.append((whole, iterations, seconds["assemble"] + seconds["solve"]))
    whole, iterations, linear = np.array(rows).T
    return {"what": f"second solve, {kind} values" * (kind == "boundary") + "second solve, optimal control" * (
        kind == "optimal") + f", {n_elements} elements", "seconds": float(np.median(whole)),
        "bare": float(np.median(iterations)), "ratio": float(np.median(whole / iterations)), "goal": GOALS[kind],
        "over assembly and linear solves": float(np.median(whole / linear))}


def ensembles(n_runs, repeats):
    return [ensemble("ensemble", n_runs, 100, repeats, starts=starts(n_runs)),
            ensemble("sweep", n_runs, 100, repeats, parameters={"box.mass": np.linspace(11, 13, n_runs)})]


def main(quick):
    n = 200 if quick else 600
    found = [second_solves(degree, elements, n) for degree, elements in ((1, 100), (2, 100), (3, 100), (2, 1000))]
    found += ensembles(1000 if quick else 10_000, 3)
    found += [boundary(elements, 5 if quick else 15) for elements in (200, 2000)]
    return found + [optimal(elements, 5 if quick else 15) for elements in (200, 2000)]


def show(results):
    for r in results:
        verdict = "holds" if r["ratio"] <= r["goal"] else "missed"
        fresh = "".join(f", {name} {r[name]:.2f}" for name in r if name.startswith("over"))
        fresh += f", fresh {r['fresh']:.4f} s" if "fresh" in r else ""
        print(f"{r['what']}: {r['seconds']:.4f} s over {r['bare']:.4f} s: {r['ratio']:.2f} "
              f"(goal {r['goal']}: {verdict}){fresh}")


if __name__ == "__main__":
    quick_or_json(__doc__, main, show)
