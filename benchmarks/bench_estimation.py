"""Inverse kinematics of a whole motion with closed loops, with its covariance, beside SciPy and OpenSim.

    python benchmarks/bench_estimation.py                      # 225 to 3600 frames, 40 coordinates, 38 markers, 3 loops
    python benchmarks/bench_estimation.py --frames 900 1800 --json
    python benchmarks/bench_estimation.py --opensim PYTHON     # the one of an environment where the wheel is installed

Data are places of markers in the plane with 3 mm of noise at 100 Hz. Beside it, on the same data: `least_squares` of
SciPy frame by frame, loops as penalties of 1 um, without a covariance, each frame from the one before (a sample of
them), and on the whole motion of an open chain, sparse. OpenSim solves the same tree, frame by frame, with point
constraints as loops.
Seconds are those of the processor: the machine may be shared.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import casadi as ca
import numpy as np
import scipy

import timefem as tf
from timefem.problems.estimation.kinematic.geometry import Geometry, Tangents

SIGMA, NOISE, RATE, LENGTH = 0.003, 50.0, 100.0, 0.3
POINT = np.array([0.25, 0.05, 0.0])
LOOPS = 1e-6


def figure(n, n_loops, seed=0):
    """A planar tree of n hinges with loops between ends of links: system, tree, posture and pins (i, point, j)."""
    rng = np.random.default_rng(seed)
    parents = [0] + [int(rng.integers(max(0, i - 4), i)) + 1 for i in range(1, n)]
    links = [tf.Link("ground")] + [tf.Link(f"link{i}", mass=1, centre=(0.15, 0, 0), inertia=(0.01, 0.01, 0.01))
                                   for i in range(n)]
    joints = [tf.TreeJoint(f"joint{i}", links[p].name, f"link{i}", axis=(0, 0, 1), position=(LENGTH * (i > 0), 0, 0))
              for i, p in enumerate(parents)]
    tree, q = tf.Tree(links, joints, name="figure"), rng.uniform(-0.6, 0.6, n)

    def ancestors(i):
        return {i} | (ancestors(parents[i] - 1) if parents[i] else set())

    pins = []
    while len(pins) < n_loops:
        i, j = sorted(rng.choice(n, 2, replace=False).tolist())
        if len(ancestors(i) ^ ancestors(j)) < 5:
            continue
        (place, turn), (other, turned) = tree.link_pose(f"link{i}", q), tree.link_pose(f"link{j}", q)
        pins.append((i, turn.T @ (other + turned @ [LENGTH, 0, 0] - place), j))
    loops = [tf.Constraint([tree.link(f"link{i}"), tree.link(f"link{j}")],
                           lambda f, t, c: f[0].point(c)[:2] - f[1].point([LENGTH, 0, 0])[:2], 2, parameters=point,
                           name=f"loop{k}") for k, (i, point, j) in enumerate(pins)]
    return tf.System([tree, *loops]), tree, q, parents, pins


def motion(system, start, t, seed=1):
    """A path of all joints that closes the loops, shape (n_frames, n)."""
    rng, n, geometry = np.random.default_rng(seed), len(start), Geometry(system, 2)
    waves = [(rng.uniform(-0.05, 0.05, n), rng.uniform(0.2, 1.0, n), rng.uniform(0, 6, n)) for _ in range(3)]
    q = start + sum(a * np.sin(2 * np.pi * f * t[:, None] + p) for a, f, p in waves)
    for _ in range(8 * (geometry.n_rows > 0)):
        x = np.stack([q, 0 * q], axis=1)
        q = q.copy()
        q[:, geometry.touched] += Tangents(geometry, np.ones(geometry.n_increments), x, t).shift[:, 0]
    return q


def markers(tree, q, t, count, seed=2):
    rng, found = np.random.default_rng(seed), []
    for i in range(len(q[0]) - count, len(q[0])):
        link = tree.link(f"link{i}")
        own = q[:, link.dofs]
        places = (link.position(own) + link.rotation_matrix(own) @ POINT)[:, :2]
        places = places + SIGMA * rng.standard_normal(places.shape)
        found.append(tf.Marker(link, POINT, axes="xy", times=t, values=places, sigma=SIGMA, name=f"marker{i}"))
    return found


def ours(system, tree, start, sensors):
    """Seconds of the fit, and of all covariances besides; the solution."""
    prior = {tree: dict(zip(tree.joint_names, start, strict=True))}
    begin = time.process_time()
    problem = tf.Estimation(system, sensors, noise=NOISE, prior=prior, dynamics="none")
    sol = tf.solve(problem, tf.MixedGalerkin(2), progress=False)
    middle = time.process_time()
    sol.std("joint3")
    return middle - begin, time.process_time() - middle, sol


def frame_by_frame(tree, start, sensors, pins, frames):
    """Seconds of SciPy for one frame, the mean of some."""
    n = tree.n_q
    x = ca.SX.sym("q", n)
    rows = [(tree.link(s.body.address[1]).frame(x[s.body.dofs.tolist()]), s) for s in sensors]
    places = ca.vertcat(*((p + r @ ca.DM(POINT))[:2] for (p, r), _ in rows)) / SIGMA
    ends = [[tree.link(f"link{k}").frame(x[tree.link(f"link{k}").dofs.tolist()]) for k in (i, j)] for i, _, j in pins]
    gaps = [((a[0] + a[1] @ ca.DM(point)) - (b[0] + b[1] @ ca.DM([LENGTH, 0, 0])))[:2] / LOOPS
            for (a, b), (_, point, _) in zip(ends, pins, strict=True)]
    whole = ca.vertcat(places, *gaps)
    value, slope = ca.Function("r", [x], [whole]), ca.Function("j", [x], [ca.densify(ca.jacobian(whole, x))])
    q, begin = start, time.process_time()
    for k in range(frames):
        y = np.concatenate([np.concatenate([s.values[k] for s in sensors]) / SIGMA, np.zeros(2 * len(pins))])
        q = scipy.optimize.least_squares(lambda q, y=y: np.array(value(q)).ravel() - y,
                                         q, lambda q: np.array(slope(q)), method="lm").x
    return (time.process_time() - begin) / frames


def whole_by_scipy(sensors, tree, t, start):
    """Seconds of SciPy for a whole motion of an open chain, sparse, and its coordinates."""
    n, frames = tree.n_q, len(t)
    x = ca.SX.sym("q", n)
    rows = [tree.link(s.body.address[1]).frame(x[s.body.dofs.tolist()]) for s in sensors]
    places = ca.vertcat(*((p + r @ ca.DM(POINT))[:2] for p, r in rows)) / SIGMA
    value = ca.Function("r", [x], [places]).map(frames)
    slope = ca.Function("j", [x], [ca.densify(ca.jacobian(places, x))]).map(frames)
    y = np.concatenate([s.values for s in sensors], axis=1) / SIGMA
    h = t[1] - t[0]
    root = np.linalg.inv(np.linalg.cholesky(NOISE * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])))
    step = scipy.sparse.kron(np.hstack([-root @ [[1, h], [0, 1]], root]), scipy.sparse.eye(n)).tocsr()
    steps = scipy.sparse.vstack([scipy.sparse.hstack([scipy.sparse.csr_array((2 * n, 2 * n * i)), step,
                                                      scipy.sparse.csr_array((2 * n, 2 * n * (frames - 2 - i)))])
                                 for i in range(frames - 1)]).tocsr()

    def residuals(u):
        q = u.reshape(frames, 2, n)[:, 0]
        return np.concatenate([(np.array(value(q.T)).T - y).ravel(), steps @ u])

    def jacobian(u):
        q = u.reshape(frames, 2, n)[:, 0]
        blocks = np.array(slope(q.T)).reshape(y.shape[1], frames, n).swapaxes(0, 1)
        wide = np.concatenate([blocks, np.zeros_like(blocks)], axis=2)
        return scipy.sparse.vstack([scipy.sparse.block_diag(list(wide)), steps]).tocsr()

    guess = np.zeros((frames, 2, n))
    guess[:, 0] = start
    begin = time.process_time()
    found = scipy.optimize.least_squares(residuals, guess.ravel(), jacobian, tr_solver="lsmr", x_scale="jac",
                                         xtol=1e-12, ftol=1e-12, gtol=1e-12)
    return time.process_time() - begin, found.x.reshape(frames, 2, n)


def opensim_seconds(python, parents, pins, sensors, start, t):
    """Seconds of OpenSim's inverse kinematics for a frame, in a process of its own: it brings its own CasADi."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.trc"
        head = "\t".join(f"{s.name}\t\t" for s in sensors)
        lines = ["PathFileType\t4\t(X/Y/Z)\tmotion.trc",
                 "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
                 f"{RATE}\t{RATE}\t{len(t)}\t{len(sensors)}\tm\t{RATE}\t1\t{len(t)}", f"Frame#\tTime\t{head}",
                 "\t\t" + "\t".join(f"X{k}\tY{k}\tZ{k}" for k in range(1, len(sensors) + 1)), ""]
        for k, now in enumerate(t):
            places = (f"{v:.8f}" for s in sensors for v in (*s.values[k], 0))
            lines.append("\t".join([str(k + 1), f"{now:.5f}", *places]))
        path.write_text("\n".join(lines) + "\n")
        model = {"parents": parents, "pins": [[i, list(point), j] for i, point, j in pins], "start": list(start),
                 "markers": [s.name for s in sensors], "point": list(POINT), "length": LENGTH,
                 "t": [float(t[0]), float(t[-1])], "folder": folder}
        peer = Path(__file__).with_name("opensim_peer.py")
        answer = subprocess.run([python, str(peer)], input=json.dumps(model), text=True, capture_output=True,
                                check=True)
        return float(answer.stdout.split()[-1]) / len(t)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, nargs="+", default=[225, 450, 900, 1800, 3600])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sample", type=int, default=60, help="frames that the others solve")
    parser.add_argument("--opensim", nargs="?", const=sys.executable, metavar="PYTHON")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    system, tree, start, parents, pins = figure(40, 3)
    out = {"frames": {}}
    for frames in given.frames:
        t = np.arange(frames) / RATE
        q = motion(system, start, t)
        sensors = markers(tree, q, t, 38)
        runs = [ours(system, tree, start, sensors) for _ in range(given.repeats)]
        sol = runs[-1][2]
        out["frames"][frames] = {
            "fit": min(r[0] for r in runs), "covariance": min(r[1] for r in runs),
            "iterations": int(sol.statistics["newton_iterations"]["max"]),
            "loops": float(np.abs(system.constraints(sol.t, sol.z)[:, :6]).max()),
            "error": float(np.sqrt(np.mean((sol.q - q)**2)))}
        if not given.json:
            print(frames, out["frames"][frames], flush=True)
    if len(given.frames) > 1:
        log = np.log([[f, r["fit"] + r["covariance"]] for f, r in out["frames"].items()])
        out["exponent"] = float(np.polyfit(log[:, 0], log[:, 1], 1)[0])
    t = np.arange(given.sample) / RATE
    sensors = markers(tree, motion(system, start, t), t, 38)
    out["SciPy, a frame"] = frame_by_frame(tree, start, sensors, pins, given.sample)
    open_system, open_tree, start, *_ = figure(12, 0)
    q = motion(open_system, start, t)
    few = markers(open_tree, q, t, 12)
    seconds, x = whole_by_scipy(few, open_tree, t, start)
    *_, sol = ours(open_system, open_tree, start, few)
    own = min(ours(open_system, open_tree, start, few)[0] for _ in range(given.repeats))
    out["open chain, SciPy over ours"] = seconds / own
    out["open chain, difference"] = float(np.abs(sol.q - x[:, 0]).max())
    if given.opensim:
        *_, start, parents, pins = figure(40, 3)
        out["OpenSim, a frame"] = opensim_seconds(given.opensim, parents, pins, sensors, start, t)
        out["OpenSim, a frame, no loops"] = opensim_seconds(given.opensim, parents, [], sensors, start, t)
    print(json.dumps(out) if given.json else "\n".join(f"{k}: {v}" for k, v in out.items() if k != "frames"))


if __name__ == "__main__":
    main()
