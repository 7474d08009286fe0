"""Robots against Pinocchio: the numbers in tests/data/robots, see truth.py there."""

import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[1] / "data" / "robots"
MARKS = {"panda": "long", "kinova": "long", "double_pendulum": "long", "go2": "slow", "g1": "slow"}
ROBOTS = sorted(path.stem for path in FOLDER.glob("*.json"))


class Truth:
    """A robot, and maps between its coordinates and those of the file: rates of a free base in body axes first."""

    def __init__(self, name, folder):
        self.data = json.loads((FOLDER / f"{name}.json").read_text())
        path = folder / f"{name}.urdf"
        path.write_text(self.data["urdf"])
        self.free = self.data["base"] == "free"
        self.robot = tf.read_urdf(path, base=self.data["base"])
        self.tree = self.robot.tree
        at = [self.tree.coordinate_names.index(name) for name in self.data["joints"]]
        self.order = [*range(7 * self.free), *at]

    def coordinates(self, q):
        out = np.empty(len(q))
        out[self.order] = q
        return out

    def rates(self, q):
        """P with qdot = P v, shape (n_q, n_v)."""
        if not self.free:
            return np.eye(len(q))[:, self.order]
        p = np.zeros((len(q), len(q) - 1))
        w, x = q[3], np.array(q[4:7])
        hat = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
        p[:3, :3] = np.eye(3) + 2 * (w * hat + hat @ hat)
        p[3, 3:6], p[4:7, 3:6] = -x / 2, (w * np.eye(3) + hat) / 2
        p[self.order[7:], np.arange(6, len(q) - 1)] = 1
        return p


@pytest.fixture(scope="module")
def truths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robots")
    return {name: Truth(name, folder) for name in ROBOTS}


def test_there_are_six():
    assert len(ROBOTS) >= 6


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_matrix(truths, name):
    truth = truths[name]
    for sample in truth.data["samples"]:
        p = truth.rates(sample["q"])
        mass = p.T @ truth.tree.mass_matrix(truth.coordinates(sample["q"])) @ p
        np.testing.assert_allclose(mass, sample["mass"], rtol=0, atol=1e-12 * np.abs(mass).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_dynamics(truths, name):
    """M a + the bias forces, without dampers."""
    truth = truths[name]
    for sample in truth.data["samples"]:
        q = truth.coordinates(sample["q"])
        v, step = np.array(sample["v"]), 1e-6
        p = truth.rates(sample["q"])
        rate, turn = p @ v, 0.0
        if truth.free:  # qddot = P a + Pdot v; P is linear in the quaternion but for the place
            ends = [truth.rates(np.array(sample["q"]) + s * step * rate[truth.order]) for s in (1, -1)]
            turn = (ends[0] - ends[1]) / (2 * step) @ v
        force = truth.tree.inverse_dynamics(q, rate, p @ sample["a"] + turn, (0, 0, -9.81))
        size = np.abs(sample["torque"]).max()
        np.testing.assert_allclose(p.T @ force, sample["torque"], rtol=0, atol=(1e-7 if truth.free else 1e-12) * size)


@pytest.mark.parametrize("name", [pytest.param(name, marks=getattr(pytest.mark, MARKS[name])) if name in MARKS else name
                                  for name in ROBOTS])
def test_motion(truths, name):
    """Over one second, to 1e-9 of equations of motion by Pinocchio and DOP853."""
    truth = truths[name]
    motion, n = truth.data["motion"], {"ur5": 200, "kinova": 4800}.get(name, 1200)
    q0 = truth.coordinates(motion["q0"])
    problem = tf.InitialValueProblem(tf.System([truth.tree], gravity=(0, 0, -9.81)),
                                     {truth.tree: tf.Coordinates(q0, truth.rates(motion["q0"]) @ motion["v0"])},
                                     (0, motion["t_end"]))
    sol = tf.solve(problem, tf.MixedGalerkin(3, form="lagrange"), n, progress=False)
    q = sol.z[-1][:truth.tree.n_q]
    if truth.free:
        q[3:7] /= np.linalg.norm(q[3:7])
        expected = np.array(motion["q1"])
        expected[3:7] /= np.linalg.norm(expected[3:7])
    else:
        expected = np.array(motion["q1"])
    np.testing.assert_allclose(q[truth.order], expected, rtol=0, atol=1e-9)


def test_loop(truths):
    """A rod between two links of an arm, from rest."""
    truth = truths["ur5"]
    looped, tree = truth.data["looped"], truth.tree
    (a, x), (b, y) = looped["points"]
    rod = tf.RigidDistance(tree.link(a), tree.link(b), point_a=x, point_b=y, length=looped["length"])
    problem = tf.InitialValueProblem(tf.System([tree, rod], gravity=(0, 0, -9.81)),
                                     {tree: tf.Coordinates(truth.coordinates(looped["q0"]))}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(4, form="energy"), 200, progress=False)
    np.testing.assert_allclose(sol.z[-1][:6][truth.order], looped["q1"], rtol=0, atol=1e-9)
