"""Boundary values of free trees, and rates of joints with several coordinates, against marches from the same state."""

import numpy as np
import pytest

import timefem as tf

ELEMENT = tf.MixedGalerkin(3, form="lagrange")
BASE = tf.Pose((0, 0, 0), (1, 0, 0, 0), (1, 0, 0), (0.3, -0.2, 0.5))
EVERY = {"position": "position", "orientation": "quaternion", "velocity": "velocity",
         "angular_velocity": "angular_velocity"}


@pytest.fixture(scope="module")
def free():
    """A free hull with an arm: system, tree, and its march."""
    links = [tf.Link("hull", mass=2, inertia=(0.1, 0.2, 0.3)),
             tf.Link("arm", mass=1, centre=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))]
    tree = tf.Tree(links, [tf.TreeJoint("j", "hull", "arm", axis=(0, 0, 1))], name="craft", base="free")
    system = tf.System([tree], gravity=(0, 0, -1))
    problem = tf.InitialValueProblem(system, {tree: {"base": BASE, "j": (0.2, 0.1)}}, (0, 1))
    return system, tree, tf.solve(problem, ELEMENT, 20, progress=False)


def end(pose, *names):
    return tf.EndState(**{name: getattr(pose, EVERY[name]) for name in names}, frame=pose.frame)


@pytest.mark.parametrize("which", ["start", "end", "places", "place and speed", "poses", "momenta", "formulas"])
def test_free_trees_are_given_without_the_lengths_of_their_quaternions(free, which):
    """Of a whole start one condition was missing, which nobody could give: the rate of the length."""
    system, tree, march = free
    hull, joint, n, last = tree.link("hull"), tree.joint("j"), tree.n_q, march.z[-1]
    later, x, v = tree.base_state(last[:n], last[n:]), last[n - 1], tree.velocity(last[:n], last[n:])[-1]
    place, speed = list(EVERY)[:2], list(EVERY)[2:]
    here, conditions = {hull: end(BASE, *place), joint: tf.EndState(q=[0.2])}, None
    if which == "start":
        ends = {hull: end(BASE, *EVERY), joint: tf.EndState(q=[0.2], v=[0.1])}, {}
    elif which == "end":
        ends = {}, {hull: end(later, *EVERY), joint: tf.EndState(q=[x], v=[v])}
    elif which == "places":
        ends = here, {hull: end(later, *place), joint: tf.EndState(q=[x])}
    elif which == "place and speed":
        ends = here, {hull: end(later, *speed), joint: tf.EndState(v=[v])}
    elif which == "poses":
        ends = [{tree: {"base": tf.Pose(pose.position, pose.quaternion), "j": q}} for pose, q in
                ((BASE, 0.2), (later, x))]
    elif which == "momenta":
        ends = {}, {tree: tf.CanonicalState(last[:n], last[n:])}
    else:
        ends = {}, {}

        def conditions(start, end, parameters):
            return [start.position(hull), start.q(tree)[3:7] - BASE.quaternion, start.q(tree)[7] - 0.2,
                    start.velocity(hull) - BASE.velocity, start.angular_velocity(hull) - BASE.angular_velocity,
                    start.joint_rate(joint) - 0.1]
    problem = tf.BoundaryValueProblem(system, (0, 1), *ends, conditions=conditions)
    found = tf.solve(problem, ELEMENT, 20, progress=False)
    assert found.success
    np.testing.assert_allclose(found.z, march.z, rtol=0, atol=1e-10)


def test_the_count_of_a_free_tree_is_of_its_degrees_of_freedom(free):
    system, tree, _ = free
    with pytest.raises(tf.InputError, match=r"^14 independent conditions are needed, 14 for the 7 degrees .*, but 12 "
                                            r"are given: .* orientation of craft.hull at the start \(3\).*; add 2$"):
        tf.BoundaryValueProblem(system, (0, 1), start={tree.link("hull"): end(BASE, *EVERY)})


def test_a_joint_that_no_tree_has_is_counted_alike_in_joint_coordinates():
    body = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="body")
    joint = tf.Cylindrical(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="slide")
    spring = tf.JointSpring(joint, coordinate="displacement", stiffness=4.0)
    problem = tf.BoundaryValueProblem(tf.System([body, joint, spring], coordinates="joint"), (0, 1),
                                      start={joint: {"angle": (0.1, 0.2), "displacement": (0.3, 1.0)}})
    motion = tf.solve(problem, tf.MixedGalerkin(3), 20, progress=False).joint("slide")
    assert abs(motion.coordinate(1.0, "angle") - 0.3) < 1e-10
    assert abs(motion.coordinate(1.0, "displacement") - 0.3 * np.cos(2) - 0.5 * np.sin(2)) < 1e-9


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("as_tables", [False, True])
def test_angular_velocities_of_spherical_joints_are_prescribed(coordinates, as_tables):
    """They were passed over, with a warning or, in tables, silently."""
    upper, lower = (tf.RigidBody(1.0, (0.1, 0.2, 0.3), name=name) for name in ("upper", "lower"))
    joints = [tf.Spherical(upper, point_a=(0, 0, 0.5), point_b=(0, 0, 0), name="s"),
              tf.Spherical(lower, upper, point_a=(0, 0, 0.5), point_b=(0, 0, -0.5), name="t")]
    system = tf.System([upper, lower, *joints], gravity=(0, 0, -9.81), coordinates=coordinates)
    element = ELEMENT if coordinates == "joint" else tf.MixedGalerkin(3)
    given = dict(zip(joints, (((0.8, 0.6, 0, 0), (1.0, 0.2, -0.3)), ((0.6, 0, 0.8, 0), (-0.4, 1.0, 0.2))), strict=True))
    march = tf.solve(tf.InitialValueProblem(system, given, (0, 0.6)), element, 20, progress=False)
    start = {joint.name: dict(zip(("orientation", "angular_velocity"), value, strict=True))
             for joint, value in given.items()} if as_tables else given
    found = tf.solve(tf.BoundaryValueProblem(system, (0, 0.6), start), element, 20, progress=False)
    assert found.success
    np.testing.assert_allclose(found.z, march.z, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("kind", "value"), [
    ("spherical", ((0.8, 0.6, 0, 0), (1.0, 0.2, -0.3))), ("spherical", [0.8, 0.6, 0, 0, 1.0, 0.2, -0.3]),
    ("universal", ((0.1, 0.2), (0.3, 0.4))), ("universal", {"angle_a": (0.2, 0.4), "angle_b": (0.1, 0.3)}),
    ("planar", {"x": (0.1, 0.3), "y": (0.2, 0.4), "angle": (0.2, -0.3)}),
    ("floating", ((0.1, 0.2, 0.3, 0.8, 0.6, 0, 0), (1, 2, 3, 1, -0.2, 0.3)))])
def test_rates_of_joints_of_trees_with_several_coordinates_are_prescribed(kind, value):
    across = (1, 0, 0) if kind == "universal" else None
    tree = tf.Tree([tf.Link("base"), tf.Link("body", mass=1, centre=(0.3, 0.1, 0), inertia=(0.1, 0.12, 0.1))],
                   [tf.TreeJoint("joint", "base", "body", kind=kind, across=across)], name="arm")
    system = tf.System([tree], gravity=(0, 0, -9.81))
    march = tf.solve(tf.InitialValueProblem(system, {"joint": value}, (0, 0.5)), ELEMENT, 10, progress=False)
    for start in ({"joint": value}, {tree: {"joint": value}}):
        found = tf.solve(tf.BoundaryValueProblem(system, (0, 0.5), start), ELEMENT, 10, progress=False)
        assert found.success
        np.testing.assert_allclose(found.z, march.z, rtol=0, atol=1e-10)
