"""Processor time at equal error against Exudyn, on a double pendulum, a loaded four-bar loop and a chain of 20 bodies.

Exudyn (`pip install exudyn`; its fast build) runs the same bodies, joints and loads with its defaults: index-3
generalized-alpha of spectral radius 0.9, Euler parameters, modified Newton with relative tolerance 1e-8; only output is
off, and the better of its dense and sparse linear solvers counts. Loads are symbolic functions, evaluated in C++.
timefem marches mG(1), mG(2) and mG(3) with its defaults, and the best of them counts. Both use one thread.

The error is the distance of the centre of the last body, at the end, to a fine solution by mG(4). "same mechanism"
is the distance of that solution to the two finest runs of Exudyn, extrapolated. Times are those of the steps alone,
interpolated in a log-log diagram of doubled step numbers; solvers are initialized before (Exudyn), or prepared
(timefem, as by `tf.prepare`). "set-up" runs from nothing through a first step, in a fresh process after the imports:
for timefem its kernels are compiled then, if they are not on disk.

    python benchmarks/bench_exudyn.py [--quick] [--json] [--points]
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.exudynFast = True

import numpy as np  # noqa: E402
from _common import PreparedMarch, exudyn_steps, time_at  # noqa: E402
from bench_chain_of_bodies import chain  # noqa: E402

import timefem as tf  # noqa: E402
from timefem.cases import mechanisms  # noqa: E402

TARGETS = {1e-3: 1.0, 1e-6: 5.0}  # error [m]: goal for the time of Exudyn over that of timefem
SOLVERS = ("EXUdense", "EigenSparse")
DEGREES = (1, 2, 3)
REFERENCE = tf.MixedGalerkin(4), 128
FINEST = 2**15  # steps

# name: problem of t_end, and t_end [s]
MECHANISMS = {"double pendulum": (mechanisms.double_pendulum, 1.0), "four-bar": (mechanisms.four_bar, 2.0),
              "chain of 20": (lambda t_end: chain(20, t_end=t_end), 1.0)}
SHORT_CHAIN = {"chain of 5": (lambda t_end: chain(5, t_end=t_end), 1.0)}  # instead of the long one in --quick


def peer():
    """The module, or the end of the script with a message."""
    try:
        with contextlib.redirect_stdout(None):  # it tells which build it takes
            import exudyn
    except ImportError:
        print("bench_exudyn.py compares with Exudyn, which is not installed: pip install exudyn")
        raise SystemExit(0) from None  # `make bench` goes on with the others
    return exudyn


def turned_to_z(axis):
    """Rotation matrix whose third column is the axis."""
    z = axis / np.linalg.norm(axis)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


class Timefem(PreparedMarch):
    """A problem marched by mG(k)."""

    coarsest = 4

    def __init__(self, problem, degree):
        super().__init__(problem, tf.MixedGalerkin(degree))

    def run(self, n):
        """Seconds of n elements, and the place of the last body (None when it fails)."""
        seconds, q = self.march(n)
        return seconds, None if q is None else last_place(self.problem, q)


def last_place(problem, q):
    """Centre of the last body, from all coordinates."""
    return problem.system.bodies[-1].position(q[-7:])


class Exudyn:
    """The model of a timefem problem that starts from rest, in Exudyn, with one of its linear solvers."""

    coarsest = 16

    def __init__(self, problem, solver):
        self.exu, self.solver, self.span = peer(), solver, problem.t_span[1]
        self.container = self.exu.SystemContainer()
        self.mbs = mbs = self.container.AddSystem()
        from exudyn import itemInterface as items

        self.items, self.keep = items, []
        self.ground, self.numbers = mbs.AddObject(items.ObjectGround()), {}
        for body, q in zip(problem.system.bodies, problem.z0[:problem.system.n_q].reshape(-1, 7), strict=True):
            node = mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=q.tolist()))
            j = body.inertia
            inertia = [j[0, 0], j[1, 1], j[2, 2], j[1, 2], j[0, 2], j[0, 1]]
            self.numbers[body] = mbs.AddObject(items.ObjectRigidBody(mass=body.mass, inertia=inertia, nodeNumber=node))
        for part in problem.system.parts:
            if part not in self.numbers:
                self.add(part)
        mbs.Assemble()

    def marker(self, body=None, point=(0, 0, 0), axis=None):
        frame = {} if axis is None else {"localHT": self.exu.HT(rotation=turned_to_z(axis), translation=list(point))}
        return self.mbs.AddMarker(self.items.MarkerBodyRigid(
            bodyNumber=self.numbers.get(body, self.ground), localPosition=list(point), **frame))

    def add(self, part):
        """Add one joint or load of the system."""
        items, mbs = self.items, self.mbs
        kind, (a, b) = type(part).__name__, (*part.bodies, None)[:2]
        if kind == "Gravity":
            force = a.mass * part.acceleration
            mbs.AddLoad(items.LoadForceVector(markerNumber=self.marker(a), loadVector=force.tolist()))
        elif kind == "FixedPoint":
            markers = [self.marker(None, part.at), self.marker(a, part.point)]
            mbs.AddObject(items.ObjectJointSpherical(markerNumbers=markers))
        elif kind == "Spherical":
            markers = [self.marker(a, part.point_a), self.marker(b, part.point_b)]
            mbs.AddObject(items.ObjectJointSpherical(markerNumbers=markers))
        elif kind == "Revolute":
            markers = [self.marker(a, part.point_a, part.axis_a), self.marker(b, part.point_b, part.axis_b)]
            mbs.AddObject(items.ObjectJointRevoluteZ(markerNumbers=markers))
        elif kind in ("Force", "Torque"):
            self.add_pulse(part, items.LoadForceVector if kind == "Force" else items.LoadTorqueVector)
        else:
            raise TypeError(f"no counterpart of {part!r}")

    def add_pulse(self, part, load):
        """A constant vector times a triangular pulse, as symbolic function."""
        from exudyn.advancedUtilities import CreateSymbolicUserFunction

        symbolic, p = self.exu.symbolic, part.time
        x, y, z = (float(f.value) for f in part.value)

        def vector(mbs, t, loadVector):  # Exudyn prescribes the names
            rise, fall = (t - p.t0) / (p.t_peak - p.t0), (p.t1 - t) / (p.t1 - p.t_peak)
            f = p.peak * symbolic.max(0, symbolic.min(rise, fall))
            return [x * f, y * f, z * f]

        number = self.mbs.AddLoad(load(markerNumber=self.marker(part.bodies[0])))
        function = CreateSymbolicUserFunction(self.mbs, vector, "loadVectorUserFunction", itemIndex=number)
        self.keep.append(function)  # it has to outlive the load
        self.mbs.SetLoadParameter(number, "loadVectorUserFunction", function)

    def run(self, n):
        """Seconds of n steps, and the place of the last body (None when it fails)."""
        def change(settings):
            settings.linearSolver.solverType = getattr(self.exu.LinearSolverType, self.solver)

        seconds, success = exudyn_steps(self.exu, self.mbs, self.span, n, change)
        place = self.mbs.GetObjectOutputBody(list(self.numbers.values())[-1], self.exu.OutputVariableType.Position)
        return seconds, np.array(place) if success else None


def first_step(mechanism, which, argument):
    """Seconds from nothing through a first short step, in a fresh process; imports and compiled loops apart."""
    peer()
    make, t_end = {**MECHANISMS, **SHORT_CHAIN}[mechanism]
    start = time.process_time()
    problem = make(t_end=t_end / 1000)
    seconds = time.process_time() - start
    start = time.process_time()
    if which == "timefem":
        tf.solve(problem, tf.MixedGalerkin(argument), 1, progress=False)
        return seconds + time.process_time() - start
    Exudyn(problem, argument).run(1)  # its model is made from the timefem problem, which does not count
    return time.process_time() - start


def fresh(*arguments, repeats):
    seconds = []
    for _ in range(repeats):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds.append(pool.apply(first_step, arguments))
    return statistics.median(seconds)


def ladder(method, exact):
    """Step numbers doubled until the smallest error is reached: {n: place or None}."""
    places, n = {}, method.coarsest
    while n <= FINEST:
        places[n] = method.run(n)[1]
        if places[n] is not None and distance(places[n], exact) < min(TARGETS):
            break
        n *= 2
    return places


def distance(place, exact):
    return float(np.linalg.norm(place - exact)) if place is not None else float("nan")


def measure(mechanism, repeats):
    """Results of one mechanism."""
    make, t_end = {**MECHANISMS, **SHORT_CHAIN}[mechanism]
    problem = make(t_end=t_end)
    element, n = REFERENCE
    coarse, exact = (last_place(problem, tf.solve(problem, element, m, progress=False).z[-1, :problem.system.n_q])
                     for m in (n // 2, n))
    methods = {f"Exudyn {solver}": Exudyn(problem, solver) for solver in SOLVERS}
    methods |= {f"timefem mG({degree})": Timefem(problem, degree) for degree in DEGREES}
    places = {name: ladder(method, exact) for name, method in methods.items()}
    seconds = {(name, n): [] for name in methods for n in places[name]}
    for _ in range(repeats):
        for name, n in seconds:
            seconds[name, n].append(methods[name].run(n)[0])
    points = {name: [(n, distance(place, exact), statistics.median(seconds[name, n]))
                     for n, place in places[name].items()] for name in methods}
    peers = list(places[f"Exudyn {SOLVERS[0]}"].values())
    result = {"mechanism": mechanism, "same mechanism": distance((4 * peers[-1] - peers[-2]) / 3, exact),
              "reference": distance(coarse, exact), "rows": [], "points": points}
    for target, goal in TARGETS.items():
        times = {name: time_at(target, *list(zip(*points[name], strict=True))[1:]) for name in methods}
        best = {}
        for side in ("Exudyn", "timefem"):
            reached = {name: t for name, t in times.items() if name.startswith(side) and t is not None}
            best[side] = min(reached.items(), key=lambda item: item[1], default=(f"{side} does not reach it", None))
        ratio = best["Exudyn"][1] / best["timefem"][1] if best["Exudyn"][1] and best["timefem"][1] else None
        result["rows"].append({"error": target, **best, "ratio": ratio, "goal": goal,
                               "holds": None if ratio is None else ratio >= goal, "times": times})
    result["set-up"] = {side: min(fresh(mechanism, side, x, repeats=min(repeats, 3)) for x in options)
                        for side, options in (("Exudyn", SOLVERS), ("timefem", (2,)))}
    return result


def main(quick=False):
    peer()
    names = list(MECHANISMS)
    return [measure(name, 3 if quick else 5) for name in ([*names[:-1], *SHORT_CHAIN] if quick else names)]


def show(results, points):
    for r in results:
        print(f"{r['mechanism']}: same mechanism to {r['same mechanism']:.1e} m, reference to {r['reference']:.1e} m; "
              f"set-up: Exudyn {r['set-up']['Exudyn']:.3f} s, timefem {r['set-up']['timefem']:.3f} s")
        for row in r["rows"]:
            sides = ", ".join(f"{name} {1e3 * t:.3g} ms" if t else name for name, t in (row["Exudyn"], row["timefem"]))
            ratio = "no ratio" if row["ratio"] is None else f"ratio {row['ratio']:.2f}"
            holds = {None: "open", True: "holds", False: "missed"}[row["holds"]]
            print(f"  error {row['error']:.0e} m: {sides}, {ratio}, goal >= {row['goal']:g}: {holds}")
        if points:
            for name, lines in r["points"].items():
                print(f"  {name}: " + ", ".join(f"{n}: {e:.1e} m {1e3 * s:.3g} ms" for n, e, s in lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and a chain of 5")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", action="store_true", help="also show all step numbers, errors and times")
    arguments = parser.parse_args()
    outcome = main(arguments.quick)
    print(json.dumps(outcome).replace("NaN", "null")) if arguments.json else show(outcome, arguments.points)
