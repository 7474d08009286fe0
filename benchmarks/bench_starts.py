"""Random starts of swing-ups, gates and a closed chain: how many the own method solves, and how many IPOPT does.

    python benchmarks/bench_starts.py [--starts 100] [--only acrobot]

Both get the same program and the same start: motions that go aside of the straight one, with controls that wave within
their bounds, by seeds. No further strategies are tried. Printed are how many are solved, how many of them with the
least cost that any found, mean iterations of those solved, and processor time of all.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import casadi as ca
import numpy as np

import timefem as tf
from timefem.problems.optimal.guesses.guess import starts

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "optimal_control"))

from machines import acrobot, double_pendulum_on_cart

SAME = 1e-4  # relative difference of costs of one minimum


def quadrotor_through_gates():
    drone = tf.GeneralizedBody(3, lambda q, v, c: (v[0]**2 + v[1]**2 + 0.1 * v[2]**2) / 2, name="drone")
    rotors = tf.FormulaForce(drone, lambda f, t, c, u: ca.vertcat(
        -(u[0] + u[1]) * ca.sin(f[0].q[2]), (u[0] + u[1]) * ca.cos(f[0].q[2]) - 9.81, 0.3 * (u[1] - u[0])),
        n_controls=2, name="rotors")
    gates = tf.Limit(lambda now, u: ca.vertcat(*(
        (now.q(drone)[1] - height)**2 - (0.12 + 12 * (now.q(drone)[0] - place)**2)**2
        for place, height in ((0.7, 0.6), (1.4, -0.3)))), None, 0, name="gates")
    return tf.OptimalControl(
        tf.System([drone, rotors]), {drone: tf.Coordinates([0, 0, 0])}, {drone: tf.Coordinates([2, 0, 0])}, (0, 3),
        "(u[0] - 4.905)**2 + (u[1] - 4.905)**2", bounds={rotors: (0, 10)}, limits=[gates])


def five_bar():
    """Two arms of two links that meet, moved by the motors at their bases."""
    base, lengths, masses = 0.25, (0.35, 0.5), (0.6, 0.4)
    links, joints = [tf.Link("ground")], []
    for side, x in (("left", -base), ("right", base)):
        for i, (length, mass) in enumerate(zip(lengths, masses, strict=True)):
            links.append(tf.Link(f"{side} {i}", mass=mass, centre=(0, 0, length / 2),
                                 inertia=(1e-4, mass * length**2 / 12, 1e-4)))
            joints.append(tf.TreeJoint(f"{side} joint {i}", links[-2].name if i else "ground", links[-1].name,
                                       axis=(0, 1, 0), position=(0, 0, lengths[0]) if i else (x, 0, 0)))
    tree = tf.Tree(links, joints, name="arms")
    meet = tf.Spherical(tree.link("left 1"), tree.link("right 1"), point_a=(0, 0, lengths[1]),
                        point_b=(0, 0, lengths[1]), name="meet")
    motors = [tf.JointControl(tree.joint(f"{side} joint 0"), name=f"{side} motor") for side in ("left", "right")]

    def angles(x, z):
        found = []
        for place, sign in ((-base, -1), (base, 1)):
            dx, (a, b) = x - place, lengths
            inner = np.arccos((dx**2 + z**2 - a**2 - b**2) / (2 * a * b))
            bent = -sign * inner
            found += [np.arctan2(dx, z) - np.arctan2(b * np.sin(bent), a + b * np.cos(bent)), bent]
        return dict(zip((joint.name for joint in joints), map(float, found), strict=True))

    system = tf.System([tree, meet, *motors], gravity=(0, 0, -9.81), redundant="drop")
    return tf.OptimalControl(system, {tree: angles(-0.15, 0.45)}, {tree: angles(0.2, 0.7)}, (0, 0.5),
                             [tf.Effort(motor) for motor in motors], bounds=dict.fromkeys(motors, (-8, 8)))


PROBLEMS = {"acrobot": (acrobot, 60), "double pendulum on a cart": (double_pendulum_on_cart, 60),
            "quadrotor through gates": (quadrotor_through_gates, 60), "five-bar": (five_bar, 30)}


def solved(problem, n, guess, method):
    """Cost, infinite where it fails, and iterations."""
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, guess=guess, method=method, strategies=[], progress=False)
    return sol.objective if sol.success else np.inf, int(sol.statistics["newton_iterations"]["max"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--only", choices=list(PROBLEMS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'problem':28}{'method':16}{'solved':>8}{'best':>6}{'iterations':>12}{'s':>8}  least cost, most frequent")
    for name in [given.only] if given.only else PROBLEMS:
        make, n = PROBLEMS[name]
        problem = make()
        guesses = [guess or tf.Guess() for guess in starts(problem, given.starts)]
        found = {}
        for method in ("interior-point", "ipopt"):
            begun = time.process_time()
            found[method] = [solved(problem, n, guess, method) for guess in guesses], time.process_time() - begun
        least = min(cost for results, _ in found.values() for cost, _ in results)
        for method, (results, took) in found.items():
            fine = [(cost, count) for cost, count in results if np.isfinite(cost)]
            best = sum(cost <= least + SAME * abs(least) for cost, _ in fine)
            often = Counter(f"{cost:.4g}" for cost, _ in fine).most_common(3)
            print(f"{name:28}{method:16}{len(fine):8}{best:6}{np.mean([count for _, count in fine] or [np.nan]):12.1f}"
                  f"{took:8.1f}  {least:.5g}, {often}", flush=True)


if __name__ == "__main__":
    main()
