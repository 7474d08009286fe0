"""Prepared solvers: bodies and joints that a new start or end does not name keep what was given."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

Z = (0, 0, 1)
SAME = {"rtol": 0, "atol": 1e-12}


def cart():
    cart, bar = tf.RigidBody(3.0, (0.2, 0.2, 0.2), name="cart"), tf.RigidBody(1.2, (0.12, 0.01, 0.12), name="bar")
    rail = tf.Prismatic(cart, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    hinge = tf.Revolute(bar, cart, point_a=(0, 0.4, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="hinge")
    return tf.System([cart, bar, rail, hinge], gravity=(0, -9.81, 0)), rail, hinge


def tree(loop=False):
    """A chain of three links, or a four-bar that a joint between its second and third link closes."""
    links = [tf.Link("base"), *(tf.Link(n, 1.0, (c, 0, 0), (0.001, 0.02, 0.02))
                                for n, c in zip("abc", (0.1, 0.3, 0.25), strict=True))]
    joints = [tf.TreeJoint("ja", "base", "a"), tf.TreeJoint("jb", "a", "b", position=(0.2, 0, 0)),
              tf.TreeJoint("jc", "base" if loop else "b", "c", position=(0.6, 0, 0))]
    arm = tf.Tree(links, joints, name="arm")
    closing = tf.Revolute(arm.link("b"), arm.link("c"), point_a=(0.6, 0, 0), point_b=(0.5, 0, 0), axis_a=Z, axis_b=Z)
    return tf.System([arm, *([closing] if loop else [])], gravity=(0, -9.81, 0), redundant="drop"), arm


@pytest.mark.parametrize("name", [False, True])
def test_joints_between_bodies(name):
    system, rail, hinge = cart()
    start, el = {rail: (0.1, 0.5), hinge: (0.4, 1.0)}, tf.MixedGalerkin(2)
    solver = tf.prepare(tf.InitialValueProblem(system, start, (0, 0.5)), el, 10)
    fresh = tf.solve(tf.InitialValueProblem(system, start | {hinge: 0.2}, (0, 0.5)), el, 10)
    change = {"hinge" if name else hinge: 0.2}
    np.testing.assert_allclose(solver.solve(start=change).z, fresh.z, **SAME)
    heavy = solver.solve(start=change, parameters={"bar.mass": 2.0})
    assert (heavy.joint("rail").displacement(0.0), heavy.joint("rail").rate(0.0)) == pytest.approx((0.1, 0.5))
    np.testing.assert_array_equal(solver.solve(start={}).z, solver.solve().z)
    whole = {body: tf.Pose((0.2, -0.4 * (body.name == "bar"), 0)) for body in (system["cart"], system["bar"])}
    assert solver.solve(start=whole).joint(rail).displacement(0.0) == pytest.approx(0.2, abs=1e-14)


@pytest.mark.parametrize("named", [("h2", "sp"), ("h2",), ()])
def test_joints_that_became_those_of_a_tree(named):
    """By the joint that was given or by its name, before and afterwards."""
    first, second = (tf.RigidBody(1.0, (0.1, 0.02, 0.1), name=name) for name in "ab")
    axes = {"axis_a": Z, "axis_b": Z}
    parts = {"sp": tf.Spherical(first, point_a=(0, 0.4, 0), point_b=(0, 0, 0), name="sp"),
             "h2": tf.Revolute(second, first, point_a=(0, 0.4, 0), point_b=(0, -0.4, 0), name="h2", **axes)}
    system = tf.System([first, second, *parts.values()], gravity=(0, -9.81, 0), coordinates="joint")
    start = {parts["sp"]: ((np.cos(0.3), np.sin(0.3), 0, 0), (0, 0, 1.0)), parts["h2"]: (0.2, 1.0)}
    problem = tf.InitialValueProblem(system, start, (0, 0.5))
    for name, value in (("h2", (0.4, 2.0)), ("sp", ((0.6, 0, 0.8, 0), (0, 1.0, 0)))):
        key = name if name in named else parts[name]
        fresh = tf.InitialValueProblem(system, start | {parts[name]: value}, (0, 0.5))
        np.testing.assert_allclose(problem.changed(start={key: value}).z0, fresh.z0, **SAME)


@pytest.mark.parametrize("key", ["joint", "name", "tree"])
def test_joints_of_trees(key):
    system, arm = tree()
    start, el = {"ja": (0.2, 1.0), "jb": 0.3}, tf.MixedGalerkin(2, form="lagrange")
    solver = tf.prepare(tf.InitialValueProblem(system, start, (0, 0.2)), el, 4)
    change = {"joint": {arm.joint("ja"): 0.5}, "name": {"arm.ja": 0.5}, "tree": {arm: {"ja": 0.5}}}[key]
    np.testing.assert_allclose(solver.solve(start=change).z[0, :3], [0.5, 0.3, 0.0], **SAME)


def test_loops_in_trees_are_closed_anew():
    system, _ = tree(loop=True)
    el = tf.MixedGalerkin(2, form="energy")
    solver = tf.prepare(tf.InitialValueProblem(system, {"ja": (0.6, 1.0)}, (0, 0.2)), el, 8)
    for start in ({"ja": (0.8, 1.0)}, {"ja": 1.2}):
        fresh = tf.solve(tf.InitialValueProblem(system, start, (0, 0.2)), el, 8)
        np.testing.assert_allclose(solver.solve(start=start).z, fresh.z, rtol=0, atol=1e-10)


def test_ends_of_optimal_control():
    """The joints that a new end does not name are asked for what they were, not for zero."""
    system, arm = tree()
    motors = tf.GeneralizedControl(arm, np.eye(3), name="motors")
    problem = tf.OptimalControl(system, {"ja": 0.2, "jb": 0.3}, {"ja": 1.0, "jb": 0.5, "jc": 0.7}, (0, 1),
                                tf.Effort(motors))
    found = tf.prepare(problem, tf.MixedGalerkin(2, form="lagrange"), 6).solve(end={"ja": 1.2})
    np.testing.assert_allclose(found.z[-1, :3], [1.2, 0.5, 0.7], rtol=0, atol=1e-9)


@pytest.mark.parametrize("given", [{}, {"c.node[1]": tf.Pose((1.2, 0.1, 0))}], ids=["nothing", "one mass"])
def test_what_is_not_given_starts_where_other_numbers_put_it(given):
    def problem(end):
        chain = tf.MassSpringChain(3, 3.0, 10.0, (end, 0, 0), length=0.7, name="c")
        return tf.InitialValueProblem(tf.System([chain]), given, (0, 1))

    element, ends = tf.MixedGalerkin(2), (2.0, 3.0, 4.0)
    right = [tf.solve(problem(end), element, 10, progress=False).z for end in ends]
    solver = tf.prepare(problem(2.0), element, 10)
    for end, z in zip(ends, right, strict=True):
        np.testing.assert_allclose(solver.solve(parameters={"c.end[0]": end}).z, z, **SAME)
    runs = solver.solve_many(parameters={"c.end[0]": np.array(ends)}, progress=False)
    np.testing.assert_allclose(runs.z[:, -1], [z[-1] for z in right], **SAME)
