"""The right-angle cantilever over 30 s against Exudyn, side by side: error of the tip and processor time.

Exudyn (`pip install exudyn`; its fast build): two-node geometrically exact beams with Euler parameters, clamped and
joined at the elbow by generic joints, index-3 generalized-alpha of spectral radius 0.9 with modified Newton iterations,
relative tolerance 1e-6 (its default 1e-8 fails), the sparse solver. timefem: mG(k) with k Gauss
points on elements of degree p. One thread each.

The error is the largest distance of the tip, at 0.5, 1, ..., 30 s, to a fine solution by timefem (10 elements of degree
4 per leg, mG(2), 1200 elements of time), whose own error against a coarser one is printed. Times are those of the whole
`tf.solve`, kernels compiled before, and of Exudyn's `SolveDynamic`.

    python benchmarks/bench_cantilever.py [--quick] [--json]

`--quick` stops at 5 s.
"""

import os
import statistics
import sys
import time
from itertools import pairwise

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.exudynFast = True

import numpy as np  # noqa: E402
from _common import quick_or_json  # noqa: E402
from bench_exudyn import peer  # noqa: E402

import timefem as tf  # noqa: E402
from timefem.cases import find_case  # noqa: E402

T_END = 30.0
EVERY = 0.5  # s between the times that are compared
PEERS = (10, 0.05), (20, 0.025)  # elements per leg, step [s]
# elements, degree; degree and step in time
OURS = (3, 2, 1, 0.0625), (2, 3, 1, 0.0625), (3, 3, 2, 0.05), (2, 4, 3, 0.1), (5, 3, 2, 0.025)
FINE, CHECK = (10, 4, 2, 0.025), (5, 4, 2, 0.025)


def tip_by_exudyn(n, h, t_end):
    """Seconds, and places of the tip."""
    exu = peer()
    from exudyn import itemInterface as items

    container = exu.SystemContainer()
    mbs, section = container.AddSystem(), exu.BeamSection()
    section.stiffnessMatrix = np.diag([1e6, 1e6, 1e6, 1e3, 1e3, 1e3])
    section.inertia, section.massPerLength = np.diag([20.0, 10.0, 10.0]), 1.0
    along_x, along_y = [1.0, 0, 0, 0], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    legs = []
    for places, turn in (([[10 * i / n, 0, 0] for i in range(n + 1)], along_x),
                         ([[10, 10 * i / n, 0] for i in range(n + 1)], along_y)):
        nodes = [mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*p, *turn])) for p in places]
        for pair in pairwise(nodes):
            mbs.AddObject(items.ObjectBeamGeometricallyExact(nodeNumbers=list(pair), physicsLength=10 / n,
                                                             sectionData=section))
        legs.append([mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=node)) for node in nodes])
    ground = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=mbs.AddNode(items.NodePointGround())))
    quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[ground, legs[0][0]]))
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[legs[0][-1], legs[1][0]], rotationMarker0=quarter))

    def load(mbs, t, vector):
        return [0, 0, 50 * max(0.0, min(t, 2 - t))]

    mbs.AddLoad(items.LoadForceVector(markerNumber=legs[0][-1], loadVector=[0, 0, 1], loadVectorUserFunction=load))
    tip = mbs.AddSensor(items.SensorNode(nodeNumber=nodes[-1], outputVariableType=exu.OutputVariableType.Position,
                                         storeInternal=True))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    march = settings.timeIntegration
    march.numberOfSteps, march.endTime, march.verboseMode = round(t_end / h), t_end, 0
    march.generalizedAlpha.spectralRadius = 0.9
    march.newton.useModifiedNewton, march.newton.relativeTolerance = True, 1e-6
    settings.linearSolverType = exu.LinearSolverType.EigenSparse
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = EVERY
    start = time.process_time()
    mbs.SolveDynamic(settings)
    seconds = time.process_time() - start
    return seconds, np.array(mbs.GetSensorStoredData(tip))[1:, 1:4]


def tip_by_timefem(n, p, k, h, t_end):
    problem = find_case("right-angle-cantilever").make(t_end=t_end, elements_space=n, degree_space=p)
    start = time.process_time()
    sol = tf.solve(problem, tf.MixedGalerkin(k, n_points=k), round(t_end / h), progress=False)
    seconds = time.process_time() - start
    assert sol.success, sol.status.message
    return seconds, sol.position("tip", np.arange(1, round(t_end / EVERY) + 1) * EVERY)


def main(quick=False):
    t_end, repeats = (5.0, 1) if quick else (T_END, 3)
    fine, check = (tip_by_timefem(*what, t_end)[1] for what in (FINE, CHECK))

    def error(places):
        return float(np.linalg.norm(places - fine, axis=1).max())

    candidates = {f"Exudyn, {n} elements, h = {h:g}": (tip_by_exudyn, n, h) for n, h in PEERS}
    candidates |= {f"timefem, {n} elements of degree {p}, mG({k}), h = {h:g}": (tip_by_timefem, n, p, k, h)
                   for n, p, k, h in OURS}
    runs = {name: [] for name in candidates}
    for n, p, k, _ in OURS:
        tip_by_timefem(n, p, k, 0.05, 1.0)  # compiles what is not on disk
    for _ in range(repeats):
        for name, (run, *what) in candidates.items():
            runs[name].append(run(*what, t_end))
    rows = [{"what": name, "seconds": statistics.median(s for s, _ in found), "error": error(found[0][1])}
            for name, found in runs.items()]
    return {"t_end": t_end, "error of the reference": error(check), "rows": rows}


def show(result):
    print(f"{result['t_end']:g} s; the reference is within about {result['error of the reference']:.1e} m")
    for row in result["rows"]:
        print(f"  {row['what']:<48} {row['seconds']:8.2f} s   error {row['error']:.1e} m")
    theirs = [row for row in result["rows"] if row["what"].startswith("Exudyn")]
    ours = [row for row in result["rows"] if row["what"].startswith("timefem")]
    last = theirs[-1]
    for bound, goal in ((last["error"], 10.0), (1e-3, 1.0)):
        best = min((row for row in ours if row["error"] <= bound), key=lambda row: row["seconds"], default=None)
        if best is None:
            print(f"  no mesh of timefem's has an error of {bound:.1e} m")
            continue
        ratio = last["seconds"] / best["seconds"]
        print(f"  error {bound:.1e} m: {ratio:.1f} times faster than {last['what']} (goal {goal:g}: "
              f"{'holds' if ratio >= goal else 'missed'})")


if __name__ == "__main__":
    quick_or_json(__doc__, main, show)
