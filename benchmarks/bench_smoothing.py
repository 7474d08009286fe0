"""Smoothing of a UR5 with its dynamics: encoders of six joints at 500 Hz, with all standard deviations.

    python benchmarks/bench_smoothing.py                       # 2.5, 5 and 10 s
    python benchmarks/bench_smoothing.py --seconds 10 --json

Seconds are those of the processor, the least of some runs; the first one, which compiles, does not count.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

import timefem as tf

RATE, SIGMA = 500.0, 1e-3
ROBOT = Path(__file__).parents[1] / "tests" / "data" / "robots" / "ur5.json"
WAVES = np.array([0.5, 0.4, 0.6, 0.3, 0.5, 0.4]), np.array([2, 3, 2.5, 4, 3, 5.0])


def problem_of(seconds):
    """Angles that swing, with noise of the encoders, and unknown torques of the motors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ur5.urdf"
        path.write_text(json.loads(ROBOT.read_text())["urdf"])
        robot = tf.read_urdf(path)
    system = robot.system(gravity=(0, 0, -9.81))
    tree, (size, rate) = system.bodies[0], WAVES
    t = np.arange(1, round(seconds * RATE) + 1) / RATE
    angles = size * np.sin(np.outer(t, rate)) + SIGMA * np.random.default_rng(0).standard_normal((len(t), 6))
    sensors = [tf.JointSensor(tree.joint(name), times=t, values=angles[:, i], sigma=SIGMA, name=name)
               for i, name in enumerate(tree.moving_joints)]
    prior = {tree: tf.StatePrior(tf.Coordinates(np.zeros(6), size * rate), q=0.1, v=1.0)}
    noise = {tree: [400.0] * 3 + [10.0] * 3}
    return tf.Estimation(system, sensors, noise=noise, prior=prior, t_span=(0, seconds)), tree


def measured(seconds, repeats):
    """Seconds of the solve and of all covariances, and the error of the angles found."""
    problem, tree = problem_of(seconds)
    runs = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        sol = tf.solve(problem, tf.MixedGalerkin(1), 1, progress=False)
        middle = time.process_time()
        sol.std(tree.joint(tree.moving_joints[0]), [seconds / 2])
        runs.append((middle - begin, time.process_time() - middle))
    fit, covariance = np.min(runs[1:], axis=0)
    off = sol.z[:, :6] - WAVES[0] * np.sin(np.outer(sol.t, WAVES[1]))
    return {"fit": fit, "covariance": covariance, "success": sol.success, "error": float(np.sqrt(np.mean(off**2)))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[2.5, 5.0, 10.0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    out = {seconds: measured(seconds, given.repeats) for seconds in given.seconds}
    if given.json:
        print(json.dumps(out))
    else:
        for seconds, one in out.items():
            print(seconds, one)


if __name__ == "__main__":
    main()
