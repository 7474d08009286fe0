"""Reactions that rigid bodies leave open are reported, in all coordinates; those that they determine are not."""

import warnings

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

FORMS = "quaternion", "directors", "joint"
MASS, GRAVITY = 20.0, 9.81


def body_in(form, mass, inertia, name):
    return tf.RigidBody(mass, inertia, **({} if form == "joint" else {"rotation": form}), name=name)


def solved(form, bodies, joints, start, gravity, t_end=0.2):
    system = tf.System([*bodies, *joints], gravity=gravity, redundant="drop",
                       coordinates="joint" if form == "joint" else "bodies")
    problem = tf.InitialValueProblem(system, start, (0, t_end))
    return tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 10, progress=False)


def door(form, second):
    body = body_in(form, MASS, (3, 2, 4), "door")
    upper = tf.Revolute(body, point_a=(-0.5, 0, 0.8), point_b=(0, 0, 0.8), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                        name="upper")
    return solved(form, [body], [upper, second(body)], {upper: (0.0, 1.5)}, (0, 0, -GRAVITY))


def hinge(body):
    return tf.Revolute(body, point_a=(-0.5, 0, -0.8), point_b=(0, 0, -0.8), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                       name="lower")


@pytest.mark.parametrize("form", FORMS)
def test_a_door_on_two_hinges(form):
    sol = door(form, hinge)
    with pytest.warns(tf.Undetermined, match="force of the joint 'upper'.*lower.*N of it, along"):
        upper = sol.joint("upper").force()
    with pytest.warns(tf.Undetermined, match="torque of the joint 'upper'"):
        sol.joint("upper").torque()
    with pytest.warns(tf.Undetermined, match="force of the joint 'lower'"):  # also of what closes a loop of a tree
        lower = sol.joint("lower").force()
    np.testing.assert_allclose((upper + lower)[:, 2], MASS * GRAVITY, rtol=1e-9)  # the sum is determined


@pytest.mark.parametrize("form", FORMS)
def test_what_hangs_on_a_door(form):
    """A ball joint beyond two hinges: its force is determined, and no warning names it."""
    body, lamp = body_in(form, MASS, (3, 2, 4), "door"), body_in(form, 1.0, (0.1, 0.1, 0.1), "lamp")
    upper = tf.Revolute(body, point_a=(-0.5, 0, 0.8), point_b=(0, 0, 0.8), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                        name="upper")
    ball = tf.Spherical(lamp, body, point_a=(0, 0, 0.3), point_b=(0.5, 0, 0), name="ball")
    sol = solved(form, [body, lamp], [upper, hinge(body), ball],
                 {body: tf.Pose((0.5, 0, 0)), lamp: tf.Pose((1.0, 0, -0.3))}, (0, 0, -GRAVITY))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        force = sol.joint("ball").force()
    np.testing.assert_allclose(force[:, 2], GRAVITY, rtol=1e-6)
    with pytest.warns(tf.Undetermined):
        sol.joint("upper").force()


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_beside_a_door(form):
    """What presses on one set that repeats others says nothing of another one."""
    (bodies, joints, poses), _ = parts_of_four_bar(form, (0, 0, 1))
    body = body_in(form, MASS, (3, 2, 4), "door")
    upper = tf.Revolute(body, point_a=(-0.5, 0, 0.8), point_b=(4.5, 0, 0.8), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                        name="upper")
    lower = tf.Revolute(body, point_a=(-0.5, 0, -0.8), point_b=(4.5, 0, -0.8), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                        name="lower")
    sol = solved(form, [*bodies, body], [*joints, upper, lower], {**poses, body: tf.Pose((5, 0, 0))}, (0, -GRAVITY, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol.joint("B").force()
    with pytest.warns(tf.Undetermined, match="force of the joint 'lower' .*: constraints of (upper, )?lower repeat"):
        sol.joint("lower").force()


def parts_of_four_bar(form, normal):
    """Bars between hinges in the plane across `normal`; three of their constraints repeat others."""
    z = np.array(normal, float) / np.linalg.norm(normal)
    x = np.cross(z, (0.3, 0.1, 1.0))
    x /= np.linalg.norm(x)
    plane = np.stack([x, np.cross(z, x), z], axis=1)
    a, b, c, d = (plane @ (*place, 0) for place in ((0, 0), (0, 0.5), (1, 0.8), (1.2, 0)))
    bodies = [body_in(form, 1.0 + i, (0.1, 0.1, 0.1), f"bar {i}") for i in range(3)]
    poses = {body: tf.Pose((p + q) / 2) for body, (p, q) in zip(bodies, ((a, b), (b, c), (d, c)), strict=True)}
    joints = []
    for name, one, other, place in (("A", 0, None, a), ("B", 0, 1, b), ("C", 1, 2, c), ("D", 2, None, d)):
        ends = bodies[one], None if other is None else bodies[other]
        points = [place - (0 if body is None else poses[body].position) for body in ends]
        joints.append(tf.Revolute(*ends, point_a=points[0], point_b=points[1], axis_a=z, axis_b=z, name=name))
    return (bodies, joints, poses), plane


def four_bar(form, normal):
    parts, plane = parts_of_four_bar(form, normal)
    return solved(form, *parts, -GRAVITY * plane[:, 1]), plane


@pytest.mark.parametrize(("form", "normal"), [(form, (0, 0, 1)) for form in FORMS] + [
    (form, (1, 2, 0.5)) for form in FORMS if form != "joint"])
def test_nothing_presses_on_what_a_plane_loop_shares(form, normal):
    """Forces across the plane are open, but zero for each way to share them: what is given is determined."""
    (sol, plane), (truth, other) = four_bar(form, normal), four_bar("quaternion", (0, 0, 1))
    assert len(sol.system.dropped) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in "ABCD":
            force = sol.joint(name).force() @ plane
            np.testing.assert_allclose(force, truth.joint(name).force() @ other, rtol=0, atol=1e-5)
            np.testing.assert_allclose(force[:, 2], 0, rtol=0, atol=1e-8)


def test_a_table_warns_as_well():
    with pytest.warns(tf.Undetermined):
        door("quaternion", hinge).to_json()
