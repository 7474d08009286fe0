"""Poses of bodies that became links of trees give the coordinates of their joints."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.numbers.changes import with_free_numbers
from timefem.mechanics.parts import replaced_names

INERTIA = (0.1, 0.2, 0.3)


KINDS = [tf.Revolute, tf.Prismatic, tf.Spherical, tf.Universal, tf.Revolute]


def chain(seed, kinds, free, coordinates):
    """A chain of bodies with joints of those kinds at random places, from the ground or from a free body."""
    rng = np.random.default_rng(seed)
    bodies = [tf.RigidBody(1.0, INERTIA, name=f"body {i}") for i in range(len(kinds) + free)]
    carriers, joints = [None, *bodies] if not free else bodies, []
    for i, (kind, carrier) in enumerate(zip(kinds, carriers, strict=False)):
        axis = rng.uniform(-1, 1, 3)
        axes = {tf.Revolute: {"axis_a": axis, "axis_b": axis}, tf.Prismatic: {"axis_b": axis},
                tf.Universal: {"axis_a": axis, "axis_b": axis[[1, 2, 0]]}}.get(kind, {})
        on = [bodies[i + free]] + [carrier] * (carrier is not None)
        points = {"point_a": rng.uniform(-1, 1, 3), "point_b": rng.uniform(-1, 1, 3)}
        joints.append(kind(*on, **points, **axes, name=f"joint {i}"))
    return tf.System([*bodies, *joints], coordinates=coordinates), bodies, joints


def values(rng, kinds):
    def turn():
        q = rng.normal(size=4)
        return q / np.linalg.norm(q), rng.normal(size=3)

    def one(kind):
        if kind is tf.Universal:
            return {name: tuple(rng.uniform(-3, 3, 2)) for name in ("angle_b", "angle_a")}
        return turn() if kind is tf.Spherical else tuple(rng.uniform(-3, 3, 2))

    return [one(kind) for kind in kinds]


@pytest.mark.long
def test_a_universal_joint_becomes_one_of_a_tree():
    """It stayed a constraint, which form="lagrange" refuses; where its body b is the outer one it does."""
    def swinging(coordinates, swapped=False):
        a, b = (tf.RigidBody(1.0, INERTIA, name=name) for name in "ab")
        up, down, cross = (0, 0, -0.5), (0, 0.1, 0.5), ((0.2, 1, 0.5), (1, 0.3, -0.2))
        pin = tf.Revolute(a, axis_a=(0, 1, 0), axis_b=(0, 1, 0), point_a=(0, 0, 0.5), point_b=(0, 0, 0), name="pin")
        pair, points, axes = (b, a), (down, up), cross[::-1]
        if swapped:
            pair, points, axes = pair[::-1], points[::-1], axes[::-1]
        cardan = tf.Universal(*pair, **dict(zip(("point_a", "point_b", "axis_a", "axis_b"), (*points, *axes),
                                                strict=True)), name="cardan")
        spring = tf.JointSpring(cardan, coordinate="angle_a", stiffness=3.0)
        system = tf.System([a, b, pin, cardan, spring], gravity=(0, 0, -9.81), coordinates=coordinates)
        state = {"pin": (0.3, 0.5), "cardan": {"angle_b": (0.2, 1.0), "angle_a": (-0.4, 2.0)}}
        return tf.InitialValueProblem(system, state if not swapped else {}, (0, 0.5), assemble=swapped)

    problem = swinging("joint")
    assert problem.system.n_q == 3 and not problem.system.n_constraints
    small = tf.solve(problem, tf.MixedGalerkin(3, form="lagrange"), 30, progress=False)
    whole = tf.solve(swinging("bodies"), tf.MixedGalerkin(3, form="energy"), 30, progress=False)
    for name in "ab":
        np.testing.assert_allclose(small.position(name, 0.5), whole.position(name, 0.5), rtol=0, atol=1e-8)
    for name in ("angle_a", "angle_b"):
        np.testing.assert_allclose(getattr(small.joint("cardan"), name)(), getattr(whole.joint("cardan"), name)(),
                                   rtol=0, atol=1e-8)
    one, two = (sol.joint("cardan") for sol in (small, whole))
    for x, y in ((one.force(axes="a"), two.force(axes="a")), (one.torque(axes="b"), two.torque(axes="b")),
                 (one.rotation(), two.rotation()), (one.drive(None, "angle_a"), -3 * one.angle_a()),
                 (one.drive(None, "angle_b"), 0)):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-6)
    with pytest.raises(tf.InputError, match=r"'cardan: gap, .*of Universal and Spherical joints body_b"):
        tf.solve(swinging("joint", swapped=True), tf.MixedGalerkin(3, form="lagrange"), 4, progress=False)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))])
def test_poses_give_the_state_that_joints_give(free, seed):
    rng = np.random.default_rng(100 + seed)
    kinds = KINDS[seed % 3:] + KINDS[:seed % 3]
    whole, bodies, joints = chain(seed, kinds, free, "bodies")
    small, own, hinges = chain(seed, kinds, free, "joint")
    given = values(rng, kinds)
    base = tf.Pose(rng.normal(size=3), velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3))
    found = whole.state(dict(zip(joints, given, strict=True)), base=base if free else None)
    poses = {}
    for body, mine in zip(bodies, own, strict=True):
        q, p = found[body].q, found[body].p
        poses[mine] = tf.Pose(body.position(q), body.orientation(q), body.velocity(q, p),
                              body.angular_velocity(q, p, "space"), "space")
    z0 = tf.InitialValueProblem(small, poses, (0, 1)).z0
    named = tf.InitialValueProblem(small, {body.name: pose for body, pose in poses.items()}, (0, 1)).z0
    np.testing.assert_array_equal(named, z0)
    by_joints = dict(zip(hinges, given, strict=True)) | ({own[0]: base} if free else {})
    wanted = tf.InitialValueProblem(small, by_joints, (0, 1)).z0
    for body in own:  # angles may differ by turns, and quaternions in sign
        for here, there in zip(motion(small, z0, body), motion(small, wanted, body), strict=True):
            np.testing.assert_allclose(here, there, rtol=0, atol=1e-10)


def motion(system, z, body):
    link = system[body]
    return link.motion(*system.local_state(link, z))


def pendulum():
    bar = tf.RigidBody(1.0, INERTIA, name="bar")
    tip = tf.RigidBody(1.0, INERTIA, name="tip")
    axes = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    return tf.System([bar, tip, tf.Revolute(bar, point_a=(0, 0.5, 0), point_b=(0, 0, 0), name="hinge", **axes),
                      tf.Revolute(tip, bar, point_a=(0, 0.5, 0), point_b=(0, -0.5, 0), name="elbow", **axes)],
                     coordinates="joint")


def turned(angle):
    return np.cos(angle / 2), 0, 0, np.sin(angle / 2)


def test_links_without_a_pose_hang_at_zero_or_as_their_joints_say():
    system, angle = pendulum(), 0.4
    pose = tf.Pose((0.5 * np.sin(angle), -0.5 * np.cos(angle), 0), turned(angle))
    np.testing.assert_allclose(tf.InitialValueProblem(system, {"bar": pose}, (0, 1)).z0, [0.4, 0, 0, 0], rtol=0,
                               atol=1e-15)
    z0 = tf.InitialValueProblem(system, {"bar": pose, "elbow": 0.3}, (0, 1)).z0
    np.testing.assert_allclose(z0, [0.4, 0.3, 0, 0], rtol=0, atol=1e-15)
    beside = tf.Pose((0, -1.0, 0), relative_to="bar")
    z0 = tf.InitialValueProblem(system, {"bar": pose, "tip": beside}, (0, 1)).z0
    np.testing.assert_allclose(z0, [0.4, 0, 0, 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("pose", "message"), [
    (tf.Pose((0.1, -0.5, 0)), "position is 0.1 off what its joint 'hinge' allows"),
    (tf.Pose((0, -0.5, 0), velocity=(0.2, 0, 0)), "velocity is 0.2 off"),
    (tf.Pose((0, -0.5, 0), (np.cos(0.1), np.sin(0.1), 0, 0)), "off what its joint 'hinge' allows"),
    (tf.CanonicalState(np.zeros(7), np.zeros(7)), "give a Pose, or states of these")])
def test_what_joints_do_not_allow_is_refused(pose, message):
    with pytest.raises(tf.InputError, match=f"state of tree.bar: .*{message}"):
        tf.InitialValueProblem(pendulum(), {"bar": pose}, (0, 1))


def test_names_of_what_became_links_and_joints():
    system = pendulum()
    assert system["bar"] is system.find("bar") and system["hinge"] is system.bodies[0].joint("hinge")
    with pytest.raises(tf.InputError, match="no body 'bat' in the system"):
        system.find("bat")


def test_a_link_that_stands_for_one_keeps_its_own_name():
    """A tree with an unknown place stands for the given one; links at points keep them."""
    robot = tf.Tree([tf.Link("base"), tf.Link("tip", 1.0, (0.2, 0, 0), (0.01, 0.03, 0.03))],
                    [tf.TreeJoint("a", "base", "tip", position=(0.1, 0, 0), axis=(0, 1, 0))], name="robot")
    spring = tf.Spring(robot.link("tip", (0.5, 0, 0)), stiffness=2.0, length=0.1, point_b=(0, 0, 1))
    freed = with_free_numbers(tf.System([robot, spring]), {"robot.a.position[0]": 0.3})
    assert not replaced_names(freed)
    assert freed.find("robot.tip").address == ("link", "tip", [0.0, 0.0, 0.0])
