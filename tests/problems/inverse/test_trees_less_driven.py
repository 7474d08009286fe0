"""Inverse dynamics of trees with free bases, loops, other bodies, and fewer drives than motions."""

import warnings

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.values.of_parts import control_force

pytestmark = pytest.mark.long

LINKS = [tf.Link("base"), *(tf.Link(n, mass=1, centre=(0.2, 0, 0), inertia=(0.001, 0.02, 0.02)) for n in "abc")]
SWING = {"s": tf.Transfer(0.2, 0.8, 0.1, 0.9, 4), "e": lambda t: 0.3 + 0.2 * ca.sin(3 * t)}


def satellite():
    """A hull with an arm of two joints, in space, and their drives."""
    links = [tf.Link("hull", mass=20, inertia=(2, 3, 4)),
             tf.Link("a", mass=2, centre=(0.2, 0, 0), inertia=(0.01, 0.03, 0.03)),
             tf.Link("b", mass=1, centre=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))]
    joints = [tf.TreeJoint("s", "hull", "a", position=(0.3, 0, 0), axis=(0, 0, 1)),
              tf.TreeJoint("e", "a", "b", position=(0.4, 0, 0), axis=(0, 1, 0))]
    tree = tf.Tree(links, joints, name="bot", base="free")
    return tree, [tf.JointControl(tree.joint(name), name=f"on {name}") for name in "se"]


def outputs(tree):
    return {tf.JointOutput(tree.joint(name)): path for name, path in SWING.items()}


def test_an_arm_on_a_free_base(tmp_path):
    """Fewer drives than motions: momenta stay, and the torques found give the same motion forwards."""
    tree, drives = satellite()
    start = {tree: {"s": 0.1, "e": (0.3, 0.6)}}
    problem = tf.InverseDynamics(tf.System([tree, *drives]), outputs(tree), start, t_span=(0, 1))
    errors, end = [], None
    for n in (10, 20, 40):
        sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), n, progress=False)
        moved = np.abs(sol.linear_momentum() - sol.linear_momentum()[0]).max()
        errors.append(abs(sol.joint("s").angle(1.0) - 0.9) + moved)
        t = np.linspace(0, 1, 11)
        np.testing.assert_allclose(sol.joint("e").angle(t[5]), 0.3 + 0.2 * np.sin(1.5), rtol=0, atol=1e-12)
        end = sol
    assert errors[2] < 1e-11
    fine = tf.solve(problem, tf.MixedGalerkin(3, form="energy"), 80, progress=False)
    torques = problem.controls(fine.t, fine.z)
    given = [tf.JointForce(tree.joint(name), value=tf.Spline(fine.t, torques[:, i], 5))
             for i, name in enumerate("se")]
    start = {tree: tf.CanonicalState(*np.split(problem.start, 2))}
    same = tf.solve(tf.InitialValueProblem(tf.System([tree, *given]), start, (0, 1)),
                    tf.MixedGalerkin(3, form="lagrange"), 80, progress=False)
    np.testing.assert_allclose(same.z[-1], fine.z[-1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(end.z[-1], fine.z[-1], rtol=0, atol=1e-5)
    assert np.abs(tree.base_state(*np.split(end.z[-1], 2)).position).max() > 1e-3  # the base gives way
    end.save(tmp_path / "s.h5")
    np.testing.assert_array_equal(tf.load(tmp_path / "s.h5").controls(0.52), end.controls(0.52))


def test_momenta_that_stay_are_no_fast_motion():
    """Those of the hull are zero, but for rounding and what is in between: 25 elements agree with 100, and say so."""
    links = [tf.Link("hull", mass=20, inertia=(2, 3, 4)),
             tf.Link("arm", mass=2, centre=(0.2, 0, 0), inertia=(0.01, 0.03, 0.03))]
    tree = tf.Tree(links, [tf.TreeJoint("hinge", "hull", "arm", position=(0.3, 0, 0))], name="craft", base="free")
    parts, turn = [tree, tf.JointControl(tree.joint("hinge"))], tf.Transfer(0, 1, 0, 1.2, 4)
    problem = tf.InverseDynamics(tf.System(parts), {tf.JointOutput(tree.joint("hinge")): turn},
                                 {tree: {"hinge": 0.0}}, t_span=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = [tf.solve(problem, tf.MixedGalerkin(2, form="energy"), n, progress=False).z[-1] for n in (25, 100)]
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-6)


def test_a_driven_free_base():
    """As many drives as motions: the forces are those of the tree's own inverse dynamics, without marching."""
    tree, drives = satellite()
    hull = tree.link("hull")
    path = tf.pose_outputs(hull, position=lambda t: [0.1 * ca.sin(2 * t), 0.2 * t**2, 0],
                           orientation=lambda t: [ca.cos(t / 2), 0, 0, ca.sin(t / 2)])
    system = tf.System([tree, tf.ControlForce(hull, name="F"), tf.ControlTorque(hull, name="M"), *drives],
                       gravity=(0, 0, -9.81))
    problem = tf.InverseDynamics(system, path | outputs(tree), {tree: {"s": 0.1, "e": 0.3}}, t_span=(0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)
    assert sol.success and problem.inversion.direct
    q, v, a = problem.inversion.at(0.5, problem.inversion.start(sol(0.5)[:9]))
    wanted = tree.inverse_dynamics(q, v, a, (0, 0, -9.81))
    found = problem.inversion.forces(0.5, q, v, a)
    length = np.r_[np.zeros(3), q[3:7], 0, 0]
    given = found @ control_force(system, np.full(8, 0.5), np.tile(sol(0.5), (8, 1)), np.eye(8))
    left = given - wanted
    left -= length * (length @ left) / (length @ length)
    np.testing.assert_allclose(left, 0, rtol=0, atol=1e-9)
    assert abs(found[2] - 23 * 9.81) < 5  # holds the weight


def four_bar():
    joints = [tf.TreeJoint("ja", "base", "a"), tf.TreeJoint("jb", "a", "b", position=(0.4, 0, 0)),
              tf.TreeJoint("jc", "base", "c", position=(0.5, 0, 0))]
    tree = tf.Tree(LINKS, joints, name="four")
    return tree, tf.RigidDistance(tree.link("b", (0.4, 0, 0)), tree.link("c", (0.4, 0, 0)), length=0.3)


def test_loops_with_redundant_drives():
    """Three drives of two motions: the least torques, with the work of the two."""
    found = []
    for names in (("ja", "jb"), ("ja", "jb", "jc")):
        tree, rod = four_bar()
        drives = [tf.JointControl(tree.joint(name), name=f"on {name}") for name in names]
        system = tf.System([tree, rod, *drives], gravity=(0, -9.81, 0))
        start = tf.assemble(system, {tree: {"ja": 1.2, "jb": -1.0, "jc": 1.5}})
        ja, jb, _ = start[tree].q
        path = {tf.JointOutput(tree.joint("ja")): tf.Transfer(0.1, 0.9, ja, ja - 0.3, 4),
                tf.JointOutput(tree.joint("jb")): jb}
        problem = tf.InverseDynamics(system, path, start, t_span=(0, 1))
        sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 10, progress=False)
        assert sol.success and problem.inversion.direct, sol.status.message
        np.testing.assert_allclose(system.constraints(sol.t, sol.z), 0, atol=1e-13)
        u, z = problem.controls(sol.t, sol.z)[5], sol.z[5]
        rates = system.velocity(sol.t[5], z)
        found.append((np.linalg.norm(u), u @ rates[:len(u)]))
    assert found[1][0] < 0.95 * found[0][0]
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-9)  # power


def test_other_bodies_beside_the_tree():
    """A ball on a spring at the tool has no drive: it moves as it does when the torques are given."""
    joints = [tf.TreeJoint("ja", "base", "a"), tf.TreeJoint("jb", "a", "b", position=(0.4, 0, 0))]
    arm, ball = tf.Tree(LINKS[:3], joints, name="arm"), tf.PointMass(0.5, name="ball")
    spring = tf.Spring(arm.link("b", (0.4, 0, 0)), ball, stiffness=50, length=0.0)
    drives = [tf.JointControl(arm.joint(name), name=f"on {name}") for name in ("ja", "jb")]
    turn = tf.Transfer(0.1, 0.9, 0.5, 0.9, 4)
    path = {tf.JointOutput(arm.joint("ja")): turn, tf.JointOutput(arm.joint("jb")): 0.6}
    start = {arm: {"ja": 0.5, "jb": 0.6}, ball: tf.Pose((0.53, 0.45, 0))}
    system = tf.System([arm, ball, spring, *drives], gravity=(0, -9.81, 0))
    problem = tf.InverseDynamics(system, path, start, t_span=(0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 40, progress=False)
    assert sol.success and abs(sol.joint("ja").angle(1.0) - 0.9) < 1e-12
    held = [tf.PrescribedJoint(arm.joint("ja"), value=turn),
            tf.PrescribedJoint(arm.joint("jb"), value=0.6)]
    same = tf.solve(tf.InitialValueProblem(tf.System([arm, ball, spring, *held], gravity=(0, -9.81, 0)), start, (0, 1)),
                    tf.MixedGalerkin(2, form="energy"), 40, progress=False)
    np.testing.assert_allclose(sol.position("ball", 1.0), same.position("ball", 1.0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(problem.controls(sol.t, sol.z)[20], [same.joint("ja").drive(sol.t[20]),
                                                                    same.joint("jb").drive(sol.t[20])], rtol=1e-5)


def test_two_arms_carry_a_bar(tmp_path):
    """Trees, a rigid body, two loops, and a drive more than motions; solutions are saved with their velocities."""
    def arm(name, x):
        joints = [tf.TreeJoint("s", "base", "a", position=(x, 0, 0)), tf.TreeJoint("e", "a", "b", position=(0.4, 0, 0))]
        return tf.Tree(LINKS[:3], joints, name=name)

    arms, bar = [arm("left", -0.4), arm("right", 0.4)], tf.RigidBody(3.0, (0.02, 0.3, 0.3), name="bar")
    grips = [tf.Revolute(bar, one.link("b", (0.4, 0, 0)), point_a=(side * 0.4, 0, 0), point_b=(0, 0, 0),
                         axis_a=(0, 0, 1), axis_b=(0, 0, 1)) for one, side in zip(arms, (-1, 1), strict=True)]
    drives = [tf.JointControl(one.joint(name), name=f"{one.name} {name}") for one in arms for name in "se"]
    system = tf.System([*arms, bar, *grips, *drives], gravity=(0, -9.81, 0), redundant="drop")
    start = tf.assemble(system, {"left": {"s": 1.9, "e": -0.9}, "right": {"s": 1.2, "e": 0.9},
                                 "bar": tf.Pose((0, 0.6, 0))})
    x, y, _ = start[bar].q[:3]
    path = {tf.PositionOutput(bar, "x"): lambda t: x + 0.05 * t**2,
            tf.PositionOutput(bar, "y"): lambda t: y - 0.03 * t**2,
            tf.AngleOutput(bar, "z", (1, 0, 0)): lambda t: 0.1 * t**2}
    problem = tf.InverseDynamics(system, path, start, t_span=(0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, progress=False)
    assert sol.success and problem.inversion.direct
    np.testing.assert_allclose(sol.position(bar, 1.0) - (x, y, 0), (0.05, -0.03, 0), rtol=0, atol=1e-12)
    torques = problem.controls(sol.t, sol.z)
    power = sum(torques[10, i] * sol.joint(drive.joint).rate(0.5) for i, drive in enumerate(drives))
    kinetic = sol.system.hamiltonian(sol.t, sol.z)  # with the weight
    slope = tf.Spline(sol.t, kinetic, 5)
    assert power == pytest.approx((slope(0.501) - slope(0.499)) / 0.002, rel=1e-4)
    sol.save(tmp_path / "s.h5")
    np.testing.assert_array_equal(tf.load(tmp_path / "s.h5").controls(0.5), sol.controls(0.5))


SEVEN = """<robot name="seven"><link name="l0"/>{}</robot>"""
ONE = """<link name="l{0}"><inertial><origin xyz="0 0 0.1"/><mass value="{1}"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.005"/></inertial></link>
<joint name="j{0}" type="revolute"><origin xyz="0 0 0.25"/><parent link="l{2}"/><child link="l{0}"/>
<axis xyz="{3}"/><limit lower="-3" upper="3" effort="80" velocity="2"/></joint>"""


def test_a_tool_along_a_circle_with_seven_joints(tmp_path):
    """From a URDF: the pose is kept, the posture stays near that of the start, and comes back with the tool."""
    axes = ["0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1"]
    path = tmp_path / "seven.urdf"
    path.write_text(SEVEN.format("".join(ONE.format(i + 1, 4 - 0.4 * i, i, axis) for i, axis in enumerate(axes))))
    robot = tf.read_urdf(path)
    arm, posture = robot.tree, {"j1": 0.2, "j2": 0.6, "j3": -0.3, "j4": 1.1, "j5": 0.4, "j6": 0.7, "j7": 0.1}
    place, turn = arm.link_pose("l7", arm.by_joint(posture).q)
    circle = lambda t: [place[0] + 0.1 * (ca.cos(t) - 1), place[1] + 0.1 * ca.sin(t), place[2]]
    tool = tf.pose_outputs(arm.link("l7"), circle, turn)
    system = tf.System([arm, *robot.motors().values()], gravity=(0, 0, -9.81))
    problem = tf.InverseDynamics(system, tool, {arm: posture}, t_span=(0, 2 * np.pi))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 40, progress=False)
    assert sol.success
    for i in (10, 20, 40):
        there, turned = arm.link_pose("l7", sol.z[i, :7])
        np.testing.assert_allclose(there, np.array(ca.DM(ca.vertcat(*circle(sol.t[i])))).ravel(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(turned, turn, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sol.z[-1, :7], list(posture.values()), rtol=0, atol=1e-10)
    assert np.abs(sol.z[:, :7] - list(posture.values())).max() < 0.6


def test_messages():
    tree, drives = satellite()
    hull = tree.link("hull")
    with pytest.raises(tf.InputError, match=r"not determine bot.s angle .* t = 0: .*1 of control 0 of push moves no"):
        tf.InverseDynamics(tf.System([tree, tf.ControlForce(hull, [(0, 0, 1)], name="push")]), {
            tf.JointOutput(tree.joint("s"), name="bot.s angle"): 0.1}, {tree: {"s": 0.1}}, t_span=(0, 1))
    with pytest.raises(tf.InputError, match="2 outputs are prescribed, but there are 1 controls"):
        tf.InverseDynamics(tf.System([tree, drives[0]]), outputs(tree), {}, t_span=(0, 1))
    system = tf.System([tree, *drives])
    problem = tf.InverseDynamics(system, outputs(tree), {tree: {"s": 0.1, "e": 0.3}}, t_span=(0, 1))
    with pytest.raises(tf.InputError, match="form='energy'"):
        tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)
    with pytest.raises(tf.InputError, match="element by element: leave tolerance"):
        tf.solve(problem, tf.MixedGalerkin(2, form="energy"), tolerance=1e-6, progress=False)
