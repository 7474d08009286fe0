"""Optimal control of arms in joint coordinates, from a cold start."""

import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

TRUTH = json.loads((Path(__file__).parents[2] / "data" / "robots" / "ur5.json").read_text())
ELEMENT = tf.MixedGalerkin(2, form="lagrange")
END = np.array([1.2, -0.8, 1.0, -0.5, 0.7, 0.4])


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "ur5.urdf"
    path.write_text(TRUTH["urdf"])
    robot = tf.read_urdf(path)
    motors = robot.motors()
    effort = {joint.name: joint.limits["effort"] for joint in robot.tree.joints if joint.kind == "revolute"}
    return robot, list(motors.values()), {motors[name]: (-effort[name], effort[name]) for name in motors}


def problem_of(arm, **more):
    robot, motors, _ = arm
    zero = np.zeros(6)
    return tf.OptimalControl(robot.system(parts=motors), {robot.tree: tf.Coordinates(zero)},
                             {robot.tree: tf.Coordinates(END)}, (0, 1.5), **more)


def work_of_controls(sol, tree):
    """What the motors do, and what energy the arm gains."""
    x, w = np.polynomial.legendre.leggauss(8)
    h = np.diff(sol.t)
    t = sol.t[:-1, None] + h[:, None] * (x + 1) / 2
    q, p = np.split(sol(t), 2, axis=-1)
    power = (sol.controls(t) * tree.velocity(q, p)).sum(axis=-1)
    weights = w * h[:, None] / 2
    return (power * weights).sum(), np.diff(sol.energy()[[0, -1]])[0], (np.abs(power) * weights).sum()


def test_least_effort(arm):
    robot, motors, _ = arm
    sol = tf.solve(problem_of(arm, cost=[tf.Effort(motor) for motor in motors]), ELEMENT, 40, progress=False)
    assert sol.success and 461.9 < sol.objective < 464.5  # minima near each other, by the guess
    q, p = np.split(sol.z[-1], 2)
    np.testing.assert_allclose(q, END, rtol=0, atol=1e-9)
    np.testing.assert_allclose(p, 0, rtol=0, atol=1e-9)
    work, gained, size = work_of_controls(sol, robot.tree)
    assert abs(work - gained) < 0.01 * size
    again = tf.solve(problem_of(arm, cost=[tf.Effort(motor) for motor in motors]), ELEMENT, 40, guess=sol,
                     progress=False)
    assert again.objective == pytest.approx(sol.objective, rel=1e-8)


def test_least_effort_with_limits(arm):
    robot, motors, torques = arm
    limits = [tf.Limit(lambda now, u: now.rates(robot.tree), [-1.4] * 6, [1.4] * 6),
              tf.Limit(lambda now, u: now.q(robot.tree), [-2.0] * 6, [2.0] * 6)]
    sol = tf.solve(problem_of(arm, cost=[tf.Effort(motor) for motor in motors], bounds=torques, limits=limits), ELEMENT,
                   40, progress=False)
    assert sol.success and sol.objective > 464
    q, p = np.split(sol.z, 2, axis=1)
    assert np.abs(robot.tree.velocity(q, p)).max() == pytest.approx(1.4, abs=1e-6)
    assert np.abs(q).max() < 2 + 1e-7


@pytest.mark.parametrize("n", [18, 20, 24])
def test_least_time(arm, n):
    """Torques stand at their limits somewhere, and stay within. Pushes from saddle points led to 0.83 and 0.25 s."""
    _, motors, torques = arm
    bounds = torques | {"duration": (0.2, 5)}
    sol = tf.solve(problem_of(arm, free_time=True, end_cost=lambda end, parameters: parameters["duration"],
                              bounds=bounds), ELEMENT, n, progress=False)
    assert sol.success
    work, gained, size = work_of_controls(sol, arm[0].tree)
    assert sol.parameters["duration"] == pytest.approx(0.226, abs=2e-3) and abs(work - gained) < 0.02 * size
    most = np.array([torques[motor][1] for motor in motors])
    used = np.abs(sol.fields["controls"]).max(axis=(0, 1)) / most
    assert used.max() == pytest.approx(1, abs=1e-6) and used.max() <= 1 + 1e-9


def test_failed_solves_say_so(arm):
    _, motors, _ = arm
    problem = problem_of(arm, cost=[tf.Effort(motor) for motor in motors])
    sol = tf.solve(problem, ELEMENT, 10, newton=tf.Newton(max_iterations=2), progress=False)
    assert not sol.success
    with pytest.raises(tf.InputError, match=r"the solve failed .*no objective"):
        sol.objective  # noqa: B018
    with pytest.warns(tf.NotSolved, match="no solution"):
        sol.controls(0.5)


@pytest.mark.long
def test_payload_on_a_weld(arm):
    """A body on a `Weld` to the tool, with bounded torques: steps that leave its rotation are not taken."""
    robot, motors, bounds = arm
    load = tf.RigidBody(2.0, (0.01, 0.01, 0.01), name="load")
    weld = tf.Weld(load, robot.tree.link("tool0"), point_a=(0, 0, -0.1), point_b=(0, 0, 0))
    system = tf.System([robot.tree, load, weld, *motors], gravity=(0, 0, -9.81))
    first, last = (dict(zip(robot.tree.joint_names, x, strict=True)) for x in
                   ((0, -1.2, 1.5, -0.5, -1.2, 0.1), (1.2, -0.8, 0.7, -0.9, -0.5, 0.8)))
    problem = tf.OptimalControl(system, system.state(first), {robot.tree: last}, (0, 1),
                                cost=[tf.Effort(motor) for motor in motors],
                                bounds={motor: tuple(5 * b for b in bounds[motor]) for motor in motors})
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, progress=False)
    assert sol.success and sol.objective < 334 and sol.statistics["newton_iterations"]["max"] < 150
