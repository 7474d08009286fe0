"""Inverse dynamics of trees: against inverse dynamics by Pinocchio, along paths of a tool, and where it must refuse."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.models.test_robots import Truth

ELEMENT = tf.MixedGalerkin(2, form="lagrange")
GRAVITY = (0, 0, -9.81)
START = np.array([0.2, -1.2, 1.4, -0.6, 0.5, 0.1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("robots")


@pytest.fixture(scope="module")
def ur5(folder):
    robot = Truth("ur5", folder).robot
    return robot, robot.system(parts=list(robot.motors().values()))


@pytest.mark.parametrize("name", ["ur5", "kinova"])
def test_against_pinocchio(folder, name):
    """Joints on parabolas through a state of the file: the torques there are those of Pinocchio, to 1e-9."""
    truth = Truth(name, folder)
    tree, sample = truth.tree, truth.data["samples"][0]
    q, v, a = (truth.coordinates(np.array(sample[key])) for key in "qva")
    undamped = tf.Tree(tree.links, [tf.TreeJoint(**{**vars(j), "damping": 0.0}) for j in tree.joints], name=name)
    motors = tf.GeneralizedControl(undamped, np.eye(len(q)))
    outputs = {tf.CoordinateOutput(undamped, i): tf.Polynomial((q[i], v[i], a[i] / 2)) for i in range(len(q))}
    problem = tf.InverseDynamics(tf.System([undamped, motors], gravity=GRAVITY), outputs,
                                 {undamped: tf.Coordinates(q, v)}, t_span=(0, 0.1))
    sol = tf.solve(problem, ELEMENT, 2, progress=False)
    u = problem.controls(sol.t[:1], sol.z[:1])[0]
    expected = truth.coordinates(np.array(sample["torque"]))
    np.testing.assert_allclose(u, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_thirty_joints():
    """The torques are those of the recursion along the motion; damping and friction count."""
    links, joints = [tf.Link("0")], []
    for i in range(1, 31):
        links.append(tf.Link(str(i), mass=1, centre=(0, 0.02, 0.05), inertia=(2e-3, 2e-3, 1e-3)))
        joints.append(tf.TreeJoint(f"j{i}", str(i - 1), str(i), position=(0, 0, 0.1), damping=0.1,
                                   axis=np.eye(3)[i % 3]))
    tree = tf.Tree(links, joints)
    motors = tf.GeneralizedControl(tree, np.eye(30))
    goal = np.linspace(-0.4, 0.5, 30)
    outputs = {tf.CoordinateOutput(tree, i): tf.Transfer(0, 1, 0, x, 3) for i, x in enumerate(goal)}
    problem = tf.InverseDynamics(tf.System([tree, motors], gravity=GRAVITY), outputs, {}, t_span=(0, 1))
    assert problem.internal == 0 and set(problem.relative_degrees.values()) == {2}
    sol = tf.solve(problem, ELEMENT, 4, progress=False)
    t = 0.25
    x = [np.polyval(np.polyder(np.poly1d([-20, 70, -84, 35, 0, 0, 0, 0]), n), t) for n in range(3)]
    expected = tree.inverse_dynamics(x[0] * goal, x[1] * goal, x[2] * goal, GRAVITY) + 0.1 * x[1] * goal
    found = problem.controls([t], [sol(t)])[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def turned(t):
    """Quaternion of a full turn and more about an axis, of the other sign halfway and not of unit length."""
    angle = 8 * t**3 / 2
    return -2 * ca.vertcat(ca.cos(angle), 0, 0.6 * ca.sin(angle), 0.8 * ca.sin(angle))


def test_pose_of_a_tool(ur5):
    """Position and orientation along a path: kept at all nodes; a march with these torques stays on it."""
    robot, system = ur5
    tool = robot.tree.link("ee_link")
    place, turn = tool.position(START), tool.rotation_matrix(START)
    outputs = tf.pose_outputs(tool, lambda t: (place[0] + 0.1 * ca.sin(2 * t)**2, place[1] + 0.1 * t**3, place[2]),
                              lambda t: _product(turn, t))
    problem = tf.InverseDynamics(system, outputs, {robot.tree: tf.Coordinates(START)}, t_span=(0, 1))
    sol = tf.solve(problem, ELEMENT, 40, progress=False)
    assert sol.success
    for t, z in zip(sol.t, sol.z, strict=True):
        wanted = place + (0.1 * np.sin(2 * t)**2, 0.1 * t**3, 0)
        np.testing.assert_allclose(tool.position(z[:6]), wanted, rtol=0, atol=1e-11)
        angle = np.pi / 4 * t**3
        c, s = np.cos(angle), np.sin(angle)
        np.testing.assert_allclose(tool.rotation_matrix(z[:6]), turn @ [[c, -s, 0], [s, c, 0], [0, 0, 1]], rtol=0,
                                   atol=1e-11)
    q, p = np.split(sol(0.5), 2)
    step = 1e-4
    rates = (sol(0.5 + step) - sol(0.5 - step))[:6] / (2 * step)
    np.testing.assert_allclose(robot.tree.velocity(q, p), rates, rtol=0, atol=1e-3)


def _product(turn, t):
    angle = np.pi / 4 * t**3
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.DM(turn) @ ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def test_signs_and_turns_of_quaternions():
    """A gimbal that makes more than a full turn, asked for by a quaternion of changing sign and any length."""
    links = [tf.Link("base"), *(tf.Link(n, mass=1, inertia=(0.1, 0.2, 0.3)) for n in "abc")]
    joints = [tf.TreeJoint(n, p, n, axis=axis) for n, p, axis in
              (("a", "base", (0, 0.6, 0.8)), ("b", "a", (1, 0, 0)), ("c", "b", (0, 0.8, -0.6)))]
    tree = tf.Tree(links, joints)
    system = tf.System([tree, tf.GeneralizedControl(tree, np.eye(3))])
    problem = tf.InverseDynamics(system, tf.pose_outputs(tree.link("c"), orientation=turned), {}, t_span=(0, 1))
    sol = tf.solve(problem, ELEMENT, 20, progress=False)
    np.testing.assert_allclose(sol.z[-1][:3], (8, 0, 0), rtol=0, atol=1e-10)


def angle_of(axis, a, b):
    """Angle of body a against b about an axis of both, whose frames coincide at zero."""
    u = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    u, w = u / np.linalg.norm(u), np.cross(axis, u) / np.linalg.norm(u)

    def formula(*q):
        other = b.frame(q[1])[1] if b is not None else ca.SX.eye(3)
        d = a.frame(q[0])[1] @ u
        return ca.atan2(ca.dot(d, other @ w), ca.dot(d, other @ u))

    return tf.FormulaOutput(formula, [a] if b is None else [a, b], name=f"angle of {a.name}")


def test_redundant_coordinates():
    """Six rigid bodies and hinges, along joint angles: torques and constraint forces as in joint coordinates."""
    rng, goal = np.random.default_rng(2), np.array([0.9, -0.8, 0.7, -0.5, 0.6, 0.4])
    links, joints, bodies, parts, motors = [tf.Link("0")], [], [None], [], []
    outputs, state, place = {}, {}, np.zeros(3)
    for i in range(1, 7):
        axis, arm = np.eye(3)[(i + 1) % 3], np.array([0, 0.1, 0.3]) * (i > 1)
        centre, inertia = rng.uniform(-0.1, 0.1, 3), rng.uniform(0.02, 0.03, 3)
        links.append(tf.Link(str(i), mass=i, centre=centre, inertia=inertia))
        joints.append(tf.TreeJoint(f"j{i}", str(i - 1), str(i), position=arm, axis=axis))
        body, other, place = tf.RigidBody(i, inertia, name=str(i)), bodies[-1], place + arm
        state[body] = tf.Pose(place + centre)
        at = place if other is None else place - state[other].position
        parts.append(tf.Revolute(body, other, point_a=-centre, point_b=at, axis_a=axis, axis_b=axis))
        motors.append(tf.ControlTorque(body, [axis], reaction=other))
        outputs[angle_of(axis, body, other)] = tf.Transfer(0, 1, 0, goal[i - 1], 3)
        bodies.append(body)
    system = tf.System([*bodies[1:], *parts, *motors], gravity=GRAVITY)
    problem = tf.InverseDynamics(system, outputs, state, t_span=(0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    t = 0.25
    x = [np.polyval(np.polyder(np.poly1d([-20, 70, -84, 35, 0, 0, 0, 0]), n), t) for n in range(3)]
    expected = tf.Tree(links, joints).inverse_dynamics(x[0] * goal, x[1] * goal, x[2] * goal, GRAVITY)
    np.testing.assert_allclose(problem.controls([t], [sol(t)])[0], expected, rtol=0, atol=1e-10)
    assert np.abs(sol.constraints()[0]).max() < 1e-13
    first = next(i for i, name in enumerate(system.constraint_names) if name.startswith("Revolute 1: gap, x"))
    carried = sol.multipliers(0.0)[first:first + 3]  # by the first hinge, at rest: all of the weight
    np.testing.assert_allclose(carried, (0, 0, 21 * 9.81), rtol=0, atol=1e-8)


def test_redundant_arm(ur5):
    """Three outputs of six joints: the arm stays as near to its posture as they allow; controls fit the motion."""
    robot, system = ur5
    tool = robot.tree.link("ee_link")
    place = tool.position(START)
    problem = tf.InverseDynamics(system, tf.pose_outputs(tool, lambda t: (place[0], place[1] + 0.2 * t**3, place[2])),
                                 {robot.tree: tf.Coordinates(START)}, t_span=(0, 1))
    sol = tf.solve(problem, ELEMENT, 20, progress=False)
    q = sol.z[-1][:6]
    np.testing.assert_allclose(tool.position(q), place + (0, 0.2, 0), rtol=0, atol=1e-11)
    jacobian = np.array([(tool.position(q + 1e-6 * e) - tool.position(q - 1e-6 * e)) / 2e-6 for e in np.eye(6)]).T
    free = np.linalg.svd(jacobian)[2][3:]  # motions that leave the tool: across the way from the posture
    np.testing.assert_allclose(free @ (robot.tree.mass_scale * (q - START)), 0, rtol=0, atol=1e-8)


def test_too_many_controls(ur5):
    """Two motors on one joint share its torque evenly."""
    robot, _ = ur5
    tree = robot.tree
    motors = tf.GeneralizedControl(tree, np.hstack([np.eye(6), np.eye(6)[:, :1]]))
    outputs = {tf.CoordinateOutput(tree, i): 0.1 for i in range(6)}
    problem = tf.InverseDynamics(tf.System([tree, motors], gravity=GRAVITY), outputs, {tree: tf.Coordinates([0.1] * 6)})
    u = problem.controls(0.0, problem.start)[0]
    hold = tree.inverse_dynamics([0.1] * 6, [0.0] * 6, [0.0] * 6, GRAVITY)
    np.testing.assert_allclose(u, [hold[0] / 2, *hold[1:], hold[0] / 2], rtol=0, atol=1e-9)


def test_singular_and_out_of_reach():
    links = [tf.Link("base"), *(tf.Link(n, mass=1, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)) for n in "ab")]
    tree = tf.Tree(links, [tf.TreeJoint("a", "base", "a"), tf.TreeJoint("b", "a", "b", position=(1, 0, 0))])
    system = tf.System([tree, tf.GeneralizedControl(tree, np.eye(2))])
    tip = tree.link("b", (1, 0, 0))
    outputs = {tf.PositionOutput(tip, "x"): tf.Transfer(0, 1, 1.2, 2.5, 3), tf.PositionOutput(tip, "y"): 0.0}
    problem = tf.InverseDynamics(system, outputs, {tree: {"a": 0.9, "b": -1.8}}, t_span=(0, 1))
    sol = tf.solve(problem, ELEMENT, 20, progress=False)
    assert not sol.success and 0.3 < sol.t[-1] < 0.8
    assert "out of reach" in sol.status.message or "singular position at t" in sol.status.message
    outputs = {tf.PositionOutput(tip, "x"): 2.0, tf.PositionOutput(tip, "y"): 0.0}
    with pytest.raises(tf.InputError, match=r"singular position at t = 0: .*\(\+1 b, -0.5 a\)"):
        tf.InverseDynamics(system, outputs, {}, t_span=(0, 1))


def test_refusals(ur5):
    robot, system = ur5
    outputs = {tf.CoordinateOutput(robot.tree, i): 0.0 for i in range(6)}
    with pytest.raises(tf.InputError, match="end is given, but all joints are driven"):
        tf.InverseDynamics(system, outputs, {}, {robot.tree: tf.Coordinates(np.zeros(6))})
    with pytest.raises(tf.InputError, match="has a jump in its first derivative"):
        jump = {output: tf.Ramp(0.2, 0.4, 0, 1) if output.index == 0 else x for output, x in outputs.items()}
        tf.InverseDynamics(system, jump, {})
    problem = tf.InverseDynamics(system, outputs, {})
    with pytest.raises(tf.InputError, match="tolerance is given"):
        tf.solve(problem, ELEMENT, tolerance=1e-6, progress=False)
    with pytest.raises(tf.InputError, match="give a position, an orientation, or both"):
        tf.pose_outputs(robot.tree.link("ee_link"))
    with pytest.raises(tf.InputError, match="must be a quaternion or a rotation matrix"):
        tf.pose_outputs(robot.tree.link("ee_link"), orientation=lambda t: ca.vertcat(t, t))
