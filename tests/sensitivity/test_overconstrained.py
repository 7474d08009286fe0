"""Derivatives by places of joints in loops that are overconstrained, against differences; and what would lock them."""

import numpy as np
import pytest

import timefem as tf

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::timefem.errors.StartFollows")]

Z = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
TWIST = np.deg2rad(50)


def turned(angle, length, twist):
    """The frame behind a joint and a link, of Denavit and Hartenberg."""
    c, s, u, v = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array([[c, -s * u, s * v, length * c], [s, c * u, -c * v, length * s], [0, v, u, 0], [0, 0, 0, 1]])


def bennett(values):
    """Bennett's mechanism of two lengths, 1 and the first value, and two twists, the second value and one that follows:
    four axes that are not parallel, six conditions too many but three."""
    length, twist = values
    other = np.arcsin(length * np.sin(twist))
    first = 0.9
    second = 2 * np.arctan(np.sin((twist + other) / 2) / np.sin((other - twist) / 2) / np.tan(first / 2))
    frame, frames = np.eye(4), []
    for angle, *link in ((first, 1, twist), (second, length, other), (-first, 1, twist), (-second, length, other)):
        frames.append(frame)
        frame = frame @ turned(angle, *link)
    np.testing.assert_allclose(frame, np.eye(4), atol=1e-12)
    points, axes = [f[:3, 3] for f in frames], [f[:3, 2] for f in frames]
    centres = [(points[i] + points[i + 1]) / 2 for i in range(3)]
    bodies = [tf.RigidBody(1.0 + 0.3 * i, (0.1, 0.08, 0.12), name=f"link{i}") for i in range(3)]
    on = [(0, None), (1, 0), (2, 1), (2, None)]
    joints = [tf.Revolute(bodies[a], b if b is None else bodies[b], point_a=p - centres[a], axis_a=axis, axis_b=axis,
                          point_b=p if b is None else p - centres[b], name=f"joint{i}")
              for i, ((a, b), p, axis) in enumerate(zip(on, points, axes, strict=True))]
    system = tf.System([*bodies, *joints], gravity=(0, 0, -9.81), redundant="drop")
    return tf.InitialValueProblem(system, dict(zip(bodies, map(tf.Pose, centres), strict=True)), (0, 0.4))


def height(bodies, t):
    return bodies[0].position[2]


def difference(value, at, h=2e-3):
    """By central differences, extrapolated once."""
    rough, fine = ((value(at + s) - value(at - s)) / (2 * s) for s in (h, h / 2))
    return (4 * fine - rough) / 3


def test_a_family_keeps_a_loop_closed():
    values, element = np.array([0.7, TWIST]), tf.MixedGalerkin(2)
    solution = tf.solve(bennett(values), element, 20, progress=False)
    assert len(solution.system.dropped) == 3
    found = tf.gradient(solution, tf.EndValue(height, "link1"), tf.Family(bennett, values))
    for i in range(2):
        def end(x, i=i):
            changed = bennett(np.where(np.arange(2) == i, x, values))
            return tf.solve(changed, element, 20, progress=False).position("link1", 0.4)[2]

        assert found[i] == pytest.approx(difference(end, values[i]), rel=1e-7)


@pytest.mark.parametrize("number", [("joint1", "point_a", 0), ("joint3", "point_b", 2), ("joint3", "axis_b", 0)])
def test_a_place_alone_locks_a_loop(number):
    """The dropped rows would say nothing of it, and the others something else than a motion."""
    solution = tf.solve(bennett((0.7, TWIST)), tf.MixedGalerkin(1), 4, progress=False)
    with pytest.raises(tf.InputError, match=r"opens a loop: 'joint3: .*' repeats other .* take a Family"):
        tf.gradient(solution, tf.EndValue(height, "link1"), tf.Parameter(*number))
    mass = tf.gradient(solution, tf.EndValue(height, "link1"), tf.Parameter("link1", "mass"))
    assert abs(mass[0]) > 1e-6


# ---- a planar loop: a tree of three links that a hinge closes, which holds three conditions too many

def four_bar(x=0.5, y=0.0, end=1.0):
    links = [tf.Link("base"), *(
        tf.Link(name, mass=mass, centre=(length / 2, 0, 0), inertia=(0.1, 0.1, 0.1))
        for name, mass, length in (("crank", 1.0, 0.5), ("coupler", 1.3, 1.0), ("rocker", 1.6, 0.8)))]
    joints = [tf.TreeJoint("foot", "base", "crank"), tf.TreeJoint("pin", "crank", "coupler", position=(x, y, 0)),
              tf.TreeJoint("knee", "coupler", "rocker", position=(1, 0, 0))]
    tree = tf.Tree(links, joints, name="tree")
    closing = tf.Revolute(tree.link("rocker"), None, point_a=(0.8, 0, 0), point_b=(end, 0, 0), name="closing", **Z)
    return tf.System([tree, closing], gravity=(0, -9.81, 0), redundant="drop")


def swing(system, start):
    problem = tf.InitialValueProblem(system, start, (0, 0.4), assemble=True)
    return tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, progress=False)


GUESS = {"foot": 1.3, "pin": -0.9, "knee": -2.0}
PIN = tf.EndValue(lambda f, t: f[0].q[1], "tree")


@pytest.fixture(scope="module")
def swung():
    return swing(four_bar(), GUESS)


@pytest.mark.parametrize("number, name, at", [
    (("tree", "pin.position", 0), "x", 0.5), (("tree", "pin.position", 1), "y", 0),
    (("closing", "point_b", 0), "end", 1.0)])
def test_places_of_joints_of_trees_in_loops(swung, number, name, at):
    found = tf.gradient(swung, PIN, tf.Parameter(*number))
    start = swung.z[0]  # from which the others follow by the smallest change
    expected = difference(lambda x: swing(four_bar(**{name: x}), start).z[-1, 1], at)
    assert found[0] == pytest.approx(expected, rel=1e-6)


def test_a_family_of_trees_in_loops(swung):
    """Places of joints are in the formulas of a tree, until they are asked for."""
    def build(values):
        return tf.InitialValueProblem(four_bar(x=values[0], end=values[1]), GUESS, (0, 0.4), assemble=True)

    found, values = tf.gradient(swung, PIN, tf.Family(build, (0.5, 1.0))), np.array([0.5, 1.0])
    for i in range(2):
        def end(x, i=i):
            changed = build(np.where(np.arange(2) == i, x, values))
            return tf.solve(changed, tf.MixedGalerkin(2, form="energy"), 20, progress=False).z[-1, 1]

        assert found[i] == pytest.approx(difference(end, values[i]), rel=1e-6)


def test_places_out_of_the_plane_lock_a_planar_loop(swung):
    for number in (("tree", "pin.position", 2), ("closing", "point_b", 2), ("closing", "axis_b", 0)):
        with pytest.raises(tf.InputError, match="opens a loop"):
            tf.gradient(swung, PIN, tf.Parameter(*number))
