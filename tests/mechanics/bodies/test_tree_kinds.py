"""Trees with free bases, spherical and planar joints: momenta, orders, the same in redundant coordinates."""

import numpy as np
import pytest

import timefem as tf

ELEMENT = tf.MixedGalerkin(3, form="lagrange")
TRUNK = tf.Link("trunk", mass=3, centre=(0.1, 0, 0.05), inertia=(0.1, 0.2, 0.25))
ARM = tf.Link("arm", mass=1, centre=(0, 0, -0.3), inertia=(0.05, 0.05, 0.01))
PUCK = tf.Link("puck", mass=0.5, centre=(0.1, 0, -0.1), inertia=[[0.01, 0.002, 0], [0.002, 0.02, 0], [0, 0, 0.015]])
BALL = tf.TreeJoint("ball", "trunk", "arm", "spherical", position=(0.2, 0, 0))
PLANE = tf.TreeJoint("plane", "arm", "puck", "planar", position=(0, 0, -0.6), axis=(0, 1, 0.3))
TURN = np.array([0.5, 0.5, -0.5, 0.5])
STATE = {"base": tf.Pose((0, 0, 1), TURN, (1, 0, 0), (1, 2, 3.0)), "ball": tf.Pose(angular_velocity=(0.5, -1, 2)),
         "plane": ((0.05, -0.1, 0.3), (0.2, 0.1, 1.0))}


@pytest.fixture(scope="module")
def robot():
    return tf.Tree([TRUNK, ARM, PUCK], [BALL, PLANE], base="free", name="robot")


def problem_of(robot, gravity=None, t_end=0.5):
    return tf.InitialValueProblem(tf.System([robot], gravity=gravity), {robot: STATE}, (0, t_end))


def test_names(robot):
    assert robot.joint_names == ("base", "ball", "plane") and robot.base_joint == "base"
    assert robot.coordinate_names[2:5] == ("base z", "base quaternion w", "base quaternion x")
    assert robot.coordinate_names[-4:] == ("ball quaternion z", "plane x", "plane y", "plane angle")
    named = tf.Tree([TRUNK, ARM], [tf.TreeJoint("base", "trunk", "arm")], base="free")
    assert named.joint_names == ("free base", "base") and named.base_joint == "free base"


def test_states(robot):
    problem = problem_of(robot)
    q, p = np.split(problem.z0, 2)
    states = robot.joint_states(q, p)
    np.testing.assert_allclose(states["base"][0], (0, 0, 1, *TURN), rtol=0, atol=1e-15)
    np.testing.assert_allclose(states["base"][1], (1, 0, 0, 1, 2, 3), rtol=0, atol=1e-13)
    np.testing.assert_allclose(states["ball"][1], (0.5, -1, 2), rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.concatenate(states["plane"]), (0.05, -0.1, 0.3, 0.2, 0.1, 1), rtol=0, atol=1e-13)
    again = robot.state({name: (position, rate) for name, (position, rate) in states.items()})
    np.testing.assert_allclose(np.concatenate(again), problem.z0, rtol=0, atol=1e-12)
    pose = robot.base_state(q, p)
    np.testing.assert_allclose(pose.angular_velocity, (1, 2, 3), rtol=0, atol=1e-13)


def test_momenta_and_energy(robot):
    """Without gravity the angular momentum is kept by symmetry, and the length of quaternions does not enter."""
    drift = []
    for n in (25, 50):
        sol = tf.solve(problem_of(robot), tf.MixedGalerkin(2, form="lagrange"), n, progress=False)
        for momentum in (sol.linear_momentum(), sol.angular_momentum()):
            np.testing.assert_allclose(momentum - momentum[0], 0, rtol=0, atol=1e-13)
        energy = sol.energy()
        drift.append(np.abs(energy - energy[0]).max())
    assert 3.5 < np.log2(drift[0] / drift[1]) < 4.8 and drift[1] < 1e-5
    lengths = np.linalg.norm(sol.z[-1][[3, 4, 5, 6]])
    assert 0 < abs(lengths - 1) < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("degree", [1, 2])
def test_order(robot, degree):
    def end(degree, n):
        sol = tf.solve(problem_of(robot), tf.MixedGalerkin(degree, form="lagrange"), n, progress=False)
        return np.concatenate([np.ravel(x) for pair in robot.joint_states(*np.split(sol.z[-1], 2)).values()
                               for x in pair])

    exact, meshes = end(3, 160), np.array([20, 40, 80])
    errors = [np.abs(end(degree, int(n)) - exact).max() for n in meshes]
    slope = -np.polyfit(np.log(meshes), np.log(errors), 1)[0]
    assert 2 * degree - 0.3 < slope < 2 * degree + 0.4
    assert errors[-1] < (5e-3, 2e-6)[degree - 1]


def test_scale_of_quaternions_does_not_enter(robot):
    q = np.split(problem_of(robot).z0, 2)[0]
    other = q.copy()
    other[3:7] *= 2.0
    for link in ("trunk", "arm", "puck"):
        for found, expected in zip(robot.link_pose(link, other), robot.link_pose(link, q), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


@pytest.mark.long
def test_redundant_system(robot):
    """The same motion as rigid bodies with joints, to 1e-10."""
    problem = problem_of(robot, (0, 0, -9.81))
    q, p = np.split(problem.z0, 2)
    rates = robot.velocity(q, p)
    trunk, arm, puck = bodies = [tf.RigidBody(link.mass, link.inertia, name=link.name) for link in robot.links]
    centres, state = [link.centre for link in robot.links], {}
    for body, centre in zip(bodies, centres, strict=True):
        link = robot.link(body.name, centre)
        x, v = q[link.dofs], rates[link.dofs]
        state[body] = tf.Pose(link.position(x), link.rotation_matrix(x), link.velocity(x, v),
                              link.angular_velocity(x, v))
    parts = [*bodies, tf.Spherical(arm, trunk, point_a=-centres[1], point_b=np.array([0.2, 0, 0]) - centres[0]),
             tf.Planar(puck, arm, point_a=-centres[2], point_b=np.array([0, 0, -0.6]) - centres[1],
                       axis_a=(0, 1, 0.3), axis_b=(0, 1, 0.3))]
    other = tf.solve(tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), state, problem.t_span),
                     tf.MixedGalerkin(4), 60, progress=False)
    sol = tf.solve(problem, ELEMENT, 240, progress=False)
    for body, centre in zip(bodies, centres, strict=True):
        link = robot.link(body.name, centre)
        np.testing.assert_allclose(sol.position(link, 0.5), other.position(body, 0.5), rtol=0, atol=1e-10)
        np.testing.assert_allclose(sol.rotation_matrix(link, 0.5), other.rotation_matrix(body, 0.5), rtol=0, atol=1e-10)


def test_damping_of_a_spherical_joint():
    """-d Omega: a ball of equal inertias comes to rest like exp(-d t / J)."""
    ball = tf.Tree([tf.Link("base"), tf.Link("ball", mass=1, inertia=(0.2, 0.2, 0.2))],
                   [tf.TreeJoint("joint", "base", "ball", "spherical", damping=0.1)])
    spin = np.array([1, -2, 0.5])
    problem = tf.InitialValueProblem(tf.System([ball]), {ball: {"joint": tf.Pose(angular_velocity=spin)}}, (0, 1))
    sol = tf.solve(problem, ELEMENT, 10, progress=False)
    rate = ball.joint_states(*np.split(sol.z[-1], 2))["joint"][1]
    np.testing.assert_allclose(rate, spin * np.exp(-0.5), rtol=0, atol=1e-10)


def test_springs_and_rotors():
    """A wheel with a rotor and a spring swings with omega^2 = k / (J + a); its potential counts in the energy."""
    wheel = tf.Tree([tf.Link("base"), tf.Link("wheel", mass=2, inertia=(1, 1, 0.5))],
                    [tf.TreeJoint("axle", "base", "wheel", stiffness=3.0, rest=0.2, armature=0.25)])
    system = tf.System([wheel])
    sol = tf.solve(tf.InitialValueProblem(system, {wheel: {"axle": 0.7}}, (0, 1)), ELEMENT, 20, progress=False)
    q = sol.z[-1][:1]
    assert q[0] == pytest.approx(0.2 + 0.5 * np.cos(2.0), abs=1e-11)
    assert system.potential(1.0, sol.z[-1]) == pytest.approx(1.5 * (q[0] - 0.2) ** 2, abs=1e-14)
    np.testing.assert_allclose(sol.energy(), 1.5 * 0.25, rtol=0, atol=1e-11)


@pytest.mark.parametrize("given, message", [
    ({"ball": 0.3}, "a spherical joint takes 4 numbers for its position, and 3 more for its rate, not 1; or a Pose"),
    ({"ball": tf.Pose((1, 0, 0))}, "does not move in position"), ({"plane": tf.Pose()}, "not a Pose"),
    ({"base": (0, 0, 0, 2, 0, 0, 0)}, "quaternion has length 2"), ({"plane": "up"}, "numbers")])
def test_bad_states(robot, given, message):
    with pytest.raises(tf.InputError, match=message):
        robot.state(given)


def test_bad_joints():
    for arguments, message in ((dict(kind="spherical", friction=1), "friction belongs to revolute and prismatic"),
                               (dict(kind="planar", stiffness=1), "stiffness belongs to"),
                               (dict(kind="floating", mimic=("a", 1, 0)), "a floating joint cannot mimic"),
                               (dict(kind="universal"), "across is the second axis of universal joints"),
                               (dict(across=(1, 0, 0)), "across is the second axis of universal joints"),
                               (dict(kind="universal", across=(1, 0, 1)), "not at right angles"),
                               (dict(armature=-1), "armature must not be negative")):
        with pytest.raises(tf.InputError, match=message):
            tf.TreeJoint("joint", "a", "b", **arguments)
    follower = tf.TreeJoint("f", "arm", "puck", mimic=("ball", 1, 0))
    with pytest.raises(tf.InputError, match="'f' mimics 'ball', which is spherical"):
        tf.Tree([TRUNK, ARM, PUCK], [BALL, follower])
